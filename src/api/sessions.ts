/** The captures of a ledger: what runs and their attempts had to say while they ran. */
import { types } from "node:util";
import { parseTime } from "../kernel/clock.js";
import { checkMembers, isList } from "../kernel/members.js";
import { parseRunId } from "../kernel/names.js";
import { captureKey, parseAttemptKey } from "../journal/events/session.js";
import { appendEvents, bind, finish } from "../commands/session.js";
import type { CaptureState } from "../commands/session.js";
import type {
  AppendSessionEventsInput,
  BindSessionInput,
  FinishSessionInput,
  NewSessionRecord,
} from "../commands/session-input.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { SessionCapture } from "../../projections/session-capture.js";
import { executeOne } from "./execute-one.js";
import type { Time } from "./queue.js";
import { readRecords } from "./session-records.js";
import type { SessionEventsOptions, SessionRecord } from "./session-records.js";

/** A record to capture, with a time of any kind. @public */
export interface SessionRecordInput extends Omit<NewSessionRecord, "reportedAt"> {
  /** When its producer says that it was made: shown, and never ordered by. */
  readonly reportedAt?: Time | undefined;
}

/** Records for a capture. @public */
export interface NewSessionRecords extends Omit<AppendSessionEventsInput, "records"> {
  /** 1 to 10,000, and 64 MiB. */
  readonly records: readonly SessionRecordInput[];
}

/** Which captures to list. @public */
export interface SessionListOptions {
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Captures, as `ledger.sessions`. While a claim of the run is live, what is written presents its fence (`FENCED`); without
 *  one `bind` and `finish` say which revision of the run was seen, and `appendEvents` where it goes on. The end of a run
 *  does not end its captures: the last turn may still be on its way. @public */
export class Sessions {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Begins a capture of a run, or of one of its attempts. One that is there already stays as it is, and the answer says how
   *  that is. `NOT_FOUND`: no such run or attempt. */
  async bind(input: BindSessionInput, options: ExecuteOptions = {}): Promise<Executed & Told<CaptureState>> {
    return executeOne(this.engine, bind(input), options);
  }

  /** Appends records, each with its payload as a content of its own: all of them or none. Few calls with many records are much
   *  cheaper than many calls. `SEQUENCE_GAP`: `from` is not the number behind the last one, and the capture goes on recording;
   *  `CAPTURE_CLOSED`: it has ended; `NOT_FOUND`: it was not bound. */
  async appendEvents(input: NewSessionRecords, options: ExecuteOptions = {}): Promise<Executed & Told<CaptureState>> {
    return executeOne(this.engine, appendEvents(withTimes(input)), options);
  }

  /** Ends a capture. The first end wins: the same one again writes nothing, another one is refused (`CAPTURE_CLOSED`). */
  async finish(input: FinishSessionInput, options: ExecuteOptions = {}): Promise<Executed & Told<CaptureState>> {
    return executeOne(this.engine, finish(input), options);
  }

  /** One capture, by default the run's own; null when it was not bound. */
  async get(runId: string, attemptId: string = ""): Promise<SessionCapture | null> {
    return this.engine.projection(sessionCaptures).get(keyOf(runId, attemptId));
  }

  /** The captures of a run in the order in which they were bound. */
  async list(
    runId: string,
    options: SessionListOptions = {},
  ): Promise<{ readonly captures: readonly SessionCapture[]; readonly next: string | null }> {
    checkMembers(options, "options", ["after", "limit"]);
    const prefix = [parseRunId(runId, "runId")];
    const { documents, next } = await this.engine.projection(sessionCaptures).find({
      index: "run",
      prefix,
      ...options,
    });
    return { captures: documents.map(({ document }) => document), next };
  }

  /** The records of a capture in order, with what they hold, up to the last one that is there when it begins; never much more
   *  than a MiB of them is held at once. A record whose content was erased, is missing or damaged comes by its number with
   *  what is wrong (`trouble`), and the next ones follow. Works on a ledger that is open read-only. Thrown: `NOT_FOUND` (it
   *  was not bound), `ABORTED`, `CLOSED`, and `STORE_DAMAGED` behind the last record that can be read, when the end of the
   *  capture cannot. */
  events(runId: string, attemptId: string = "", options: SessionEventsOptions = {}): AsyncIterable<SessionRecord> {
    parseCapture(runId, attemptId);
    return readRecords(this.engine, runId, attemptId, options);
  }
}

function keyOf(runId: string, attemptId: string): string {
  parseCapture(runId, attemptId);
  return captureKey(runId, attemptId);
}

function parseCapture(runId: unknown, attemptId: unknown): void {
  parseRunId(runId, "runId");
  parseAttemptKey(attemptId, "attemptId");
}

/** A command is told times in ms. What else is wrong with a record is said by its command. */
function withTimes(input: NewSessionRecords): AppendSessionEventsInput {
  checkMembers(input, "appendEvents", ["runId", "attemptId", "from", "records"]);
  const { records } = input;
  if (!isList(records)) return input as AppendSessionEventsInput; // refused as it is
  return { ...input, records: Array.from(records, withTime) };
}

function withTime(record: SessionRecordInput, index: number): NewSessionRecord {
  const isObject = typeof record === "object" && record !== null && !types.isProxy(record);
  const reportedAt: unknown = isObject ? Object.getOwnPropertyDescriptor(record, "reportedAt")?.value : undefined;
  if (!types.isDate(reportedAt)) return record as NewSessionRecord; // a number, or refused as it is
  return { ...record, reportedAt: parseTime(reportedAt, `appendEvents.records[${index}].reportedAt`) };
}
