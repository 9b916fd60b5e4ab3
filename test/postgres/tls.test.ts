/** TLS as the address asks for it: `sslmode` and `sslrootcert` are handed on to `pg`, and a certificate that is not accepted is
 *  told as what it is. */
import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { addressOf } from "./journal.js";
import { ask } from "./place.js";
import { startServer } from "./server.js";
import type { TestServer } from "./server.js";

let directory = "";
let server: TestServer | undefined;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "runledger-tls-"));
  const [key, certificate] = [join(directory, "server.key"), join(directory, "server.crt")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const made = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    key,
    "-out",
    certificate,
  ];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...made, ...names], { stdio: "ignore" });
  // The server reads its key as whoever it runs as: as nobody, where these tests are root.
  if (process.getuid?.() === 0) {
    const [, , uid, gid] = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((line) => line.startsWith("nobody:"))!
      .split(":");
    for (const path of [directory, key, certificate]) chownSync(path, Number(uid), Number(gid));
  }
  const settings = ["ssl=on", `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`];
  server = await startServer({ sync: false, flags: settings.flatMap((setting) => ["-c", setting]) });
});

afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

function addressWith(parameters: Readonly<Record<string, string>>): string {
  const url = new URL(addressOf("tls", server!.url));
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Is each connection of others encrypted? The server knows. */
async function encrypted(): Promise<Set<unknown>> {
  const found = await ask(
    server!.url,
    `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return new Set(found.map(({ ssl }) => ssl));
}

test("an authority that the address names is believed", async () => {
  const ledger = await openLedger(addressWith({ sslmode: "verify-full", sslrootcert: join(directory, "server.crt") }));

  expect((await ledger.status()).location).not.toContain("sslrootcert");
  expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  expect(await encrypted()).toEqual(new Set([true]));
  await ledger.close();
});

test("an authority that nobody knows is not, and the hint says where it is named", async () => {
  await expect(openLedger(addressWith({ sslmode: "verify-full" }))).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    hint: expect.stringContaining("sslrootcert") as string,
  });
});

test("who wants no check gets none, and is encrypted all the same", async () => {
  const ledger = await openLedger(addressWith({ sslmode: "no-verify" }));

  expect(await encrypted()).toEqual(new Set([true]));
  await ledger.close();
});
