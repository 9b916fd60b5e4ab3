import { beforeAll, describe, expect, test } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedger } from "../../src/index.js";
import { damage } from "./damage.js";
import { call, jsonLines, ledgerWith, newLedgerFile, runledger } from "./command.js";

const hour = 3_600_000;
const noon = Date.UTC(2026, 2, 1, 12);
let file: string;

/** Ten events from noon on, one an hour: job/r1 by alice and log/a by nobody in turns; `journal.opened` comes first. */
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "runledger-log-"));
  file = join(folder, "state.ledger");
  let now = noon;
  const ledger = await openLedger(file, { clock: { now: () => now, monotonic: () => now } });
  for (let number = 1; number <= 10; number++) {
    now = noon + number * hour;
    if (number % 2 === 1) await ledger.append("job/r1", [{ type: "job.noted", data: { number } }], { actor: "alice" });
    else await ledger.append("log/a", [{ type: "line.appended", data: { number } }]);
  }
  await ledger.close();
  return () => rmSync(folder, { recursive: true, force: true });
});

async function positions(...args: string[]): Promise<unknown[]> {
  const done = await call(["log", "--ledger", file, "--json", ...args]);
  expect(done).toMatchObject({ code: 0, stderr: "" });
  return jsonLines(done.stdout).map(({ position }) => position);
}

describe("log", () => {
  test("shows events in order: id, position, time, actor, type, stream and revision", async () => {
    const done = await call(["log", "--ledger", file, "--oneline"]);
    const lines = done.stdout.split("\n");
    expect(lines).toHaveLength(12);
    expect(lines[0]).toMatch(
      /^[0-9a-f]{12} {2}#0 {3}2026-03-01T12:00:00\.000Z {2}- {2}journal\.opened {2}journal\/main@1$/,
    );
    expect(lines[1]).toMatch(/^[0-9a-f]{12} {2}#1 {3}2026-03-01T13:00:00\.000Z {2}alice {2}job\.noted {2}job\/r1@1$/);
    expect(lines[10]).toMatch(/^[0-9a-f]{12} {2}#10 {2}2026-03-01T22:00:00\.000Z {2}- {2}line\.appended {2}log\/a@5$/);
  });

  test("shows the beginning of the data below each event unless asked for one line", async () => {
    const done = await call(["log", "--ledger", file, "#1..#1"]);
    expect(done.stdout.split("\n")[1]).toBe('    {"number":1}');
  });

  test("is the same text each time, and without colour where no terminal is", async () => {
    const once = await runledger(["log", "--ledger", file]);
    expect(await runledger(["log", "--ledger", file], { env: { FORCE_COLOR: "1", TERM: "xterm-256color" } })).toEqual(
      once,
    );
    expect(once.stdout).not.toContain("\u001b");
  });

  test("shows with --json one object an event, all with the same keys", async () => {
    const done = await call(["log", "--ledger", file, "--json"]);
    const keys = [
      "position",
      "id",
      "at",
      "time",
      "actor",
      "type",
      "version",
      "stream",
      "revision",
      "tx",
      "command",
      "cause",
      "correlation",
      "fence",
      "meta",
      "data",
    ];
    for (const event of jsonLines(done.stdout)) expect(Object.keys(event)).toEqual(keys);
    expect(jsonLines(done.stdout)[1]).toMatchObject({
      position: 1,
      at: noon + hour,
      time: "2026-03-01T13:00:00.000Z",
      actor: "alice",
      revision: 1,
      command: null,
      data: { number: 1 },
    });
  });

  test.each<[string[], number[]]>([
    [["#3..#5"], [3, 4, 5]],
    [["8.."], [8, 9, 10]],
    [["..@~8"], [0, 1, 2]],
    [["job/r1@2..log/a@2"], [3, 4]],
    [["2026-03-01T14:00..2026-03-01T16:59"], [2, 3, 4]],
    [
      ["--stream", "job/r1"],
      [1, 3, 5, 7, 9],
    ],
    [
      ["--stream", "job/r1", "--limit", "2"],
      [1, 3],
    ],
    [
      ["--stream", "job/r1", "--reverse", "--limit", "2"],
      [9, 7],
    ],
    [
      ["--stream", "job/r1", "#4.."],
      [5, 7, 9],
    ],
    [
      ["--stream", "job/r1", "--reverse", "..#4"],
      [3, 1],
    ],
    [
      ["--kind", "log"],
      [2, 4, 6, 8, 10],
    ],
    [["--type", "journal.opened"], [0]],
    [
      ["--stream", "job/r1", "--kind", "job", "--type", "job.noted"],
      [1, 3, 5, 7, 9],
    ],
    [
      ["--actor", "alice", "#2..#6"],
      [3, 5],
    ],
    [
      ["--limit", "3"],
      [0, 1, 2],
    ],
    [
      ["--reverse", "--limit", "3"],
      [10, 9, 8],
    ],
    [
      ["--reverse", "#2..#4"],
      [4, 3, 2],
    ],
    [
      ["--since", "2026-03-01T20:00"],
      [8, 9, 10],
    ],
    [
      ["--since", "2026-03-01T20:00:00.001Z"],
      [9, 10],
    ],
    [
      ["--until", "2026-03-01T13:00"],
      [0, 1],
    ],
    [
      ["--since", "2026-03-01T14:00Z", "--until", "2026-03-01T17:00+01:00", "--reverse"],
      [4, 3, 2],
    ],
  ])("%j", async (args, expected) => {
    expect(await positions(...args)).toEqual(expected);
  });

  test.each([
    ["--actor", "nobody"],
    ["--since", "2030-01-01"],
    ["--until", "2020-01-01"],
    ["--kind", "none"],
    ["--stream", "job/r1", "--type", "line.appended"],
  ])("that finds nothing says so: %j", async (...args) => {
    const done = await call(["log", "--ledger", file, ...args]);
    expect(done).toMatchObject({ code: 0, stdout: "", stderr: "no event is in this range and passes these filters\n" });
  });

  test("of a stream that is not there is not an empty answer", async () => {
    const done = await call(["log", "--ledger", file, "--stream", "job/r2"]);
    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain('NOT_FOUND: stream "job/r2" must have events, found none');
    expect(done.stderr).not.toContain("hint");
  });

  test.each([
    ["@"],
    ["#5..#3"],
    ["#1...#2"],
    ["--limit", "0"],
    ["--limit", "ten"],
    ["--since", "yesterday"],
    ["--until", "2026-02-31"],
    ["--stream", "nokind"],
    ["--kind", "Run"],
    ["#1..", "#2.."],
  ])("%j is no command line", async (...args) => {
    expect(await call(["log", "--ledger", file, ...args])).toMatchObject({ code: 2, stdout: "" });
  });

  test("shows what stands before a damaged event, then says where it is damaged", async () => {
    const damaged = await ledgerWith(5);
    damage(damaged, "UPDATE entries SET entry = replace(entry, '\"number\":3', '\"number\":4') WHERE seq = 3");
    const done = await call(["log", "--ledger", damaged, "--json"]);
    expect(done.code).toBe(1);
    expect(jsonLines(done.stdout).map(({ position }) => position)).toEqual([0, 1, 2]);
    expect(done.stderr).toMatch(/^runledger: STORE_DAMAGED: event #3 is damaged/);
  });
});

test("C14 composed and decomposed names are two streams, and a look-up that misses shows the look-alike", async () => {
  const composed = "job/caf\u00e9";
  const decomposed = "job/cafe\u0301";
  const both = newLedgerFile();
  for (const stream of [composed, decomposed])
    await call(["append", "--ledger", both, "--stream", stream], { input: `{"stream":${JSON.stringify(stream)}}\n` });
  for (const stream of [composed, decomposed]) {
    const done = await call(["log", "--ledger", both, "--stream", stream, "--json"]);
    expect(jsonLines(done.stdout)).toMatchObject([{ stream, revision: 1, data: { stream } }]);
  }

  const one = newLedgerFile();
  await call(["append", "--ledger", one, "--stream", composed], { input: "{}\n" });
  for (const args of [
    ["log", "--stream", decomposed],
    ["show", `${decomposed}@1`],
    ["log", "--stream", "job/CAF\u00c9"],
    ["cat", "job/ca\u200bf\u00e9@1"],
  ]) {
    const [verb = "", ...rest] = args;
    const done = await call([verb, "--ledger", one, ...rest]);
    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain("job/caf\\u{e9} looks like it and is another stream");
  }
});

test("T46 what an event says cannot reach the terminal", async () => {
  const escape = "\u001b[31m\u009b2J\u202e\u2066\u200b";
  // The format refuses control characters in names; C1 controls and bidi marks are not among them.
  const name = "\u009b2J\u202e\u2066\u200bname";
  const hostile = newLedgerFile();
  const ledger = await openLedger(hostile);
  await ledger.append(`log/${name}`, [{ type: "line.appended", data: { [escape]: escape } }], {
    actor: name,
    correlation: name,
    meta: { [name]: escape },
  });
  await ledger.close();
  for (const args of [
    ["log"],
    ["log", "--oneline"],
    ["log", "--json"],
    ["show", "@"],
    ["show", "@", "--json"],
    ["log", "--stream", `log/${name}x`],
    ["show", `log/${name}@2`],
  ]) {
    const [verb = "", ...rest] = args;
    const done = await call([verb, "--ledger", hostile, ...rest]);
    for (const output of [done.stdout, done.stderr])
      expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069]/);
    expect(done.stdout + done.stderr).toContain("202e");
  }
  const json = jsonLines((await call(["log", "--ledger", hostile, "--json"])).stdout)[1];
  expect(json).toMatchObject({ stream: `log/${name}`, actor: name, correlation: name, data: { [escape]: escape } });
});
