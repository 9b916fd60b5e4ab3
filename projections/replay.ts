/** Replaying: events in, the documents of projections out. Nothing else is read, so whoever has the events gets the same. */
import { invalid, LedgerError } from "../src/kernel/errors.js";
import { checkObject, isList, parseInteger } from "../src/kernel/members.js";
import { parseType } from "../src/kernel/names.js";
import { ReplayFold } from "./bulk.js";
import type { AnyProjection, Projection } from "./define-projection.js";
import { settle } from "./document.js";
import type { ProjectionEvent } from "./event.js";
import { FoldedTable } from "./folded.js";
import type { FoldedProjection } from "./folded.js";

/** What a replay led to. @public */
export interface Replay {
  /** The last event; −1 when there was none. */
  readonly position: number;
  /** A projection that was replayed, by its definition or its name. `NOT_FOUND` for any other. */
  projection<Document extends object>(projection: Projection<Document> | string): FoldedProjection<Document>;
}

/** Folds events, in order, into projections, from nothing. `events` is what `ledger.read()` gives, with
 *  `unknown: "error"` where definitions matter, or any list of the same shape; a projection that stops at one says so and does
 *  not stop the others. Events that are no events, or are out of order, are `INVALID_ARGUMENT`. @public */
export async function replay(
  projections: readonly AnyProjection[],
  events: Iterable<ProjectionEvent> | AsyncIterable<ProjectionEvent>,
): Promise<Replay> {
  const fold = new ReplayFold(parseProjections(projections));
  let position = -1;
  for await (const event of events) {
    const facts = factsOf(event, position);
    fold.fold(facts);
    position = facts.position;
  }
  const tables = fold.tables.map((table) => [table.projection, new FoldedTable<never>(table, position)] as const);
  return {
    position,
    projection(wanted) {
      const found = tables.find(([projection]) => projection === wanted || projection.name === wanted);
      if (found === undefined) throw notReplayed(wanted, projections);
      return found[1];
    },
  };
}

/** Refuses what was not made by `defineProjection`, and two of one name. */
export function parseProjections(projections: readonly AnyProjection[]): readonly AnyProjection[] {
  if (!isList(projections)) throw invalid("projections", "a list of projections", projections);
  const names = new Set<string>();
  for (const [index, projection] of projections.entries()) {
    const path = `projections[${index}]`;
    checkObject(projection, path, "made by defineProjection");
    if (!(projection.on instanceof Map) || !(projection.indexes instanceof Map))
      throw invalid(path, "made by defineProjection", projection);
    if (names.has(projection.name)) throw invalid(path, "of a name of its own", projection.name);
    names.add(projection.name);
  }
  return projections;
}

/** A copy of what reducers see of an event. */
function factsOf(event: ProjectionEvent, previous: number): ProjectionEvent {
  checkObject(event, `the event behind #${previous}`, "an event");
  const { stream, revision, version, at, actor, command, cause, correlation, fence } = event;
  const position = parseInteger(event.position, `the position behind #${previous}`, previous + 1);
  const path = `event #${position}`;
  checkObject(event.data, `${path} data`, "an object");
  return Object.freeze({
    position,
    stream,
    revision,
    type: parseType(event.type, `${path} type`),
    version,
    data: settle(event.data, null, `${path} data`),
    at,
    ...(actor === undefined ? {} : { actor }),
    ...(command === undefined ? {} : { command }),
    ...(cause === undefined ? {} : { cause }),
    ...(correlation === undefined ? {} : { correlation }),
    ...(fence === undefined ? {} : { fence: Object.freeze([...fence] as const) }),
  });
}

function notReplayed(wanted: unknown, projections: readonly AnyProjection[]): LedgerError {
  const names = projections.map(({ name }) => name);
  const found = typeof wanted === "string" ? wanted : "another one";
  return new LedgerError(
    "NOT_FOUND",
    `projection must be one that was replayed (${names.join(", ")}), found ${found}`,
    {
      details: { projections: names },
    },
  );
}
