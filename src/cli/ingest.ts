/** Lines into a ledger, in order.
 *  Invariants: what is kept is a prefix of the input, to the line; nothing after a line that was refused, or after an
 *  append that failed, is ever sent. So one append is on its way at a time, while the next batch is read and parsed:
 *  with two on their way, the second could be kept after the first one failed. */
import { LedgerError } from "../index.js";
import type { AppendLabels, Ledger } from "../index.js";
import type { EventBatch } from "./batches.js";
import type { Place } from "./lines.js";
import { sayPlace } from "./lines.js";

/** What became of the input so far. */
export interface Kept {
  readonly events: number;
  /** Positions of the first and the last kept event. */
  readonly first: number | null;
  readonly last: number | null;
}

export interface Ingested extends Kept {
  /** Why it stopped before the end of the input. */
  readonly problem: LedgerError | null;
}

export interface IngestOptions {
  readonly stream: string;
  readonly labels: AppendLabels;
  /** Are lines stored as content? */
  readonly asContent: boolean;
  /** After it is aborted nothing more is sent; what is on its way is waited for. */
  readonly signal: AbortSignal;
  readonly onKept: (kept: Kept) => void;
}

interface Outcome {
  readonly kept: Kept;
  readonly problem: LedgerError | null;
}

/** Appends batch after batch until they end, one is refused, or it is interrupted. */
export async function ingest(
  ledger: Ledger,
  batches: AsyncIterable<EventBatch>,
  options: IngestOptions,
): Promise<Ingested> {
  let kept: Kept = { events: 0, first: null, last: null };
  let onItsWay: Promise<Outcome> | null = null;
  const settle = async (): Promise<LedgerError | null> => {
    const outcome = await onItsWay;
    onItsWay = null;
    if (outcome === null) return null;
    kept = {
      events: kept.events + outcome.kept.events,
      first: kept.first ?? outcome.kept.first,
      last: outcome.kept.last ?? kept.last,
    };
    options.onKept(kept);
    return outcome.problem;
  };
  try {
    for await (const batch of batches) {
      const problem = await settle();
      if (problem !== null) return { ...kept, problem };
      if (options.signal.aborted) return { ...kept, problem: null };
      onItsWay = keep(ledger, batch, options);
      // What it throws is thrown by `settle`; until then it is not unheard.
      onItsWay.catch(() => {});
    }
  } catch (error) {
    // An input that is closed while it is read says so by an error.
    const problem = await settle();
    if (problem !== null) return { ...kept, problem };
    if (!options.signal.aborted) throw error;
  }
  const problem = await settle();
  return { ...kept, problem };
}

/** Appends a batch, or as much of it as stands before the first line that the engine refuses. Never throws a `LedgerError`. */
async function keep(ledger: Ledger, batch: EventBatch, { stream, labels, asContent }: IngestOptions): Promise<Outcome> {
  let events = batch.events;
  let problem =
    batch.problem === null ? null : lineError(batch.problem.place, batch.problem.cause, batch.problem.cause.hint);
  while (events.length > 0) {
    try {
      const { first, position } = await ledger.append(stream, events, labels);
      return { kept: { events: events.length, first, last: position }, problem };
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      const index = refusedEvent(error);
      const place = index === null ? undefined : batch.places[index];
      if (index === null || place === undefined || index >= events.length) {
        return { kept: nothing, problem: batchError(batch.places, events.length, error) };
      }
      problem = lineError(place, error, isTooLong(error) && !asContent ? contentHint : error.hint);
      events = events.slice(0, index);
    }
  }
  return { kept: nothing, problem };
}

const nothing: Kept = { events: 0, first: null, last: null };

/** Which event the engine refused: its errors begin with the path, `events[12].data.total must be …`. */
function refusedEvent(error: LedgerError): number | null {
  const { path } = error.details;
  const match = /^events\[(\d+)\]/.exec(typeof path === "string" ? path : error.message);
  return match === null ? null : Number(match[1]);
}

const contentHint = "use --content: it stores each line beside the journal, up to 64 MiB";

function isTooLong(error: LedgerError): boolean {
  return error.code === "LIMIT_EXCEEDED" && /units|bytes/.test(String(error.details["limit"]));
}

/** The error of one line: where it is, in the reader's words. */
function lineError(place: Place, error: LedgerError, hint: string | undefined): LedgerError {
  const message = error.message.replace(/^events\[\d+\]/, "the event").replace(/^the line /, "");
  return new LedgerError(error.code, `${sayPlace(place)}: ${message}`, {
    details: { ...error.details, file: place.file, line: place.line },
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}

/** The error of a whole batch: nothing is wrong with a line. */
function batchError(places: readonly Place[], count: number, error: LedgerError): LedgerError {
  const [first, last] = [places[0], places[count - 1]];
  if (first === undefined || last === undefined) return error;
  const where = first === last ? sayPlace(first) : `${sayPlace(first)} to ${sayPlace(last)}`;
  const doubt = error.code === "STORE_IN_DOUBT" ? "may or may not be kept" : "not kept";
  return new LedgerError(error.code, `${error.message} (${where}: ${doubt})`, {
    details: { ...error.details, file: first.file, line: first.line },
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    cause: error,
  });
}
