import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { afterEach, describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { NewEvent } from "../../src/index.js";
import { call, finish, jsonLines, ledgerWith, newLedgerFile, start } from "./command.js";

const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Following {
  readonly child: ChildProcessWithoutNullStreams;
  /** Waits until so many lines were shown, and answers all that were. */
  lines(count: number): Promise<string[]>;
}

function tail(file: string, ...args: string[]): Following {
  const child = start(["tail", "--ledger", file, ...args]);
  children.push(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const shown = (): string[] => text.split("\n").slice(0, -1);
  return {
    child,
    async lines(count) {
      await expect.poll(() => shown().length).toBeGreaterThanOrEqual(count);
      return shown();
    },
  };
}

async function append(file: string, stream: string, events: readonly NewEvent[], actor?: string): Promise<void> {
  const ledger = await openLedger(file);
  await ledger.append(stream, events, actor === undefined ? {} : { actor });
  await ledger.close();
}

const numbered = (...numbers: number[]): NewEvent[] =>
  numbers.map((number) => ({ type: "line.appended", data: { number } }));

function numbersOf(lines: readonly string[]): unknown[] {
  return jsonLines(lines.join("\n")).map(({ data }) => (data as { number: number }).number);
}

describe("tail", () => {
  test("shows the last ten events as log does, then each one as it comes, at once", async () => {
    const file = await ledgerWith(12);
    const following = tail(file);
    expect(await following.lines(20)).toEqual(
      (await call(["log", "--ledger", file, "#3.."])).stdout.split("\n").slice(0, -1),
    );

    await append(file, "log/a", numbered(13));
    await append(file, "log/b", numbered(14));

    expect((await following.lines(24)).slice(20)).toEqual(
      (await call(["log", "--ledger", file, "#13.."])).stdout.split("\n").slice(0, -1),
    );
  });

  test("shows with --json the objects of log, one a line", async () => {
    const file = await ledgerWith(3);
    const following = tail(file, "--json", "-n", "2");
    await following.lines(2);
    await append(file, "log/a", numbered(4));

    const lines = await following.lines(3);

    expect(lines).toEqual((await call(["log", "--ledger", file, "--json", "#2.."])).stdout.split("\n").slice(0, -1));
  });

  // Before it starts: 1 to 5 in log/a by nobody, then 6 in job/r1 by alice. Afterwards 7 in log/b, 8 and 9 by alice.
  test.each([
    [
      ["-n", "2"],
      [5, 6],
      [7, 8, 9],
    ],
    [
      ["-n", "99"],
      [1, 2, 3, 4, 5, 6],
      [7, 8, 9],
    ],
    [
      ["--from", "#5"],
      [5, 6],
      [7, 8, 9],
    ],
    [["--from", "@"], [6], [7, 8, 9]],
    [
      ["--from", "log/a@2"],
      [2, 3, 4, 5, 6],
      [7, 8, 9],
    ],
    [["--stream", "log/a", "-n", "1"], [5], [9]],
    [["--stream", "log/b"], [], [7]],
    [["--kind", "job", "-n", "3"], [6], [8]],
    [
      ["--type", "line.appended", "-n", "2"],
      [4, 5],
      [7, 9],
    ],
    [["--actor", "alice"], [6], [8, 9]],
  ])("with %j shows %j, then %j", async (args, before, after) => {
    const file = await ledgerWith(5);
    await append(file, "job/r1", [{ type: "job.noted", data: { number: 6 } }], "alice");
    const following = tail(file, "--json", ...args);
    expect(numbersOf(await following.lines(before.length))).toEqual(before);

    await append(file, "log/b", numbered(7));
    await append(file, "job/r1", [{ type: "job.noted", data: { number: 8 } }], "alice");
    await append(file, "log/a", numbered(9), "alice");

    expect(numbersOf(await following.lines(before.length + after.length))).toEqual([...before, ...after]);
  });

  test("with -n 0 shows nothing that was there", async () => {
    const file = await ledgerWith(5);
    const following = tail(file, "--json", "-n", "0");
    const shown = new AbortController();
    const writing = (async () => {
      // Each append opens the file and folds it on closing: a reader that starts needs a moment between two of them, and a longer
      // one on a busy machine.
      for (let number = 6; !shown.signal.aborted; number++) {
        await append(file, "log/a", numbered(number));
        await new Promise((resolve) => setTimeout(resolve, 100 * (number - 5)));
      }
    })();

    const [first] = numbersOf(await following.lines(1));
    shown.abort();
    await writing;

    expect(first).toBeGreaterThan(5);
  });

  test("leaves the journal's own events out unless they are asked for", async () => {
    const file = await ledgerWith(1);

    expect(numbersOf(await tail(file, "--json", "--from", "#0").lines(1))).toEqual([1]);
    const [opened] = await tail(file, "--json", "--kind", "journal").lines(1);
    expect(JSON.parse(opened!)).toMatchObject({ type: "journal.opened" });
  });

  test("goes on where a consumer was, and frees its name when it ends", async () => {
    const file = await ledgerWith(3);
    const first = tail(file, "--json", "--consumer", "mailer");
    expect(numbersOf(await first.lines(3))).toEqual([1, 2, 3]);
    const other = await finish(start(["tail", "--ledger", file, "--consumer", "mailer"]));
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toMatch(/^runledger: OWNER_ACTIVE: consumer "mailer" must be free, found it owned by /);
    await expect
      .poll(async () => (await call(["status", "--ledger", file])).stdout)
      .toMatch(/^consumer {4}mailer at #3, 0 behind, claimed by .* until 20.*Z$/m);
    first.child.kill("SIGTERM");
    expect((await finish(first.child)).code).toBe(143);
    expect((await call(["status", "--ledger", file])).stdout).toMatch(/^consumer {4}mailer at #3, 0 behind$/m);

    await append(file, "log/a", numbered(4));

    expect(numbersOf(await tail(file, "--json", "--consumer", "mailer").lines(1))).toEqual([4]);
  });

  test("begins a new consumer where it is told", async () => {
    const file = await ledgerWith(3);

    expect(numbersOf(await tail(file, "--json", "--consumer", "mailer", "--from", "#2").lines(2))).toEqual([2, 3]);
  });

  test("lets a consumer begin anew with --reset", async () => {
    const file = await ledgerWith(3);
    const first = tail(file, "--json", "--consumer", "mailer", "--from", "#3");
    await first.lines(1);
    first.child.kill("SIGINT");
    await finish(first.child);

    expect(numbersOf(await tail(file, "--json", "--consumer", "mailer", "--reset").lines(3))).toEqual([1, 2, 3]);
  });

  test("does not write without a consumer, and creates nothing", async () => {
    const missing = newLedgerFile();
    for (const args of [[], ["--consumer", "mailer"]])
      expect(await call(["tail", "--ledger", missing, ...args])).toMatchObject({ code: 3, stdout: "" });
    const file = await ledgerWith(1);
    const following = tail(file);
    await following.lines(1);

    expect((await call(["verify", file])).code).toBe(0);
    expect((await call(["status", "--ledger", file])).stdout).not.toContain("consumer");
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends with %s quietly, with %i, with all that it showed", async (signal, code) => {
    const file = await ledgerWith(2);
    const following = tail(file, "--oneline");
    const before = await following.lines(2);

    following.child.kill(signal);
    const done = await finish(following.child);

    expect(done).toMatchObject({ code, stderr: "" });
    expect(await following.lines(2)).toEqual(before);
  });

  test("ends quietly with 141 when its reader goes away, at the next event, and has not acknowledged it", async () => {
    const file = await ledgerWith(1);
    const following = tail(file, "--consumer", "mailer");
    await following.lines(2);
    await expect.poll(async () => (await call(["status", "--ledger", file])).stdout).toMatch(/mailer at #1,/);
    following.child.stdout.destroy();

    const ended = finish(following.child);
    await append(file, "log/a", numbered(2));

    expect(await ended).toMatchObject({ code: 141, stderr: "" });
    expect((await call(["status", "--ledger", file])).stdout).toMatch(/mailer at #1, 1 behind$/m);
  });

  test.each([
    [["--from", "#0", "-n", "1"], "--lines must stand without --from and --consumer, which say where to begin"],
    [["--reset"], "--reset must stand with --consumer"],
    [["--consumer", "mailer", "-n", "1"], "--lines must stand without --from and --consumer"],
    [["-n", "-1"], "--lines must be a whole number from 0 to 1000000"],
    [["--consumer", "1"], "--consumer must be a letter followed by"],
    [["--from", "#0..#1"], "a selector must name one event"],
    [["--stream", "log"], '--stream must be a stream "<kind>/<name>"'],
  ])("is no command line with %j", async (args, message) => {
    const file = await ledgerWith(1);

    const done = await call(["tail", "--ledger", file, ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(message);
  });

  test("has no event to begin with that is not there", async () => {
    const file = await ledgerWith(1);

    expect((await call(["tail", "--ledger", file, "--from", "#7"])).stderr).toMatch(
      /^runledger: NOT_FOUND: #7 must name/,
    );
  });
});
