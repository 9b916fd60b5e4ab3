/** Lines as batches of events: so many lines or so many bytes, whichever comes first, so that memory stays bounded and a
 *  batch is worth its commit. A line that is no event ends them: the batch before it is handed on with the problem. */
import { content, LedgerError } from "../index.js";
import type { JsonValue, NewEvent } from "../index.js";
import { parseJsonLine } from "./json-line.js";
import { LineProblem } from "./lines.js";
import type { Line, Place } from "./lines.js";

/** How lines become events. */
export interface EventForm {
  readonly type: string;
  /** Store each line as content, `{"line": …}`, instead of as the event's data. */
  readonly asContent: boolean;
}

export interface EventBatch {
  readonly events: readonly NewEvent[];
  /** Where each event came from. */
  readonly places: readonly Place[];
  /** Why there is nothing after this batch. */
  readonly problem: LineProblem | null;
}

const batchBytesMax = 4 * 1024 * 1024;

/** Groups lines; never throws a `LineProblem`, hands it on instead. */
export async function* readBatches(
  lines: AsyncIterable<Line>,
  form: EventForm,
  linesMax: number,
): AsyncGenerator<EventBatch, void, undefined> {
  let events: NewEvent[] = [];
  let places: Place[] = [];
  let bytes = 0;
  try {
    for await (const line of lines) {
      events.push(toEvent(line, form));
      places.push(line.place);
      bytes += line.bytes.length;
      if (events.length < linesMax && bytes < batchBytesMax) continue;
      yield { events, places, problem: null };
      events = [];
      places = [];
      bytes = 0;
    }
  } catch (problem) {
    if (!(problem instanceof LineProblem)) throw problem;
    yield { events, places, problem };
    return;
  }
  if (events.length > 0) yield { events, places, problem: null };
}

function toEvent({ place, bytes }: Line, { type, asContent }: EventForm): NewEvent {
  try {
    const value = parseJsonLine(bytes);
    return { type, data: asContent ? { line: content(value, "application/json") } : checkObject(value) };
  } catch (error) {
    if (error instanceof LedgerError) throw new LineProblem(place, error);
    throw error;
  }
}

function checkObject(value: JsonValue): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const found = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  throw new LedgerError("INVALID_ARGUMENT", `the line must be a JSON object, found ${found}`, {
    hint: "with --content a line may be any JSON value",
  });
}
