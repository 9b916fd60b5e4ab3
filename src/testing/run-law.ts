/** The law of runs: whatever is tried by whoever holds a claim, held one or holds none, each call is answered as a naive model
 *  of runs says, and what is kept is what was accepted. Source: decisions 15.12, 15.16, 15.18, 0026; rows U-06 to U-09, P-01. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Ledger } from "../api/ledger.js";
import type { AttemptOutcome } from "../journal/events/attempt.js";
import type { FinalRunStatus } from "../journal/events/run.js";
import type { Fence } from "../kernel/claim.js";
import { LedgerError } from "../kernel/errors.js";
import type { ManualClock } from "./manual-clock.js";

/** What a call presents: what it should (the fence of a live claim, else the revision), the last fence of its run, the first one,
 *  the revision that it is at, that beside the fence, another beside it, or nothing. */
type Presented = "right" | "last" | "first" | "revision" | "both" | "other" | "nothing";

/** One call on a run. */
export interface RunCall {
  readonly runId: string;
  readonly waitMs: number;
  readonly by: Presented;
  readonly act:
    | { readonly type: "create" | "enqueue" | "claim" | "start" | "resume" | "requestCancel" | "cancelAttempt" }
    | { readonly type: "startAttempt"; readonly node: string }
    | { readonly type: "finishAttempt"; readonly outcome: AttemptOutcome }
    | { readonly type: "finish"; readonly status: FinalRunStatus };
}

/** A run as the model has it, and its item. */
interface ModelRun {
  status: "none" | "queued" | "running" | FinalRunStatus;
  revision: number;
  open: string | null;
  /** How each attempt ended, or that it has not, in the order in which they were started. */
  readonly attempts: Map<string, string>;
  cancelled: boolean;
  item: "none" | "claimed" | "done";
  generation: number;
  expiresAt: number;
  readonly fences: Fence[];
}

const leaseMs = 1_000;
const runIds = ["r1", "r2"];

const act: fc.Arbitrary<RunCall["act"]> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom({ type: "create" as const }, { type: "start" as const }) },
  { weight: 2, arbitrary: fc.constantFrom({ type: "enqueue" as const }, { type: "claim" as const }) },
  { weight: 4, arbitrary: fc.constantFrom("a", "b").map((node) => ({ type: "startAttempt" as const, node })) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom<AttemptOutcome>("completed", "failed")
      .map((outcome) => ({ type: "finishAttempt" as const, outcome })),
  },
  { weight: 1, arbitrary: fc.constant({ type: "cancelAttempt" as const }) },
  { weight: 1, arbitrary: fc.constantFrom({ type: "resume" as const }, { type: "requestCancel" as const }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<FinalRunStatus>("completed", "failed")
      .map((status) => ({ type: "finish" as const, status })),
  },
);

const oneCall: fc.Arbitrary<RunCall> = fc.record({
  runId: fc.constantFrom(...runIds),
  waitMs: fc.constantFrom(0, 0, 0, 400, leaseMs),
  by: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Presented>("right") },
    { weight: 2, arbitrary: fc.constantFrom<Presented>("last", "first", "revision", "both", "other", "nothing") },
  ),
  act,
});

/** How histories begin, for what is not begun only refuses. */
const beginning: fc.Arbitrary<readonly RunCall[]> = fc
  .constantFrom<readonly ("create" | "enqueue" | "start")[]>([], ["create", "start"], ["create", "enqueue", "start"])
  .map((types) => types.map((type) => ({ runId: "r1", waitMs: 0, by: "right", act: { type } })));

/** Histories of calls, good and bad. */
export const runCalls: fc.Arbitrary<readonly RunCall[]> = fc
  .tuple(beginning, fc.array(oneCall, { maxLength: 40, size: "max" }))
  .map(([first, rest]) => [...first, ...rest]);

/** Sends the calls to a ledger that has no runs yet, and holds its answers and what it keeps against the model. */
export async function checkRuns(ledger: Ledger, clock: ManualClock, calls: readonly RunCall[]): Promise<void> {
  const model = new Map(runIds.map((runId) => [runId, newRun()]));
  for (const [index, call] of calls.entries()) {
    clock.advance(call.waitMs);
    const run = model.get(call.runId)!; // all of them are there
    const presented = presentedBy(call, run, clock.now());
    const expected = answerOf(run, call, presented, clock.now());
    const found = await send(ledger, call, presented, run);
    assert.equal(found, expected, `call ${index}, ${call.act.type} of ${call.runId}, was answered otherwise`);
  }
  for (const [runId, run] of model) await compare(ledger, runId, run, clock.now());
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  assert.deepEqual({ verdict, findings }, { verdict: "OK", findings: [] }, "it does not verify");
}

function newRun(): ModelRun {
  return {
    status: "none",
    revision: 0,
    open: null,
    attempts: new Map(),
    cancelled: false,
    item: "none",
    generation: 0,
    expiresAt: 0,
    fences: [],
  };
}

interface Shown {
  readonly fence: Fence | undefined;
  readonly expectedRevision: number | undefined;
}

function presentedBy({ by }: RunCall, run: ModelRun, at: number): Shown {
  const last = run.fences.at(-1);
  const revision = Math.max(1, run.revision);
  switch (by) {
    case "right":
      return isHeld(run, at)
        ? { fence: last, expectedRevision: undefined }
        : { fence: undefined, expectedRevision: revision };
    case "last":
      return { fence: last, expectedRevision: undefined };
    case "first":
      return { fence: run.fences[0], expectedRevision: undefined };
    case "revision":
      return { fence: undefined, expectedRevision: revision };
    case "both":
      return { fence: last, expectedRevision: revision };
    case "other":
      return { fence: last, expectedRevision: run.revision + 1 };
    case "nothing":
      return { fence: undefined, expectedRevision: undefined };
  }
}

function isHeld({ item, expiresAt }: ModelRun, at: number): boolean {
  return item === "claimed" && expiresAt > at;
}

/** What a call must be answered. Does in the model what is accepted. */
function answerOf(run: ModelRun, { act: wish }: RunCall, { fence, expectedRevision }: Shown, at: number): string {
  const held = isHeld(run, at);
  if (wish.type === "enqueue") {
    if (run.item !== "none") return "ALREADY_EXISTS";
    return take(run, at);
  }
  if (wish.type === "claim") return run.item !== "claimed" || held ? "null" : take(run, at);
  if (fence !== undefined && !(held && fence.generation === run.generation)) return "FENCED";
  const isOver = run.status !== "none" && run.status !== "queued" && run.status !== "running";
  if (wish.type === "create") {
    if (run.status !== "none") return "ALREADY_EXISTS";
    if (held && fence === undefined) return "FENCED";
    return write(run, "queued", 1);
  }
  if (run.status === "none") return "NOT_FOUND";
  const said = wish.type === "finishAttempt" ? wish.outcome : "cancelled";
  const attemptId = [...run.attempts.keys()].at(-1) ?? "a.1";
  const ended = run.attempts.get(attemptId);
  if (wish.type === "finishAttempt" || wish.type === "cancelAttempt") {
    if (ended === undefined) return "NOT_FOUND";
    if (ended !== "running") return ended === said ? sayAttempt(run, attemptId) : "ATTEMPT_CLOSED";
  }
  if (wish.type === "finish" && isOver) return run.status === wish.status ? sayRun(run) : "ILLEGAL_TRANSITION";
  if (wish.type === "requestCancel") {
    if (isOver || (held && run.cancelled)) return sayRun(run);
    if (!held) return end(run, "cancelled", "no use");
    run.cancelled = true;
    return write(run, run.status, 1);
  }
  if (held && fence === undefined) return "FENCED";
  if (expectedRevision === undefined && !held) return "INVALID_ARGUMENT";
  if (expectedRevision !== undefined && expectedRevision !== run.revision) return "REVISION_CONFLICT";
  switch (wish.type) {
    case "start":
      return run.status === "queued" ? write(run, "running", 1) : "ILLEGAL_TRANSITION";
    case "resume":
      if (run.status !== "running") return "ILLEGAL_TRANSITION";
      return write(run, "running", closeAttempt(run, "cancelled: abandoned") + 1);
    case "startAttempt": {
      if (run.status !== "running" || run.open !== null) return "ILLEGAL_TRANSITION";
      const number = 1 + [...run.attempts.keys()].filter((each) => each.startsWith(`${wish.node}.`)).length;
      run.open = `${wish.node}.${number}`;
      run.attempts.set(run.open, "running");
      run.revision++;
      return sayAttempt(run, run.open);
    }
    case "finishAttempt":
    case "cancelAttempt":
      run.revision += closeAttempt(run, said);
      return sayAttempt(run, attemptId);
    case "finish":
      if (wish.status === "completed" && (run.status === "queued" || run.open !== null)) return "ILLEGAL_TRANSITION";
      return end(run, wish.status, `the run ended: ${wish.status}`);
  }
}

function take(run: ModelRun, at: number): string {
  run.item = "claimed";
  run.generation++;
  run.expiresAt = at + leaseMs;
  return String(run.generation);
}

function write(run: ModelRun, status: ModelRun["status"], events: number): string {
  run.status = status;
  run.revision += events;
  return sayRun(run);
}

function end(run: ModelRun, status: FinalRunStatus, why: string): string {
  const closed = closeAttempt(run, `cancelled: ${why}`);
  if (run.item === "claimed") run.item = "done";
  return write(run, status, closed + 1);
}

/** How many events that takes. */
function closeAttempt(run: ModelRun, said: string): number {
  if (run.open === null) return 0;
  run.attempts.set(run.open, said);
  run.open = null;
  return 1;
}

const sayRun = ({ status, revision }: ModelRun): string => `${status} ${revision}`;
const sayAttempt = ({ revision, attempts }: ModelRun, attemptId: string): string =>
  `${attemptId} ${attempts.get(attemptId)!.split(":")[0]} ${revision}`;

/** What the ledger answers, in the same words. Keeps the fences that it gives. */
async function send(ledger: Ledger, { runId, act: wish }: RunCall, shown: Shown, run: ModelRun): Promise<string> {
  const { queue, runs, attempts } = ledger;
  const options = shown.fence === undefined ? {} : { fence: shown.fence };
  const written = { runId, expectedRevision: shown.expectedRevision };
  const attemptId = [...run.attempts.keys()].at(-1) ?? "a.1";
  const keep = ({ fence }: { readonly fence: Fence }): string => {
    run.fences.push(fence);
    return String(fence.generation);
  };
  const ofRun = ({ status, revision }: { readonly status: string; readonly revision: number }): string =>
    `${status} ${revision}`;
  const ofAttempt = (answer: {
    readonly attemptId: string;
    readonly status: string;
    readonly revision: number;
  }): string => `${answer.attemptId} ${ofRun(answer)}`;
  try {
    switch (wish.type) {
      case "enqueue":
        return keep(await queue.enqueue({ runId, reclaimsMax: 1_000, claim: { holder: "A", leaseMs } }));
      case "claim": {
        const claimed = await queue.claimNext({ holder: "B", leaseMs, runId });
        return claimed === null ? "null" : keep(claimed);
      }
      case "create":
        return ofRun(await runs.create({ runId }, options));
      case "start":
        return ofRun(await runs.start(written, options));
      case "resume":
        return ofRun(await runs.prepareResume(written, options));
      case "requestCancel":
        return ofRun(await runs.requestCancel({ runId, reason: "no use" }, options));
      case "finish":
        return ofRun(await runs.finish({ ...written, status: wish.status }, options));
      case "startAttempt":
        return ofAttempt(await attempts.start({ ...written, node: wish.node }, options));
      case "finishAttempt":
        return ofAttempt(await attempts.finish({ ...written, attemptId, outcome: wish.outcome }, options));
      case "cancelAttempt":
        return ofAttempt(await attempts.cancel({ ...written, attemptId, reason: "cancelled" }, options));
    }
  } catch (error) {
    if (error instanceof LedgerError) return error.code;
    throw error;
  }
}

/** What is kept of a run is what the model has. */
async function compare(ledger: Ledger, runId: string, run: ModelRun, at: number): Promise<void> {
  const found = await ledger.runs.get(runId);
  const listed = await ledger.attempts.list(runId);
  const item = await ledger.queue.get(runId);
  const owner = isHeld(run, at) ? run.generation : null;
  const expected = run.status === "none" ? null : { status: run.status, revision: run.revision, open: run.open, owner };
  const kept = found && {
    status: found.status,
    revision: found.revision,
    open: found.attempt,
    owner: found.owner?.generation ?? null,
  };
  assert.deepEqual(kept, expected, `run ${runId} is otherwise`);
  const ends = listed.attempts.map(({ attemptId, status, reason }): [string, string] => [
    attemptId,
    reason === null || reason === "cancelled" ? status : `${status}: ${reason}`,
  ]);
  assert.deepEqual(ends, [...run.attempts], `the attempts of ${runId} are otherwise`);
  assert.equal(item?.status ?? "none", run.item, `the item of ${runId} is otherwise`);
  const events = await ledger.readStream(`run/${runId}`).toArray();
  assert.equal(events.length, run.revision, `the stream of ${runId} is otherwise`);
}
