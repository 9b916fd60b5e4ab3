import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import { damage } from "./damage.js";
import { call, jsonLines, ledgerWith, newLedgerFile, runledger } from "./command.js";

async function shown(file: string, selector: string): Promise<Record<string, unknown> | undefined> {
  const done = await call(["show", "--ledger", file, selector, "--json"]);
  return done.code === 0 ? jsonLines(done.stdout)[0] : undefined;
}

describe("show", () => {
  test("tells everything that is known of one event", async () => {
    const file = newLedgerFile();
    const ledger = await openLedger(file);
    const { position, ids } = await ledger.append(
      "job/r1",
      [{ type: "job.started" }, { type: "job.noted", data: { b: [1], a: { note: content("first line\nsecond") } } }],
      {
        actor: "alice",
        correlation: "order 7",
        meta: { tenant: "t1" },
      },
    );
    await ledger.append("job/r1", [{ type: "job.finished" }], { cause: { position, id: ids[1] ?? "" } });
    await ledger.close();

    const done = await runledger(["show", "--ledger", file, "#2"]);
    expect(done.code).toBe(0);
    const lines = done.stdout.split("\n");
    expect(lines).toContain(`id           ${ids[1]}`);
    for (const line of [
      "event        #2",
      "stream       job/r1@2",
      "type         job.noted, version 1",
      "actor        alice",
      "tx           #1..#2 (2 events)",
      "correlation  order 7",
      'meta         {"tenant":"t1"}',
    ])
      expect(lines).toContain(line);
    expect(lines).toContain(`previous     #1  ${ids[0]?.slice(0, 12)}  job.started`);
    expect(done.stdout).toMatch(/\nnext {9}#3 {2}[0-9a-f]{12} {2}job\.finished\n/);
    expect(lines).toContain(
      "content      /a/note  number 1  text/plain;charset=utf-8  17 bytes  present  first line\\nsecond",
    );
    expect(done.stdout).toContain('\ndata\n{\n  "a": {\n');

    expect(await shown(file, "#3")).toMatchObject({
      cause: ids[1],
      contents: [],
      next: null,
      previous: { position: 2, id: ids[1] },
    });
  });

  test("shows with --json one object, always with the same keys", async () => {
    const file = await ledgerWith(1);
    const event = await shown(file, "@");
    expect(Object.keys(event ?? {}).slice(-5)).toEqual(["data", "contents", "previous", "next", "checkpoint"]);
    const checkpoint = { state: "none", size: null, signed: null };
    expect(event).toMatchObject({ position: 1, contents: [], previous: null, next: null, checkpoint });
    expect(await shown(file, "#0")).toMatchObject({ type: "journal.opened" });
  });

  test("says whether a stored checkpoint covers the event", async () => {
    const file = await ledgerWith(3);
    const checkpoint = async (selector: string): Promise<unknown> => (await shown(file, selector))?.["checkpoint"];
    await call(["checkpoint", "--ledger", file, "--store", "--size", "2"]);

    expect(await checkpoint("#1")).toEqual({ state: "covers", size: 2, signed: false });
    expect(await checkpoint("#2")).toEqual({ state: "none", size: null, signed: null });
    const lines = async (selector: string): Promise<string> =>
      (await call(["show", "--ledger", file, selector])).stdout;
    expect(await lines("cp:latest")).toMatch(/\nevent {8}#1\n|^event {8}#1\n/);
    expect(await lines("#1")).toContain("\ncheckpoint   covered by the stored one of 2 events, unsigned\n");
    expect(await lines("#2")).toContain("\ncheckpoint   none that is stored covers it\n");

    damage(file, "UPDATE checkpoints SET note = 'nonsense'");
    expect(await checkpoint("#1")).toMatchObject({ state: "damaged" });
  });

  test("finds an event by every kind of selector", async () => {
    const file = await ledgerWith(20);
    const { id } = (await shown(file, "#7")) as { id: string };
    for (const selector of ["#7", "7", "@~13", id, id.slice(0, 12), id.slice(0, 12).toUpperCase(), "log/a@7"])
      expect((await shown(file, selector))?.["position"]).toBe(7);
    expect((await shown(file, "@"))?.["position"]).toBe(20);
    expect((await shown(file, "2999-01-01"))?.["position"]).toBe(20);
  });

  test.each([
    ["#3", /#3 must name an event from #0 to #2, found none/],
    ["@~3", /@~3 must name an event from #0 to #2, found none/],
    ["00000000", /an event must have an id that starts with 00000000, found none/],
    ["log/a@9", /stream "log\/a" must have a revision 9, found 2 as its last/],
    ["log/none@1", /stream "log\/none" must have events, found none/],
    ["cp:latest", /cp:latest must name a checkpoint that the ledger keeps, found none/],
    ["1999-01-01", /1999-01-01T00:00:00.000Z must name an event/],
  ])("%s names none, which is told with 3", async (selector, message) => {
    const done = await call(["show", "--ledger", await ledgerWith(2), selector]);
    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toMatch(message);
  });

  test.each([[[]], [["@", "@"]], [["#1..#2"]], [["log/a"]], [["xyz"]]])("%j is no command line", async (args) => {
    expect(await call(["show", "--ledger", newLedgerFile(), ...args])).toMatchObject({ code: 2, stdout: "" });
  });

  test("tells a content that is missing from one that was changed", async () => {
    const file = newLedgerFile();
    const ledger = await openLedger(file);
    await ledger.append("log/a", [{ type: "line.appended", data: { first: content("one"), last: content("two") } }]);
    await ledger.close();
    damage(file, "UPDATE contents SET bytes = CAST('eno' AS BLOB) WHERE n = 1");
    damage(file, "DELETE FROM contents WHERE n = 2");
    expect((await shown(file, "@"))?.["contents"]).toMatchObject([
      { pointer: "/first", n: 1, bytes: 3, state: "damaged", media: null, excerpt: null },
      { pointer: "/last", n: 2, bytes: 3, state: "missing", media: null, excerpt: null },
    ]);
  });
});
