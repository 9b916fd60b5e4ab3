/** Histories for the laws of projections: what a generator says, as reducers would see it if it had been recorded. */
import { eventOf } from "../../projections/event-of.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { Areas } from "../engine/areas.js";
import { prepareAppend } from "../engine/prepare.js";
import { fillSegments } from "../engine/prepare-event.js";
import { reservedKinds } from "../journal/define-events.js";
import type { EventDefinitions } from "../journal/define-events.js";
import { encodeEntry, zeroId } from "../journal/entry.js";
import type { EntryFields } from "../journal/entry.js";
import { invalid } from "../kernel/errors.js";
import { kindOf } from "../kernel/names.js";
import { seededBytes } from "./seeded.js";

/** An event of a generated history. @public */
export interface HistoryEvent {
  /** `kind/name`. */
  readonly stream: string;
  readonly type: string;
  /** The facts, as a writer gives them. Default `{}`. */
  readonly data?: object;
  /** Engine time, ms since the epoch; never before the event that precedes it. Default: a second after that one. */
  readonly at?: number;
  readonly actor?: string;
  readonly correlation?: string;
}

/** The events of a history as a journal would hold them: parsed and checked by their definitions, contents as references, with
 *  positions and revisions, frozen. What a writer would be refused is refused here: a generator says what can happen.
 *  @public */
export function recordHistory(
  history: readonly HistoryEvent[],
  definitions: readonly EventDefinitions[],
): readonly ProjectionEvent[] {
  // Commands write closed areas; here nobody asks which way an event came.
  const areas = new Areas(
    definitions.map((each) => ({ ...each, open: true })),
    false,
  );
  const preparing = {
    areas,
    randomBytes: seededBytes(1),
    dedupe: false,
    redact: undefined,
    allow(stream: string, type: string, path: string): void {
      // What the engine writes itself comes as it does from it.
      if (!reservedKinds.has(kindOf(stream))) areas.checkAppend(stream, type, path);
    },
  };
  const byArea = new Map(definitions.map((each) => [each.area, each]));
  const revisions = new Map<string, number>();
  let previousAt = Date.UTC(2026, 0, 1);
  let contents = 0;
  return history.map(({ stream, type, data, at = previousAt + 1_000, ...labels }, index) => {
    const event = data === undefined ? { type } : { type, data };
    const [prepared] = prepareAppend([{ stream, events: [event] }], labels, preparing).events;
    if (prepared === undefined || !Number.isSafeInteger(at) || at < previousAt)
      throw invalid(`history[${index}].at`, `an integer from ${previousAt}`, at);
    const references = prepared.contents.map(({ digest, bytes }) => ({
      $content: digest,
      bytes: bytes.length,
      n: ++contents,
    }));
    const rev = (revisions.get(stream) ?? 0) + 1;
    revisions.set(stream, rev);
    previousAt = at;
    // Position 0 is the journal's own.
    const place = { seq: index + 1, prev: zeroId, txFirst: index + 1, txCount: 1, rev, at };
    const entry = encodeEntry(prepared.template, fillSegments(prepared.segments, references), place);
    const recorded = eventOf(JSON.parse(entry) as EntryFields, byArea); // the writer made it just now
    if ("unknown" in recorded) throw invalid(`history[${index}].type`, "one that its area defines", type);
    return recorded;
  });
}
