/** Passwords that expire: each new connection takes the one that is there by then. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openLedger } from "../../src/index.js";
import type { LedgerError } from "../../src/index.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";
import { onCleanup } from "../engine/fixture.js";

const { hostname, port, pathname } = new URL(serverUrl);
let name = "";

beforeEach(async () => {
  name = freshName();
  await sql(`CREATE ROLE ${name} LOGIN PASSWORD 'first'; GRANT CREATE ON DATABASE "${pathname.slice(1)}" TO ${name}`);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await dropJournal(name);
  await sql(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
});

/** An address with the login and no password. */
function address(): string {
  const url = new URL(addressOf(name));
  url.username = name;
  url.password = "";
  url.searchParams.set("application_name", name);
  return url.href;
}

/** The server takes another password from here on, and the connections that came with the old one are gone. */
async function expire(password: string): Promise<void> {
  await sql(`ALTER ROLE ${name} PASSWORD '${password}'`);
  await sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1", [name]);
}

/** How a program gives a password from elsewhere. */
const ways: readonly (readonly [way: string, prepare: () => (password: string) => void])[] = [
  ["process.env.PGPASSWORD", () => (password) => vi.stubEnv("PGPASSWORD", password)],
  [
    "the file of passwords",
    () => {
      const directory = mkdtempSync(join(tmpdir(), "runledger-pgpass-"));
      onCleanup(() => rmSync(directory, { recursive: true }));
      const file = join(directory, "passwords");
      vi.stubEnv("PGPASSFILE", file);
      vi.stubEnv("PGPASSWORD", undefined);
      return (password) => writeFileSync(file, `${hostname}:${port}:*:${name}:${password}\n`, { mode: 0o600 });
    },
  ],
];

test.each(ways)("a password that is written anew to %s is that of the next connection", async (_, prepare) => {
  const give = prepare();
  give("first");
  const ledger = await openLedger(address(), { busyTimeoutMs: 1_000 });
  onCleanup(() => ledger.close());
  await ledger.append("a/1", [{ type: "thing.happened", data: {} }]);

  await expire("second");
  const refused = (): Promise<unknown> =>
    ledger.append("a/1", [{ type: "thing.happened", data: {} }]).catch((error: unknown) => (error as LedgerError).code);
  await expect.poll(refused).toBe("ACCESS_DENIED"); // the end of the old connection may be heard of first
  await expect(ledger.read().toArray()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  give("second");

  await ledger.append("a/1", [{ type: "thing.happened", data: {} }]);
  expect(await ledger.readStream("a/1").toArray()).toHaveLength(2);
  expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
});

test("a worker hears that it is not let in, and goes on by itself once the new password is there", async () => {
  const give = (password: string): void => void vi.stubEnv("PGPASSWORD", password);
  give("first");
  const ledger = await openLedger(address(), { busyTimeoutMs: 1_000 });
  onCleanup(() => ledger.close());
  const errors: unknown[] = [];
  const done: string[] = [];
  const worker = ledger.worker({
    queue: {},
    retry: { baseMs: 1, maxMs: 50 },
    handle: (job) => void done.push(job.runId),
    onError: (error) => void errors.push(error),
  });
  onCleanup(() => worker.stop());

  await expire("second");
  await expect.poll(() => errors.map((error) => (error as { code?: string }).code)).toContain("ACCESS_DENIED");
  give("second");

  await ledger.queue.enqueue({ runId: "r1" });
  await expect.poll(() => done).toEqual(["r1"]);
});
