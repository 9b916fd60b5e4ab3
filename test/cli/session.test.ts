import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { Ledger, SessionRecordInput } from "../../src/index.js";
import { bindCapture } from "../api/session-fixture.js";
import { damage, withoutGuards } from "./damage.js";
import { call, jsonLines, newLedgerFile, runledger } from "./command.js";

const at = new Date("2026-03-01T00:00:00Z");

/** A ledger with captures of one run, written by `fill`. */
async function captured(fill: (ledger: Ledger) => Promise<void>): Promise<string> {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  await fill(ledger);
  await ledger.close();
  return file;
}

async function record(
  ledger: Ledger,
  attemptId: string,
  records: readonly SessionRecordInput[],
  runId = "nightly",
): Promise<void> {
  await bindCapture(ledger, runId, attemptId);
  await ledger.sessions.appendEvents({ runId, attemptId, from: 1, records });
}

const line = (type: string, payload: unknown): SessionRecordInput => ({ type, payload });
const output = [
  line("stdout", "one"),
  line("stderr", "two\r"),
  line("stdout", ""),
  { ...line("stdout", Uint8Array.of(0xff, 0x1b, 0x5b)), reportedAt: at },
  { ...line("stderr", "é\tand no end"), partial: true },
];

const lines = (count: number): readonly SessionRecordInput[] =>
  Array.from({ length: count }, (_, index) => line("stdout", `line ${index + 1}`));

/** A ledger with a capture of so many lines, of which the entry that begins with one cannot be read. */
async function withoutEntry(count: number, from: number): Promise<string> {
  const file = await captured((ledger) => record(ledger, "", lines(count)));
  const other = `replace(entry, '"from":${from}', '"from":${from + 1}')`;
  damage(file, `UPDATE entries SET entry = ${other} WHERE entry LIKE '%"from":${from}%'`);
  return file;
}

const session = (file: string, ...args: string[]): ReturnType<typeof call> =>
  call(["session", "--ledger", file, ...args]);

describe("session", () => {
  test("prints what was captured, byte for byte and in order", async () => {
    const file = await captured((ledger) => record(ledger, "", output));
    const done = await runledger(["session", "--ledger", file, "nightly"]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    const whole = [Buffer.from("one\ntwo\r\n\n"), Buffer.of(0xff, 0x1b, 0x5b, 0x0a), Buffer.from("é\tand no end")];
    expect(done.bytes).toEqual(Buffer.concat(whole));
  });

  test("prints stdout or stderr alone", async () => {
    const file = await captured((ledger) => record(ledger, "", output));

    expect((await session(file, "nightly", "--only", "stderr")).bytes).toEqual(Buffer.from("two\r\né\tand no end"));
    expect((await session(file, "nightly", "--only", "stdout")).bytes).toEqual(
      Buffer.concat([Buffer.from("one\n\n"), Buffer.of(0xff, 0x1b, 0x5b, 0x0a)]),
    );
  });

  test("shows a terminal no character that it would obey, and lines and tabs as they are", async () => {
    const file = await captured((ledger) =>
      record(ledger, "", [
        line("stdout", "C:\\temp\t\u001b[2J\u001b]0;title\u0007"),
        line("stdout", "\u202egnp.exe"),
        line("stdout", Uint8Array.of(0xff)),
      ]),
    );
    const done = await call(["session", "--ledger", file, "nightly"], { terminal: true });

    expect(done.stdout).toBe("C:\\temp\t\\u{1b}[2J\\u{1b}]0;title\\u{7}\n\\u{202e}gnp.exe\n\ufffd\n");
  });

  test("takes the last attempt that has a capture, or the one that is named, or the run itself", async () => {
    const file = await captured(async (ledger) => {
      await record(ledger, "build.1", [line("stdout", "first")]);
      await record(ledger, "build.2", [line("stdout", "second")]);
      await record(ledger, "", [line("note", "of the run")]);
      await record(ledger, "", [line("note", "of another")], "other");
    });

    expect(await session(file, "nightly")).toMatchObject({ code: 0, stdout: "second\n" });
    expect(await session(file, "nightly", "build.1")).toMatchObject({ code: 0, stdout: "first\n" });
    expect(await session(file, "nightly", "")).toMatchObject({ code: 0, stdout: "of the run\n" });
    expect(await session(file, "other")).toMatchObject({ code: 0, stdout: "of another\n" });
  });

  test("prints one object a record as JSON, with keys that never vary", async () => {
    const file = await captured((ledger) => record(ledger, "", [...output, line("turn", { b: 1, a: ["\u001b"] })]));
    const done = await session(file, "nightly", "--json");

    expect(done).toMatchObject({ code: 0, stderr: "" });
    const objects = jsonLines(done.stdout);
    expect(objects).toHaveLength(6);
    expect(done.stdout).not.toContain("\u001b");
    const keys = "at,base64,bytes,digest,media,number,partial,position,reportedAt,state,text,type";
    for (const object of objects) expect(Object.keys(object).sort().join()).toBe(keys);
    expect(objects[0]).toMatchObject({
      number: 1,
      type: "stdout",
      state: "present",
      text: "one",
      base64: null,
      bytes: 3,
    });
    expect(objects[3]).toMatchObject({ text: null, base64: "/xtb", media: "application/octet-stream" });
    expect(objects[3]).toMatchObject({ reportedAt: at.getTime(), partial: false });
    expect(objects[4]).toMatchObject({ partial: true, reportedAt: null, media: "text/plain;charset=utf-8" });
    expect(objects[5]).toMatchObject({ text: '{"a":["\\u001b"],"b":1}', media: "application/json" });
  });

  test("I01 of 1,000 records with one damaged prints 999, and says which one is not there", async () => {
    const records = lines(1_000);
    const file = await captured((ledger) => record(ledger, "", records));
    damage(file, "UPDATE contents SET bytes = CAST('line 4x0' AS BLOB) WHERE CAST(bytes AS TEXT) = 'line 400'");
    const done = await session(file, "nightly");

    expect(done.code).toBe(1);
    const rest = records.filter((_, index) => index !== 399).map(({ payload }) => `${String(payload)}\n`);
    expect(done.stdout).toBe(rest.join(""));
    expect(done.stderr).toMatch(/^record 400 of nightly is damaged: content \d+ must hash to its digest.*\n$/);

    const asJson = await session(file, "nightly", "--json");
    expect(asJson.code).toBe(1);
    const objects = jsonLines(asJson.stdout);
    expect(objects.map(({ number }) => number)).toEqual(records.map((_, index) => index + 1));
    expect(objects.filter(({ state }) => state !== "present")).toEqual([
      expect.objectContaining({ number: 400, state: "damaged", type: "stdout", text: null, base64: null }),
    ]);
  });

  test("I01 says the numbers of all records of an entry that cannot be read, and goes on behind it", async () => {
    const file = await withoutEntry(1_000, 401);
    const done = await session(file, "nightly");

    expect(done.code).toBe(1);
    expect(done.stdout.split("\n")).toHaveLength(801);
    expect(done.stdout).toContain("line 400\nline 601\n");
    expect(done.stderr).toMatch(/^records 401 to 600 of nightly are damaged: event #\d+ is damaged: .*\n$/);

    // Of which output they were nobody knows, so that whoever asks for one alone hears of them too.
    damage(file, "UPDATE contents SET bytes = CAST('line x' AS BLOB) WHERE CAST(bytes AS TEXT) = 'line 601'");
    const errors = await session(file, "nightly", "--only", "stderr");
    expect(errors).toMatchObject({ code: 1, stdout: "", stderr: done.stderr });
    const said = (await session(file, "nightly", "--only", "stdout")).stderr.split("\n");
    expect(said).toEqual([
      expect.stringMatching(/^records 401 to 600 of nightly are damaged: event /),
      expect.stringMatching(/^record 601 of nightly is damaged: content /),
      "",
    ]);
  });

  test("I01 says so when the end of a capture cannot be read", async () => {
    const file = await withoutEntry(400, 201);
    const done = await session(file, "nightly");

    expect(done.code).toBe(1);
    expect(done.stdout.split("\n")).toHaveLength(201);
    expect(done.stderr).toMatch(/^runledger: STORE_DAMAGED: event #\d+ is damaged: /);
  });

  test("says which records were erased, and which are missing", async () => {
    const file = await captured(async (ledger) => {
      await record(ledger, "", [line("stdout", "one"), line("stdout", "two"), line("stdout", "three")]);
      for await (const { number, reference } of ledger.sessions.events("nightly"))
        if (number === 2) await ledger.erase([reference!.$content], { reason: "asked for" });
    });
    withoutGuards(file, (database) => database.exec("DELETE FROM contents WHERE CAST(bytes AS TEXT) = 'three'"));
    const done = await session(file, "nightly");

    expect(done).toMatchObject({ code: 1, stdout: "one\n" });
    expect(done.stderr.split("\n")).toEqual([
      expect.stringMatching(/^record 2 of nightly is erased: content \d+ was erased by event #\d+$/),
      expect.stringMatching(/^record 3 of nightly is missing: content \d+ must be stored, found nothing$/),
      "",
    ]);
    const states = jsonLines((await session(file, "nightly", "--json")).stdout).map(({ state }) => state);
    expect(states).toEqual(["present", "erased", "missing"]);
  });

  test("prints a payload with a media type of its own as it is", async () => {
    const file = await captured((ledger) => record(ledger, "", [line("log", content("<p>", "text/html"))]));

    expect(await session(file, "nightly")).toMatchObject({ code: 0, stdout: "<p>\n" });
  });

  test("of what has no capture ends with 3", async () => {
    const file = await captured((ledger) => record(ledger, "build.1", output));

    const noRun = await session(file, "weekly");
    expect(noRun).toMatchObject({ code: 3, stdout: "" });
    expect(noRun.stderr).toContain('NOT_FOUND: run "weekly" must have a capture, found none');
    const noAttempt = await session(file, "nightly", "build.2");
    expect(noAttempt).toMatchObject({ code: 3, stdout: "" });
    expect(noAttempt.stderr).toContain("NOT_FOUND: nightly/build.2 must have a capture, found none");
    expect(noAttempt.stderr).toContain("hint: `runledger run nightly` lists what was captured of it");
  });

  test("is empty and in order while nothing was captured", async () => {
    const file = await captured(async (ledger) => void (await bindCapture(ledger, "nightly")));

    expect(await session(file, "nightly")).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  test.each([[[]], [["a/b"]], [["nightly", "build.1", "more"]], [["nightly", "--only", "both"]]])(
    "%j is no command line",
    async (args) => {
      expect(await session(newLedgerFile(), ...args)).toMatchObject({ code: 2, stdout: "" });
    },
  );
});
