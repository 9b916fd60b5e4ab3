/** What the events of a run say, one sentence each, in the order of the journal. */
import type { QueueEventData } from "../../projections/queue.js";
import type { RunEventData } from "../../projections/run.js";
import type { LedgerEvent } from "../index.js";
import type { ClaimTaken } from "../journal/claim-facts.js";
import type { FenceRefused } from "../journal/events/fence.js";
import type { SessionFinished } from "../journal/events/session.js";
import { escapeText } from "./escape.js";
import { counted, isoTime, sayDuration } from "./figures.js";
import type { Holder } from "./holders.js";
import { sayExit } from "./run-view.js";

/** A step of a run as JSON shows it. */
export interface TimelineStep {
  readonly position: number;
  /** Engine time, ms since the epoch. */
  readonly at: number;
  readonly type: string;
  readonly actor: string | null;
  /** What happened, for reading. */
  readonly says: string;
}

/** What the events hold, by their types. */
interface StepData extends RunEventData, Omit<QueueEventData, "queue.renewed"> {
  "session.bound": object;
  "session.finished": SessionFinished;
}

/** What a sentence may speak of besides. */
interface Setting {
  readonly stream: string;
  readonly holders: readonly Holder[];
}

type Sentences = { readonly [Type in keyof StepData]: (data: StepData[Type], setting: Setting) => string };

const sentences: Sentences = {
  "run.created": () => "created",
  "run.started": () => "started",
  "run.cancelRequested": ({ reason }) => because("asked to end", reason),
  "run.resumePrepared": ({ attempt, captures }) =>
    joined(
      "made ready to go on",
      attempt !== null && `attempt ${escapeText(attempt)} abandoned`,
      captures > 0 && `${counted(captures, "capture")} ended`,
    ),
  "run.finished": ({ status, exit, reason }) => because(joined(status, sayExit(exit)), reason),
  "attempt.started": ({ attemptId, process }) =>
    joined(
      `attempt ${escapeText(attemptId)} started`,
      process !== undefined && `process ${process.pid} on ${escapeText(process.host)}`,
    ),
  "attempt.finished": ({ attemptId, outcome, exit, durationMs }) =>
    joined(
      `attempt ${escapeText(attemptId)} ${outcome}`,
      sayExit(exit),
      durationMs !== undefined && `after ${sayDuration(durationMs)}`,
    ),
  "attempt.cancelled": ({ attemptId, reason, exit }) =>
    because(joined(`attempt ${escapeText(attemptId)} cancelled`, sayExit(exit)), reason),
  "session.bound": (_, { stream }) => `${captureOf(stream)} begins`,
  "session.finished": ({ status, failure }, { stream }) =>
    joined(
      `${captureOf(stream)} ${status}`,
      failure !== undefined && `${escapeText(failure.code)}: ${escapeText(failure.message)}`,
    ),
  "queue.enqueued": ({ claim }) => joined("queued", claim !== undefined && claimOf(claim)),
  "queue.claimed": ({ claim }) => claimOf(claim),
  "queue.parked": ({ availableAt, reason }) =>
    because(
      availableAt === null ? "parked until somebody asks for it" : `parked until ${isoTime(availableAt)}`,
      reason,
    ),
  "queue.requeued": ({ availableAt, reason }) =>
    because(`given back for another try, not before ${isoTime(availableAt)}`, reason),
  "queue.wanted": ({ availableAt, reason }) => because(`asked for by ${isoTime(availableAt)}`, reason),
  "queue.cancelRequested": ({ reason }) => because("its queue item is asked to end", reason),
  "queue.completed": () => "off the queue: done",
  "queue.closed": ({ reason }) => because("off the queue: over, with nobody working on it", reason),
  "queue.released": ({ reason }) => because("off the queue: released", reason),
  "queue.died": ({ cause, reason }) => because(`given up after too many ${cause}`, reason),
  "fence.refused": (refusal, { holders }) => refusalOf(refusal, holders),
};

/** The steps that events tell of; renewals are no steps. */
export function timelineOf(events: Iterable<LedgerEvent>, holders: readonly Holder[]): readonly TimelineStep[] {
  const steps: TimelineStep[] = [];
  for (const { position, at, type, actor = null, data, stream } of events) {
    if (type === "queue.renewed") continue;
    // The area of an event says what it holds, and what these streams hold is written by the ledger's own commands alone.
    const says = type in sentences ? sentences[type as keyof Sentences](data as never, { stream, holders }) : type;
    steps.push({ position, at, type, actor, says });
  }
  return steps;
}

function joined(...parts: readonly (string | false | null)[]): string {
  return parts.filter((part) => part !== false && part !== null).join(", ");
}

function because(what: string, reason: string | undefined): string {
  return reason === undefined ? what : `${what}: ${escapeText(reason)}`;
}

function captureOf(stream: string): string {
  const [, , attempt] = /^([^/]*\/){2}(.*)$/.exec(stream) ?? [];
  return attempt === undefined ? "capture of the run" : `capture of ${escapeText(attempt)}`;
}

function claimOf({ holder, generation, expiresAt, superseded }: ClaimTaken): string {
  const who = `${escapeText(holder)}, generation ${generation}, until ${isoTime(expiresAt)}`;
  if (superseded === null) return `claimed by ${who}`;
  return `taken over by ${who}, for the lease of generation ${superseded} had ended`;
}

/** Who was refused is known by the generation that was presented. */
function refusalOf({ generation, command, reason }: FenceRefused, holders: readonly Holder[]): string {
  const holder = holders.find((each) => each.generation === generation)?.holder;
  const who = holder === undefined ? `generation ${generation}` : `${escapeText(holder)}, generation ${generation}`;
  return `refused: ${escapeText(command)} by ${who} (${reason})`;
}
