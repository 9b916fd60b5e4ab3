import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference } from "../../src/index.js";
import { place as placeOrder, withOrders } from "../engine/orders.js";
import { call, finish, jsonLines, newLedgerFile, runledger, start } from "./command.js";

const secret = "the-secret-that-must-go";

/** A ledger with one content in one stream (#1), and one that two streams name (#2, #3). */
async function withContents(): Promise<{ file: string; alone: string; shared: string }> {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  await ledger.append("a/1", [{ type: "note.written", data: { text: content(secret) } }]);
  await ledger.append("a/\u202e2", [{ type: "note.written", data: { text: content({ shared: true }) } }]);
  const references = (await ledger.read({ from: 1 }).toArray()).map(
    ({ data }) => (data as unknown as { text: ContentReference }).text,
  );
  await ledger.append("a/3", [{ type: "note.copied", data: { text: references[1] } }]);
  await ledger.close();
  const [alone, shared] = references.map(({ $content }) => $content);
  return { file, alone: alone!, shared: shared! };
}

function bytesOf(file: string): string {
  return readdirSync(dirname(file))
    .map((name) => readFileSync(`${dirname(file)}/${name}`, "latin1"))
    .join("");
}

describe("erase", () => {
  test("T54 tells without --yes what would go, and where copies may live, and leaves every byte as it is", async () => {
    const { file, alone } = await withContents();
    const before = readFileSync(file);

    const done = await runledger(["erase", "--ledger", file, alone, "--reason", "ticket 4711"]);

    expect(done).toMatchObject({ code: 0, stderr: "nothing was erased: --yes does it, for good\n" });
    const lines = done.stdout.split("\n");
    expect(lines[0]).toBe(`content     ${alone}  number 1  text/plain;charset=utf-8  23 bytes, named by 1 event`);
    expect(lines[1]).toMatch(/^ {12}#1 {2}[0-9a-f]{12} {2}note\.written {2}a\/1@1$/);
    expect(lines[2]).toBe("reason      ticket 4711");
    for (const place of [/backups/, /copies of its file/, /snapshots/, /private copies/, /logs/, /memory/])
      expect(done.stdout).toMatch(place);
    expect(lines.at(-2)).toBe("would go    1 content");
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(dirname(file))).toEqual(["state.ledger"]);
  });

  test("T54 erases with --yes: no byte of it is left in the file, and no log beside it", async () => {
    const { file, alone } = await withContents();
    expect(bytesOf(file)).toContain(secret);

    const done = await runledger([
      "erase",
      "--ledger",
      file,
      alone,
      "--reason",
      "ticket 4711",
      "--actor",
      "ann",
      "--yes",
    ]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(
      /\nelsewhere {3}backups(.*\n {12}\S.*)+\nerased {6}1 content, by #4 {2}[0-9a-f]{64}\n$/,
    );
    expect(readdirSync(dirname(file))).toEqual(["state.ledger"]);
    expect(bytesOf(file)).not.toContain(secret);
    const verified = await call(["verify", file]);
    expect(verified.code).toBe(0);
    expect(verified.stdout).toContain("info      erased     1 content, authorised at #4\n");
    const [event] = jsonLines((await call(["show", "--ledger", file, "@", "--json"])).stdout);
    expect(event).toMatchObject({ actor: "ann", data: { digests: [alone], reason: "ticket 4711" } });
    expect((await call(["show", "--ledger", file, "#1"])).stdout).toContain("erased by #4");
    expect((await call(["cat", "--ledger", file, "--content", "#1"])).code).toBe(1);
  });

  test("shows with --json one object, always with the same keys", async () => {
    const { file, alone, shared } = await withContents();
    const args = ["erase", "--ledger", file, alone, shared, "--shared", "--reason", "x", "--json"];

    const [plan] = jsonLines((await call(args)).stdout);
    const [done] = jsonLines((await call([...args, "--yes"])).stdout);

    expect(plan).toMatchObject({ dryRun: true, position: null, id: null, at: null, time: null, scrubbed: null });
    expect(done).toMatchObject({ dryRun: false, position: 4, scrubbed: true });
    expect(Object.keys(done!)).toEqual(Object.keys(plan!));
    expect([done!["contents"], done!["elsewhere"]]).toEqual([plan!["contents"], plan!["elsewhere"]]);
    expect((plan!["contents"] as { entries: unknown[] }[])[1]!.entries).toMatchObject([
      { position: 2, stream: "a/\u202e2", revision: 1, type: "note.written" },
      { position: 3, stream: "a/3", revision: 1, type: "note.copied" },
    ]);
  });

  test("takes the salt of the receipt along whose command recorded the content, and says so before it does", async () => {
    const file = newLedgerFile();
    const ledger = await openLedger(file, withOrders);
    const { position } = await ledger.execute(placeOrder({ order: "7", total: 1, note: content(secret) }), {
      id: "c1",
    });
    const [event] = await ledger.readStream("order/7").toArray();
    const digest = (event!.data as unknown as { readonly note: ContentReference }).note.$content;
    const { salt } = (await ledger.receipt("c1"))!;
    await ledger.close();
    const args = ["erase", "--ledger", file, digest, "--reason", "ticket 4711"];

    const told = (await call(args)).stdout.split("\n");
    const [plan] = jsonLines((await call([...args, "--json"])).stdout);
    const done = (await call([...args, "--yes"])).stdout;

    expect(told[2]).toMatch(/^salt of {5}#3 {2}[0-9a-f]{12} {2}receipt\.recorded {2}client\/default@1$/);
    expect(told.at(-2)).toBe("would go    1 content and 1 salt");
    expect(plan!["salts"]).toMatchObject([{ digest: salt.$content, n: salt.n, bytes: 32, entries: [{ position }] }]);
    expect(done).toContain("1 content and 1 salt, by #4");
    expect((await call(["verify", file])).stdout).toContain("2 contents, authorised at #4");
    const again = await openLedger(file, withOrders);
    expect(await again.receipt("c1")).toMatchObject({ fingerprint: "erased" });
    await again.close();
  });

  test("refuses what several streams share, says how to go on, and changes nothing", async () => {
    const { file, alone, shared } = await withContents();
    for (const yes of [[], ["--yes"]]) {
      const done = await call(["erase", "--ledger", file, alone, shared, "--reason", "x", ...yes]);
      expect(done).toMatchObject({ code: 1, stdout: "" });
      expect(done.stderr).toMatch(
        /^runledger: CONTENT_SHARED: content 2 .* found 2: a\/\\u\{202e\}2, a\/3\nhint: --shared /,
      );
    }
    const again = await call(["erase", "--ledger", file, shared, "--reason", "x", "--shared", "--yes"]);
    expect(again.stdout).toMatch(/\n {12}#2 .*a\/\\u\{202e\}2@1\n {12}#3 .*\n/);
    const twice = await call(["erase", "--ledger", file, shared, "--reason", "x", "--shared", "--yes"]);
    expect(twice).toMatchObject({ code: 1, stdout: "" });
    expect(twice.stderr).toContain("CONTENT_ERASED");
    expect((await call(["verify", file])).code).toBe(0);
  });

  test("a digest that no event names, or a ledger that is not there, is told with 3, and nothing is created", async () => {
    const { file } = await withContents();
    const missing = newLedgerFile();
    for (const yes of [[], ["--yes"]]) {
      const unknown = ["erase", "ab".repeat(32), "--reason", "x", ...yes];
      expect((await call([...unknown, "--ledger", file])).code).toBe(3);
      expect((await call([...unknown, "--ledger", missing])).code).toBe(3);
    }
    expect(readdirSync(dirname(missing))).toEqual([]);
  });

  test.each([
    [[]],
    [["ab"]],
    [["ab".repeat(32)]],
    [["ab".repeat(32), "--reason", ""]],
    [["ab".repeat(32), "--reason", "x".repeat(201)]],
    [["ab".repeat(32), "--reason", "a\nb"]],
    [["ab".repeat(32), "--reason", "x", "--actor", ""]],
    [["--reason", "x"]],
    [["ab".repeat(32), "--reason", "x", "--force"]],
  ])("%j is no command line", async (args) => {
    expect(await call(["erase", "--ledger", newLedgerFile(), ...args])).toMatchObject({ code: 2, stdout: "" });
  });

  test("takes a digest in capitals, and each once", async () => {
    const { file, alone } = await withContents();
    const done = await call([
      "erase",
      "--ledger",
      file,
      alone.toUpperCase(),
      alone,
      "--reason",
      "x",
      "--yes",
      "--json",
    ]);
    expect(jsonLines(done.stdout)[0]).toMatchObject({ contents: [{ digest: alone }], position: 4 });
  });

  test.runIf(process.platform === "linux")(
    "interrupted while it waits for another writer, it has erased nothing and says so",
    async () => {
      const { file, alone } = await withContents();
      const other = await openLedger(file);
      await other.append("a/1", [{ type: "note.counted" }]);
      const lock = new Database(file);
      lock.exec("BEGIN IMMEDIATE");
      const child = start(["erase", "--ledger", file, alone, "--reason", "x", "--yes"]);
      const finished = finish(child);
      const isOpen = (): boolean =>
        readdirSync(`/proc/${child.pid}/fd`).some((fd) => linkOf(`/proc/${child.pid}/fd/${fd}`).endsWith("-wal"));
      await expect.poll(isOpen).toBe(true);

      // The handler is there before the ledger is opened, and the lock stays until the process has ended.
      child.kill("SIGINT");

      const done = await finished;
      lock.close();
      expect(done).toMatchObject({ code: 130, stdout: "", stderr: "interrupted by SIGINT: nothing was erased\n" });
      expect((await other.status()).size).toBe(5);
      await other.close();
      expect((await call(["verify", file])).code).toBe(0);
    },
  );
});

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed meanwhile
  }
}
