/** `exec` killed, and stopped past its lease, at moments that the seed chooses, and resumed until its run is done. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerEvent } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { call, finish, runledger, start } from "../cli/command.js";
import type { Finished } from "../cli/command.js";
import { directory, onCleanup, runSeed } from "../engine/fixture.js";
import { judgeBeats } from "./beats.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const strikesMax = long ? 100 : 10;
const strikesOfOneRunMax = 4;
/** Runs at a time. */
const lanes = 2;
/** The command is at work for so long, which is longer than a lease, so that there is something to end when it is taken over. */
const beats = 50;
const beatMs = 40;
const beater = fileURLToPath(new URL("../children/beater.sh", import.meta.url));

interface Run {
  readonly name: string;
  readonly leaseMs: number;
  readonly command: readonly string[];
  /** What the command appends to. */
  readonly file: string;
}

class Storm {
  readonly runs: Run[] = [];
  /** How often each exit code came, of those that nobody killed. */
  readonly codes = new Map<number | null, number>();
  /** What nobody may be answered here: nothing. */
  readonly wrong: string[] = [];
  kills = 0;
  stops = 0;
  /** Of those that were stopped: how many woke to find that they had lost. */
  lost = 0;
  private readonly folder: string;
  private readonly path: string;
  private readonly ledger: Ledger;
  private readonly next: () => number;
  private left = strikesMax;

  constructor(folder: string, path: string, ledger: Ledger, next: () => number) {
    this.folder = folder;
    this.path = path;
    this.ledger = ledger;
    this.next = next;
  }

  /** One run after the other, as long as there is something to strike. */
  async lane(): Promise<void> {
    while (this.left > 0) await this.bring(this.newRun());
  }

  private newRun(): Run {
    const name = `run-${this.runs.length + 1}`;
    const file = join(this.folder, name);
    // A loud one ends with its `exec`, a quiet one outlives it, and a deaf one outlives the TERM of the next.
    const manner = ["loud", "quiet", "quiet", "deaf"][Math.floor(4 * this.next())]!;
    const command = ["sh", beater, file, String(beats), String(beatMs / 1_000), manner];
    const run = { name, leaseMs: 300 + Math.floor(300 * this.next()), command, file };
    this.runs.push(run);
    return run;
  }

  /** Starts and resumes it until it is done. */
  private async bring(run: Run): Promise<void> {
    const others: Promise<void>[] = [];
    for (let strikes = 0; !(await this.isDone(run));) {
      expect(this.wrong).toEqual([]);
      const child = this.exec(run);
      const ended = finish(child);
      // Two may want to go on with the same run.
      if (this.next() < 0.2) others.push(finish(this.exec(run)).then((finished) => this.tell(finished)));
      const isStruck = this.left > 0 && strikes < strikesOfOneRunMax && this.next() < 0.8;
      if (isStruck) this.left--;
      const early = await Promise.race([ended, isStruck ? sleep(2_500 * this.next(), null) : ended]);
      if (early !== null) {
        if (isStruck) this.left++;
        this.tell(early);
        if (early.code !== 0) await sleep(100);
        continue;
      }
      strikes++;
      if (this.next() < 0.5) {
        child.kill("SIGKILL");
        this.kills++;
        await ended;
        await sleep(2 * run.leaseMs * this.next());
      } else {
        child.kill("SIGSTOP");
        this.stops++;
        others.push(this.wake(child, ended, run.leaseMs + 1_500 * this.next()));
        await sleep(run.leaseMs);
      }
    }
    await Promise.all(others);
  }

  private async wake(child: ReturnType<typeof start>, ended: Promise<Finished>, afterMs: number): Promise<void> {
    await sleep(afterMs);
    child.kill("SIGCONT");
    const finished = await ended;
    this.tell(finished);
    if (finished.code === 75) this.lost++;
  }

  private exec({ name, leaseMs, command }: Run): ReturnType<typeof start> {
    const args = [
      "exec",
      "--ledger",
      this.path,
      "--run",
      name,
      "--lease",
      String(leaseMs),
      "--resume",
      "--",
      ...command,
    ];
    const child = start(args);
    child.stdin.end();
    onCleanup(() => void child.kill("SIGKILL"));
    return child;
  }

  /** Done, refused because somebody owns it or it is over, or lost. */
  private tell({ code, stderr }: Finished): void {
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
    const isRefused = code === 1 && /NOT_READY|ILLEGAL_TRANSITION|STORE_BUSY|ALREADY_EXISTS/.test(stderr);
    if (code !== 0 && code !== 75 && !isRefused) this.wrong.push(`${code}: ${stderr}`);
  }

  private async isDone({ name }: Run): Promise<boolean> {
    return (await this.ledger.runs.get(name))?.status === "completed";
  }
}

test(
  `${strikesMax} times killed, or stopped past its lease, exec loses no run and completes none twice`,
  { timeout: long ? 1_800_000 : 300_000 },
  async () => {
    const folder = directory();
    const path = join(folder, "state.ledger");
    const ledger = await openLedger(path);
    onCleanup(() => ledger.close());
    const storm = new Storm(folder, path, ledger, seededNumbers(runSeed));

    await Promise.all(Array.from({ length: lanes }, () => storm.lane()));

    const events = await ledger.read().toArray();
    const said = storm.runs.map(({ file }) => judgeBeats(readFileSync(file, "utf8")));
    const takeovers = said.reduce((sum, { begun }) => sum + begun.length - 1, 0);
    const { kills, stops, lost, codes, runs, wrong } = storm;
    process.stdout.write(
      `${runs.length} runs, ${kills} kills, ${stops} stops of which ${lost} woke to have lost, ${takeovers} commands begun ` +
        `again; exit codes ${JSON.stringify([...codes])}\n`,
    );
    expect(wrong).toEqual([]);
    for (const [index, run] of runs.entries()) await expectDoneOnce(ledger, run, said[index]!, events);
    expect(kills + stops).toBe(strikesMax);
    if (long) for (const figure of [kills, stops, lost, takeovers]) expect(figure).toBeGreaterThan(0);
    expect(leftOver(folder)).toEqual([]);
    await ledger.close();
    expect(await call(["verify", path, "--deep"])).toMatchObject({ code: 0, stderr: "" });
  },
);

test("what does not hear TERM is ended by KILL before the next attempt begins", { timeout: 60_000 }, async () => {
  const folder = directory();
  const path = join(folder, "state.ledger");
  const [file, again] = [join(folder, "beats"), join(folder, "again")];
  // The first one goes on for longer than TERM is given.
  const script = `if [ -e "${again}" ]; then beats=1; else beats=1500; fi; : > "${again}"; exec sh "${beater}" "${file}" $beats 0.02 deaf`;
  const args = (lease: string) =>
    ["exec", "--ledger", path, "--run", "r1", "--lease", lease, "--resume", "--", "sh", "-c", script] as const;
  const first = start(args("300"));
  onCleanup(() => void first.kill("SIGKILL"));
  const ended = finish(first);
  while (!existsSync(file)) await sleep(20);
  first.kill("SIGKILL");
  await ended;
  await sleep(500);

  // It has to keep its claim for five seconds, on a machine that may be busy.
  expect(await runledger(args("30000"))).toMatchObject({ code: 0 });

  expect(judgeBeats(readFileSync(file, "utf8"))).toMatchObject({ begun: { length: 2 }, ended: 1, wrong: [] });
  await using ledger = await openLedger(path);
  const { attempts } = await ledger.attempts.list("r1");
  expect(attempts).toMatchObject([{ status: "cancelled", reason: "abandoned" }, { status: "completed" }]);
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  expect(leftOver(folder)).toEqual([]);
});

async function expectDoneOnce(
  ledger: Ledger,
  { name }: Run,
  { begun, ended, wrong }: ReturnType<typeof judgeBeats>,
  events: readonly LedgerEvent[],
): Promise<void> {
  const count = (stream: string, type: string): number =>
    events.filter((event) => event.stream === stream && event.type === type).length;
  const counts = {
    created: count(`run/${name}`, "run.created"),
    finished: count(`run/${name}`, "run.finished"),
    completed: count(`queue/${name}`, "queue.completed"),
  };
  expect(counts, name).toEqual({ created: 1, finished: 1, completed: 1 });
  expect(wrong, name).toEqual([]);
  expect(ended, name).toBeGreaterThan(0);

  const { attempts } = await ledger.attempts.list(name, { limit: 1_000 });
  const statuses = attempts.map(({ status }) => status);
  expect(statuses, name).toEqual([...statuses.slice(0, -1).map(() => "cancelled"), "completed"]);
  // An attempt may have ended before its command said that it began, but no command begins without being on record.
  const known = attempts.map(({ process: recorded }) => recorded?.pid);
  expect(
    known.filter((pid) => begun.includes(pid ?? -1)),
    name,
  ).toEqual(begun);
  expect(begun.at(-1), name).toBe(known.at(-1));
  const { captures } = await ledger.sessions.list(name, { limit: 1_000 });
  expect(captures.length, name).toBe(attempts.length);
  expect(
    captures.filter(({ status }) => status === "recording"),
    name,
  ).toEqual([]);
}

/** Processes that have to do with this test. */
function leftOver(folder: string): string[] {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,args="], { encoding: "utf8" }).split("\n");
  return rows.filter((row) => row.includes(folder));
}
