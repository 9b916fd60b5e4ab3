/** Captures: what a run and its attempts have to say while they run, record by record. Each command is one pure decision.
 *  Invariant: the records of a capture are dense from 1, and none comes behind its end.
 *  Source: design section 14, decisions 15.3, 15.5, 15.8, 0026; rows SB-01 to SB-14. */
import { sessionEntryBytesMax, sessionRecordsPerEntryMax } from "../kernel/limits.js";
import { captureKey, sessionStream } from "../journal/events/session.js";
import type { SessionBound, SessionFinished } from "../journal/events/session.js";
import { attemptKey, attempts } from "../../projections/attempt.js";
import type { Attempt } from "../../projections/attempt.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import type { Run } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { CaptureStatus, SessionCapture } from "../../projections/session-capture.js";
import { accept, refuse } from "./answer.js";
import type { CommandAnswer, CommandEvent, Refused } from "./answer.js";
import { defineCommand } from "./define-command.js";
import type { CommandMaker } from "./define-command.js";
import { requireHolder, writerOf } from "./guard.js";
import { unknownRun } from "./run.js";
import { factsBytes, parseAppendSessionEvents, parseBindSession, parseFinishSession } from "./session-input.js";
import type {
  AppendSessionEventsInput,
  AppendSessionEventsParsed,
  BindSessionInput,
  BindSessionParsed,
  FinishSessionInput,
  FinishSessionParsed,
  ParsedRecord,
} from "./session-input.js";

interface OneCapture {
  readonly capture: SessionCapture | null;
  readonly item: QueueItem | null;
}

interface CaptureOfRun extends OneCapture {
  readonly run: Run | null;
}

interface BeforeBind extends CaptureOfRun {
  /** Null too where the capture is to be the run's own. */
  readonly attempt: Attempt | null;
}

type Maker<Given, Found, Input> = CommandMaker<Given, Input, CommandAnswer<CaptureState>, Found>;

/** How a capture is. @public */
export interface CaptureState {
  readonly status: CaptureStatus;
  /** How many records it has; the next one is one more. */
  readonly events: number;
}

/** Begins a capture; one that is there already stays as it is, and the answer says how that is. */
export const bind: Maker<BindSessionInput, BeforeBind, BindSessionParsed> = defineCommand("session.bind", {
  parse: parseBindSession,
  reads: [
    (input) => ({
      ...readsOf(input),
      run: runs.get(input.runId),
      attempt: attempts.get(input.attemptId === "" ? null : attemptKey(input.runId, input.attemptId)),
    }),
  ],
  decide({ capture, item, run, attempt }, { runId, attemptId, expectedRevision }, context) {
    if (run === null) return unknownRun(runId);
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    if (capture !== null) return accept([], stateOf(capture));
    if (attemptId !== "" && attempt === null)
      return refuse(
        "NOT_FOUND",
        { runId, attemptId },
        { message: `${attemptId} must be an attempt of ${runId}, found no such attempt` },
      );
    const bound: SessionBound = { runId, attemptId };
    return accept([{ stream: sessionStream(runId, attemptId), type: "session.bound", data: bound }], {
      status: "recording",
      events: 0,
    });
  },
});

/** Appends records behind those that the capture has. A gap or a repetition refuses all of them, and it goes on recording. */
export const appendEvents: Maker<AppendSessionEventsInput, OneCapture, AppendSessionEventsParsed> = defineCommand(
  "session.appendEvents",
  {
    parse: parseAppendSessionEvents,
    reads: [(input) => readsOf(input)],
    decide({ capture, item }, { runId, attemptId, from, records }, context) {
      const refused = requireHolder(runId, item, context);
      if (refused !== null) return refused;
      if (capture === null) return unknownCapture(runId, attemptId);
      if (capture.status !== "recording") return closedCapture(capture, "to go on");
      const expected = capture.events + 1;
      if (from !== expected)
        return refuse(
          "SEQUENCE_GAP",
          { runId, attemptId, expected, found: from },
          { message: `the next record of ${captureKey(runId, attemptId)} must be ${expected}, found ${from}` },
        );
      const events: CommandEvent[] = [];
      const stream = sessionStream(runId, attemptId);
      let next = from;
      for (const part of partsOf(records)) {
        events.push({ stream, type: "session.eventsAppended", data: { from: next, records: part } });
        next += part.length;
      }
      return accept(events, { status: "recording", events: next - 1 });
    },
  },
);

/** Ends a capture. The first end wins: the same one again writes nothing and needs no revision, another one is refused. */
export const finish: Maker<FinishSessionInput, CaptureOfRun, FinishSessionParsed> = defineCommand("session.finish", {
  parse: parseFinishSession,
  reads: [(input) => ({ ...readsOf(input), run: runs.get(input.runId) })],
  decide({ capture, item, run }, { runId, attemptId, status, failure, open, expectedRevision }, context) {
    if (run === null) return unknownRun(runId);
    if (capture === null) return unknownCapture(runId, attemptId);
    if (capture.status !== "recording") {
      const isSame =
        capture.status === status &&
        capture.open === open &&
        capture.failure?.code === failure?.code &&
        capture.failure?.message === failure?.message;
      return isSame ? accept([], stateOf(capture)) : closedCapture(capture, `to be ${status}`);
    }
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    const finished: SessionFinished = {
      status,
      ...(failure !== null && { failure }),
      ...(open && { open }),
    };
    return accept([{ stream: sessionStream(runId, attemptId), type: "session.finished", data: finished }], {
      status,
      events: capture.events,
    });
  },
});

/** What `sessionCommands` has. @public */
export interface SessionCommands {
  readonly bind: typeof bind;
  readonly appendEvents: typeof appendEvents;
  readonly finish: typeof finish;
}

/** The commands of captures. @public */
export const sessionCommands: SessionCommands = { bind, appendEvents, finish };

function readsOf({ runId, attemptId }: { readonly runId: string; readonly attemptId: string }) {
  return { capture: sessionCaptures.get(captureKey(runId, attemptId)), item: queue.get(runId) };
}

function stateOf({ status, events }: SessionCapture): CaptureState {
  return { status, events };
}

function unknownCapture(runId: string, attemptId: string): Refused {
  return refuse(
    "NOT_FOUND",
    { runId, attemptId },
    { message: `the capture ${captureKey(runId, attemptId)} must be bound, found none` },
  );
}

function closedCapture({ runId, attemptId, status, failure, events }: SessionCapture, what: string): Refused {
  return refuse(
    "CAPTURE_CLOSED",
    { runId, attemptId, status, events, failure },
    { message: `the capture ${captureKey(runId, attemptId)} must be recording ${what}, found it ${status}` },
  );
}

/** A reference at its longest: `{"$content":"…","bytes":…,"n":…}`. */
const referenceBytesMax = 13 + 64 + 10 + 8 + 5 + 16 + 1;
/** What stands around the records of an entry: `{"from":…,"records":[…]}`. */
const dataBytesMax = 8 + 16 + 12 + 2;

/** Cuts records into what fits one entry each. */
function* partsOf(records: readonly ParsedRecord[]): Generator<readonly ParsedRecord[]> {
  let start = 0;
  let bytes = dataBytesMax;
  for (const [index, record] of records.entries()) {
    const size = factsBytes(record) + referenceBytesMax + 1;
    if (index - start === sessionRecordsPerEntryMax || bytes + size > sessionEntryBytesMax) {
      yield records.slice(start, index);
      start = index;
      bytes = dataBytesMax;
    }
    bytes += size;
  }
  yield records.slice(start);
}
