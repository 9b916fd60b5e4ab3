/** What the demo shows, act by act. Each claims only what must hold on the slowest machine. */
import { copyFileSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { grouped } from "../figures.js";
import type { RunHistory } from "../run-history.js";
import { sayExit } from "../run-view.js";
import { changeByte } from "./change-byte.js";
import { programs } from "./programs.js";
import type { Stage } from "./stage.js";
import { mainFile } from "./workers.js";
import type { Worker } from "./workers.js";

/** What is hashed and counted: the built files of this package. */
const builtFolder = dirname(dirname(mainFile));
/** Of the workers that are lost: short, for its end is waited for. Those that take over have the usual one. */
const shortLeaseMs = 2_000;
const stepCount = 50;
const copyName = "changed.ledger";

/** Everything, in order. Answers the run whose story is worth reading. */
export async function playAll(stage: Stage): Promise<string> {
  await hashFiles(stage);
  await countLines(stage);
  await overtake(stage, "overtaken");
  await resume(stage, "killed");
  await verify(stage);
  await tellTimeline(stage, "overtaken");
  await changeACopy(stage, "overtaken");
  return "overtaken";
}

/** `exec` of a command: a run, its attempt, and every line that it put out. */
async function hashFiles(stage: Stage): Promise<void> {
  await stage.act("A command under the ledger");
  const done = await stage.run(exec("hash-files", [], programs.hashFiles, builtFolder));
  const names = readdirSync(builtFolder, { recursive: true }).filter((name) => String(name).endsWith(".js"));
  const lines = done.stdout.split("\n").length - 1;
  await stage.claim(
    `it hashed ${grouped(names.length)} files, and ended with 0`,
    done.code === 0 && lines === names.length,
    done,
  );
  const run = await historyOf(stage, "hash-files");
  const [capture] = run.captures;
  await stage.claim(
    `the ledger has all ${grouped(lines)} lines of its output, and the run as completed`,
    run.run?.status === "completed" && capture?.status === "complete" && capture.events === lines,
    { run: run.run?.status, capture },
  );
}

async function countLines(stage: Stage): Promise<void> {
  await stage.act("A command that fails, and is tried again");
  const args = exec("count-lines", ["--retries", "2"], programs.countLines, builtFolder);
  const done = await stage.run(args);
  await stage.claim(`it counted ${done.stdout.trim()}, and ended with 0`, done.code === 0, done);
  const { run, attempts } = await historyOf(stage, "count-lines");
  const [first, second] = attempts;
  await stage.claim(
    "its first attempt failed with 7, the second completed, and nobody had to see to it",
    run?.status === "completed" &&
      attempts.length === 2 &&
      first?.status === "failed" &&
      sayExit(first.exit) === "exit 7" &&
      second?.status === "completed",
    attempts,
  );
}

/** A worker that sleeps through its lease: somebody else goes on, and it can do no harm when it wakes. */
async function overtake(stage: Stage, runId: string): Promise<void> {
  await stage.act("A worker that is stopped, overtaken, and refused when it wakes");
  const stopped = await startSteps(stage, runId);
  await stop(stage, stopped, runId);
  await stage.tell(`SIGSTOP to worker ${stopped.pid}: it renews nothing any more`);
  await waitForLease(stage, runId);
  const second = await stage.start(["exec", "--run", runId, "--resume", "--lease", "30000"]);
  // It may be done already, where there was little left to do.
  const isTaken = async (): Promise<boolean> => (await historyOf(stage, runId)).holders.length > 1;
  await stage.until("the second worker takes the run over", isTaken, second);
  stopped.kill("SIGCONT");
  await stage.tell(`SIGCONT to worker ${stopped.pid}: it believes that the run is its own`);
  const refused = await stopped.ended;
  await stage.claim("it was refused, and ended with 75", refused.code === 75, refused);
  const done = await second.ended;
  await stage.claim("the second worker went on, and ended with 0", done.code === 0, done);
  const { timeline } = await checkTakenOver(stage, runId);
  await stage.claim(
    "what was refused is on record",
    timeline.some(({ type }) => type === "fence.refused"),
    timeline,
  );
}

/** A worker that is killed: nobody tells the ledger, and the run is there to be taken. */
async function resume(stage: Stage, runId: string): Promise<void> {
  await stage.act("A worker that is killed, and its run resumed");
  const killed = await startSteps(stage, runId);
  killed.kill("SIGKILL");
  await stage.tell(`SIGKILL to worker ${killed.pid}`);
  await killed.ended;
  await waitForLease(stage, runId);
  const done = await stage.run(["exec", "--run", runId, "--resume", "--lease", "30000"]);
  await stage.claim("the next worker went on, and ended with 0", done.code === 0, done);
  await checkTakenOver(stage, runId);
}

async function verify(stage: Stage): Promise<void> {
  await stage.act("The proof: every byte of the journal, every claim, everything derived");
  const { code, stdout } = await stage.run(["verify", "--deep"]);
  await stage.show(linesOf(stdout, /^(?:ok +(?:chain|claims|documents|content)|verdict)/));
  await stage.claim("verify finds all of it in order", code === 0 && /^verdict +OK/m.test(stdout), { code, stdout });
}

async function tellTimeline(stage: Stage, runId: string): Promise<void> {
  await stage.act("What became of the run that was overtaken");
  const { code, stdout } = await stage.run(["run", runId]);
  await stage.show(partsOf(stdout, /^(?:HOLDER|POSITION) /));
  await stage.claim("it names both workers, and the refusal", code === 0 && /refused: /.test(stdout), { code, stdout });
}

/** One byte, in a copy: of an event that nobody would look at twice. */
async function changeACopy(stage: Stage, runId: string): Promise<void> {
  await stage.act("One byte changed, in a copy");
  const copy = join(stage.folder, copyName);
  copyFileSync(stage.file, copy);
  const { timeline } = await historyOf(stage, runId);
  const started = timeline.find(({ type }) => type === "attempt.started")!; // it was claimed above
  const { position, was, is } = await changeByte(copy, started.position);
  await stage.tell(`in event #${position} the process ${was} is now ${is}`);
  const { code, stdout } = await stage.run(["verify", copyName]);
  await stage.show(linesOf(stdout, /^(?:FAIL|verdict)/));
  await stage.claim(`verify ends with 1 and names event #${position}`, code === 1 && stdout.includes(`#${position} `), {
    code,
    stdout,
  });
}

/** A worker whose command is some steps on its way. */
async function startSteps(stage: Stage, runId: string): Promise<Worker> {
  const options = ["--lease", String(shortLeaseMs)];
  const worker = await stage.start(exec(runId, options, programs.steps, stepsName(runId), String(stepCount)));
  const file = join(stage.folder, stepsName(runId));
  const isUnderWay = (): boolean => existsSync(file) && readFileSync(file, "utf8").split("\n").length > 5;
  await stage.until(`the first steps of ${runId}`, isUnderWay, worker);
  return worker;
}

/** Stops a worker. One that stood still in the middle of a commit would keep everybody from writing until it wakes: then it
 *  is let go on a little. */
async function stop(stage: Stage, worker: Worker, runId: string): Promise<void> {
  for (;;) {
    worker.kill("SIGSTOP");
    if (await stage.note("demo.stopped", { run: runId, worker: worker.pid })) return;
    worker.kill("SIGCONT");
    await sleep(20);
  }
}

async function waitForLease(stage: Stage, runId: string): Promise<void> {
  await stage.until(`the end of the lease of ${runId}`, async () => (await historyOf(stage, runId)).owner === null);
  await stage.tell("its lease is over: the run has no owner");
}

/** What holds of a run that was taken over, however the first worker was lost. */
async function checkTakenOver(stage: Stage, runId: string): Promise<RunHistory> {
  const history = await historyOf(stage, runId);
  const { run, attempts, captures, holders } = history;
  await stage.claim(
    "attempt 1 is abandoned, attempt 2 completed, under two generations of the claim",
    run?.status === "completed" &&
      attempts.map(({ status }) => status).join() === "cancelled,completed" &&
      holders.map(({ generation }) => generation).join() === "1,2",
    { attempts, holders },
  );
  await stage.claim(
    "what attempt 1 had said is kept, and its capture is not called complete",
    captures[0]?.status === "failed" && captures[1]?.status === "complete",
    captures,
  );
  const done = readFileSync(join(stage.folder, stepsName(runId)), "utf8");
  const wanted = Array.from({ length: stepCount }, (_, index) => `step ${index + 1}\n`).join("");
  await stage.claim(`all ${stepCount} steps were done, each of them once`, done === wanted, done);
  return history;
}

async function historyOf(stage: Stage, runId: string): Promise<RunHistory> {
  const history = await stage.history(runId);
  if (history !== null) return history;
  throw new Error(`the ledger must know run ${runId}`);
}

/** The file in which a run counts its steps. */
function stepsName(runId: string): string {
  return `${runId}.steps`;
}

function exec(runId: string, options: readonly string[], program: string, ...args: string[]) {
  return ["exec", "--run", runId, ...options, "--", process.execPath, program, ...args];
}

/** Of the tables that `run` prints. */
function partsOf(text: string, wanted: RegExp): string {
  return text
    .split("\n\n")
    .filter((part) => wanted.test(part))
    .join("\n\n");
}

function linesOf(text: string, wanted: RegExp): string {
  return text
    .split("\n")
    .filter((line) => wanted.test(line))
    .join("\n");
}
