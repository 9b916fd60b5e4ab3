import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defineEvents, openLedger } from "../../src/index.js";
import {
  call,
  finish,
  jsonLines,
  ledgerWith,
  newFile,
  newFolder,
  newLedgerFile,
  numberedLines,
  runledger,
  start,
} from "./command.js";

const long = process.env["RUNLEDGER_LONG"] === "1";

/** Data and type of each event after the first, which opens the journal. */
async function eventsOf(
  file: string,
): Promise<{ stream: string; type: string; data: unknown; actor: unknown; tx: unknown }[]> {
  const log = await call(["log", "--ledger", file, "--json"]);
  return jsonLines(log.stdout).slice(1) as Awaited<ReturnType<typeof eventsOf>>;
}

describe("append", () => {
  test("turns JSON Lines from a pipe into a journal", async () => {
    const file = newLedgerFile();
    const done = await runledger(["append", "--ledger", file, "--stream", "log/web"], {
      input: '{"a":1}\n{"b":[2,"é"]}',
    });

    expect(done).toMatchObject({ code: 0, stdout: "" });
    expect(done.stderr).toMatch(/^appended 2 events, #1 to #2, in log\/web in [\d.,]+ m?s \([\d,]+\/s\)\n$/);
    expect(await eventsOf(file)).toMatchObject([
      { stream: "log/web", type: "line.appended", data: { a: 1 }, actor: null },
      { stream: "log/web", type: "line.appended", data: { b: [2, "é"] }, actor: null },
    ]);
  });

  test("turns JSON Lines from files into a journal, in the order named, standard input where - stands", async () => {
    const file = newLedgerFile();
    const [first, last] = [newFile("first.jsonl", '{"n":1}\n{"n":2}'), newFile("last.jsonl", '{"n":4}\n')];
    const done = await call(
      ["append", "--ledger", file, "--stream", "log/a", "--type", "app.logged", "--actor", "ops é", first, "-", last],
      { input: '{"n":3}\n' },
    );

    expect(done.code).toBe(0);
    expect(await eventsOf(file)).toMatchObject(
      [1, 2, 3, 4].map((n) => ({ type: "app.logged", actor: "ops é", data: { n } })),
    );
  });

  test("says with --json what it did, in one object", async () => {
    const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "log/a", "--json"], {
      input: "{}\n\n{}\n",
    });
    const [summary, another] = jsonLines(done.stdout);
    expect(another).toBeUndefined();
    expect(Object.keys(summary ?? {})).toEqual([
      "stream",
      "type",
      "events",
      "first",
      "last",
      "blank",
      "complete",
      "seconds",
      "rate",
    ]);
    expect(summary).toMatchObject({
      stream: "log/a",
      type: "line.appended",
      events: 2,
      first: 1,
      last: 2,
      blank: 1,
      complete: true,
    });
  });

  test("goes on in a ledger that is there", async () => {
    const file = await ledgerWith(3);
    const done = await call(["append", "--ledger", file, "--stream", "log/a"], { input: "{}\n" });
    expect(done.stderr).toContain("appended 1 event, #4 to #4,");
  });

  test("makes each batch one atomic append", async () => {
    const file = newLedgerFile();
    await call(["append", "--ledger", file, "--stream", "log/a", "--batch", "3"], { input: numberedLines(7) });
    const events = await eventsOf(file);
    const [first, second, third] = [
      { first: 1, count: 3 },
      { first: 4, count: 3 },
      { first: 7, count: 1 },
    ];
    expect(events.map(({ tx }) => tx)).toEqual([first, first, first, second, second, second, third]);
  });

  test("takes CRLF, blank lines and a missing last line feed, and says how many lines were blank", async () => {
    const file = newLedgerFile();
    const done = await call(["append", "--ledger", file, "--stream", "log/a"], {
      input: '\r\n{"n":1}\r\n \t\n\n{"n":2}',
    });
    expect(done.stderr).toContain("appended 2 events");
    expect(done.stderr).toContain("3 blank lines skipped");
    expect((await eventsOf(file)).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("of nothing says so and is in order", async () => {
    const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "log/a"], { input: "\n" });
    expect(done).toMatchObject({ code: 0, stderr: "appended 0 events in log/a; 1 blank line skipped\n" });
  });

  test(`of ${long ? 100_000 : 10_000} lines makes a journal that verifies`, async () => {
    const count = long ? 100_000 : 10_000;
    const file = newLedgerFile();
    const done = await runledger(["append", "--ledger", file, "--stream", "log/a"], { input: numberedLines(count) });
    expect(done.stderr).toContain(`appended ${count / 1_000},000 events, #1 to #${count}, in log/a`);
    const verified = await runledger(["verify", "--ledger", file, "--json"]);
    expect(verified.code).toBe(0);
    const status = await call(["status", "--ledger", file, "--json"]);
    expect(jsonLines(status.stdout)[0]).toMatchObject({ size: count + 1, head: { position: count } });
  });
});

describe("a bad line", () => {
  test.each([
    ["no JSON", "{", /must be one JSON value/],
    ["two values", "{} {}", /must be one JSON value/],
    ["an array", "[1]", /must be a JSON object, found an array/],
    ["a number", "1", /must be a JSON object, found a number/],
    ["null", "null", /must be a JSON object, found null/],
    ["a repeated member", '{"a":1,"b":{"c":1,"c":2}}', /found "c" twice in the same object/],
    ["a byte order mark", "\ufeff{}", /byte order mark/],
    ["malformed UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /well-formed UTF-8/],
    ["a number that was rounded", '{"n":9007199254740993}', /the event\.data\.n must be an integer within/],
    ["a number that is none", '{"n":1e400}', /the event\.data\.n must be a finite number/],
    ["a lone surrogate", '{"s":"\\ud800"}', /lone surrogates/],
    ["too many levels", `{"a":${"[".repeat(200)}${"]".repeat(200)}}`, /levels of nesting/],
    [
      "a reference to no content",
      `{"c":{"$content":"${"0".repeat(64)}","bytes":1,"n":1}}`,
      /which this journal does not have/,
    ],
  ])(
    "that is %s stops with its number; what stands before it is kept, and nothing after it",
    async (_, bad, message) => {
      const file = newLedgerFile();
      const input = Buffer.concat([Buffer.from('{"n":1}\n\n{"n":2}\n'), Buffer.from(bad), Buffer.from('\n{"n":3}\n')]);
      const done = await call(["append", "--ledger", file, "--stream", "log/a"], { input });

      expect(done.code).toBe(1);
      expect(done.stdout).toBe("");
      expect(done.stderr).toMatch(/^kept 2 events, #1 to #2, in log\/a/);
      expect(done.stderr).toContain(": line 4: ");
      expect(done.stderr).toMatch(message);
      expect((await eventsOf(file)).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }]);
    },
  );

  test("is told with its file", async () => {
    const bad = newFile("bad.jsonl", "{}\nnope\n");
    const done = await runledger([
      "append",
      "--ledger",
      newLedgerFile(),
      "--stream",
      "log/a",
      newFile("good.jsonl", "{}\n"),
      bad,
      "--json",
    ]);
    expect(done.code).toBe(1);
    expect(done.stderr).toContain(`line 2 of ${bad}: must be one JSON value`);
    expect(jsonLines(done.stdout)).toMatchObject([{ events: 2, first: 1, last: 2, complete: false }]);
    const error = done.stderr.split("\n").find((line) => line.startsWith("{"));
    expect(JSON.parse(error ?? "")).toMatchObject({
      error: { code: "INVALID_ARGUMENT", details: { file: bad, line: 2 } },
    });
  });

  test("first of all keeps nothing", async () => {
    const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "log/a"], { input: "nope\n{}\n" });
    expect(done.code).toBe(1);
    expect(done.stderr).toMatch(/^kept 0 events in log\/a\n/);
  });

  test("in a later batch keeps the batches before it and the lines of its own before it", async () => {
    const file = newLedgerFile();
    const lines = numberedLines(9).split("\n");
    lines[6] = '{"n":1e999}';
    const done = await call(["append", "--ledger", file, "--stream", "log/a", "--batch", "4"], {
      input: lines.join("\n"),
    });
    expect(done.stderr).toContain("line 7: ");
    expect((await eventsOf(file)).map(({ data }) => data)).toEqual([1, 2, 3, 4, 5, 6].map((number) => ({ number })));
  });

  test("is the first of two, though the engine finds the second one earlier", async () => {
    const file = newLedgerFile();
    // The first is too long only as an entry; the second is refused before that is looked at.
    const tooLong = `{"text":"${"é".repeat(33_000)}"}`;
    const done = await call(["append", "--ledger", file, "--stream", "log/a"], {
      input: `{"n":1}\n${tooLong}\n{"n":1e999}\n`,
    });
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("LIMIT_EXCEEDED: line 2: ");
    expect((await eventsOf(file)).map(({ data }) => data)).toEqual([{ n: 1 }]);
  });

  test("that is too long for an entry points at --content", async () => {
    for (const size of [65_400, 70_000, 1_000_000]) {
      const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "log/a"], {
        input: `{"n":1}\n{"text":"${"a".repeat(size)}"}\n`,
      });
      expect(done).toMatchObject({ code: 1 });
      expect(done.stderr).toMatch(/kept 1 event, #1 to #1,[\s\S]*LIMIT_EXCEEDED: line 2: [\s\S]*hint: use --content/);
    }
  });

  test("does not come through a terminal's escape sequences", async () => {
    const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "log/a"], {
      input: '{"\u009b2J\u202e":1,"\u009b2J\u202e":2}\n',
    });
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("\\u{9b}2J\\u{202e}");
    expect(done.stderr).not.toMatch(/[\u009b\u202e]/);
  });
});

describe("append --content", () => {
  test("keeps each line beside the journal, in canonical form, whatever value it is", async () => {
    const file = newLedgerFile();
    const large = { text: "x".repeat(300_000) };
    const input = `{"b":1, "a":"\\u00e9"}\n"text"\n[1.0]\nnull\n${JSON.stringify(large)}\n`;
    const done = await call(["append", "--ledger", file, "--stream", "log/a", "--content"], { input });

    expect(done.code).toBe(0);
    const contents: string[] = [];
    for (const position of [1, 2, 3, 4, 5])
      contents.push((await call(["cat", "--ledger", file, "--content", String(position), "/line"])).stdout);
    expect(contents).toEqual(['{"a":"é","b":1}', '"text"', "[1]", "null", JSON.stringify(large)]);
    const [first] = await eventsOf(file);
    const { line } = (first?.data ?? {}) as { line: Record<string, unknown> };
    expect(Object.keys(line)).toEqual(["$content", "bytes", "n"]);
    expect(line).toMatchObject({ bytes: Buffer.byteLength(contents[0] ?? ""), n: 1 });
  });

  test("is as strict as without", async () => {
    const file = newLedgerFile();
    const done = await call(["append", "--ledger", file, "--stream", "log/a", "--content"], {
      input: '[1]\n{"a":1,"a":1}\n[2]\n',
    });
    expect(done.code).toBe(1);
    expect(done.stderr).toContain('line 2: must name each member of an object once, found "a" twice');
    expect(await eventsOf(file)).toHaveLength(1);
  });

  test("takes a line of 64 MiB and refuses one more byte", async () => {
    const file = newLedgerFile();
    const largest = `"${"a".repeat(64 * 1024 * 1024 - 2)}"`;
    expect(
      await call(["append", "--ledger", file, "--stream", "log/a", "--content"], { input: largest }),
    ).toMatchObject({ code: 0 });
    expect((await call(["cat", "--ledger", file, "--content", "@"])).stdout === largest).toBe(true);
    const refused = await call(["append", "--ledger", file, "--stream", "log/a", "--content"], {
      input: `${largest.slice(0, -1)}a"`,
    });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("LIMIT_EXCEEDED: line 1: ");
  });
});

describe("append is refused", () => {
  test.each([
    [["append"], /required option '--stream <name>'/],
    [["append", "--stream", "nokind"], /--stream must be a stream "<kind>\/<name>" with a slash/],
    [["append", "--stream", "Log/a"], /--stream kind must be/],
    [["append", "--stream", "log/a", "--type", "Bad"], /--type must be an event type/],
    [["append", "--stream", "log/a", "--actor", ""], /--actor must be a string of 1 to 128/],
    [["append", "--stream", "log/a", "--batch", "0"], /--batch must be a whole number from 1 to 10000/],
    [["append", "--stream", "log/a", "--batch", "1e3"], /--batch must be a whole number/],
    [["append", "--stream", "log/a", "--nope"], /unknown option '--nope'/],
  ])("with 2 for %j, and nothing is created", async (args, message) => {
    const file = newLedgerFile();
    const done = await call(args, { env: { RUNLEDGER: file }, input: "{}\n" });
    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toMatch(/^runledger: USAGE: /);
    expect(done.stderr).toMatch(message);
    expect(existsSync(file)).toBe(false);
  });

  test("when a file of its input cannot be read, before anything is written", async () => {
    const file = newLedgerFile();
    const folder = join(newFolder(), "folder");
    mkdirSync(folder);
    for (const input of [join(folder, "none.jsonl"), folder]) {
      const done = await call(["append", "--ledger", file, "--stream", "log/a", newFile("good.jsonl", "{}\n"), input]);
      expect(done.code).toBe(3);
      expect(done.stderr).toContain(`NOT_FOUND: input ${JSON.stringify(input)} must be readable`);
    }
    expect(existsSync(file)).toBe(false);
  });

  test("on a file that is no ledger, without changing a byte of it", async () => {
    const file = newFile("notes.txt", "not a ledger\n".repeat(100));
    const before = readFileSync(file);
    const done = await call(["append", "--ledger", file, "--stream", "log/a"], { input: "{}\n" });
    expect(done.code).toBe(3);
    expect(done.stderr).toMatch(/^runledger: STORE_FOREIGN: /);
    expect(readFileSync(file)).toEqual(before);
  });

  test("on a stream of the journal itself", async () => {
    const done = await call(["append", "--ledger", newLedgerFile(), "--stream", "journal/main"], { input: "{}\n" });
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("of a kind that the journal does not use itself");
  });
});

describe("append beside others", () => {
  test("two commands fill one ledger at once and lose nothing", async () => {
    const file = newLedgerFile();
    const streams = ["log/a", "log/b"];
    const done = await Promise.all(
      streams.map((stream) =>
        runledger(["append", "--ledger", file, "--stream", stream, "--batch", "50"], { input: numberedLines(1_000) }),
      ),
    );
    expect(done.map(({ code }) => code)).toEqual([0, 0]);
    const events = await eventsOf(file);
    const numbers = Array.from({ length: 1_000 }, (_, index) => ({ number: index + 1 }));
    for (const stream of streams)
      expect(events.filter((event) => event.stream === stream).map(({ data }) => data)).toEqual(numbers);
    expect((await call(["verify", file])).code).toBe(0);
  });

  test("is refused as a whole, and keeps nothing, when an area of another program owns the stream", async () => {
    const file = newLedgerFile();
    const invoices = defineEvents("invoice", { open: true }, { "invoice.sent": {} });
    const ledger = await openLedger(file, { events: [invoices] });
    await ledger.append("invoice/7", [{ type: "invoice.sent" }]);
    await ledger.close();
    const done = await call(["append", "--ledger", file, "--stream", "invoice/7"], { input: numberedLines(2_500) });
    expect(done.code).toBe(3);
    expect(done.stderr).toMatch(/^kept 0 events in invoice\/7\n/);
    expect(done.stderr).toContain("SCHEMA_UNKNOWN: area invoice owns the stream kind invoice");
    expect(done.stderr).toContain("(line 1 to line 1000: not kept)");
  });
});

describe("an interrupt", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends append with %i; what was acknowledged is kept and said", async (signal, code) => {
    const file = newLedgerFile();
    const child = start(["append", "--ledger", file, "--stream", "log/a", "--batch", "1"]);
    child.stdin.write('{"n":1}\n{"n":2}\n{"unfinished":');
    // The input stays open: the command waits for more of it.
    await kept(file, 3);
    child.kill(signal);
    const done = await finish(child);

    expect(done.code).toBe(code);
    expect(done.stderr).toMatch(new RegExp(`^interrupted by ${signal}: kept 2 events, #1 to #2, in log/a`));
    expect((await eventsOf(file)).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }]);
    expect((await call(["verify", file])).code).toBe(0);
  });
});

/** Waits until a ledger that another process writes has so many events. */
async function kept(file: string, size: number): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (!existsSync(file)) continue;
    try {
      const ledger = await openLedger(file, { readOnly: true });
      const { size: found } = await ledger.status();
      await ledger.close();
      if (found >= size) return;
    } catch {
      // It is being created.
    }
  }
}
