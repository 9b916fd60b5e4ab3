import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BulkTable, ReplayFold } from "../../projections/bulk.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { documentOf } from "../../projections/document.js";
import { freezeDeep } from "../../projections/freeze.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { failureOf } from "../../projections/failure.js";
import type { ProjectionFailure } from "../../projections/failure.js";
import { foldLive } from "../../projections/live.js";
import { applyPatches, foldPatches } from "../../projections/patches.js";
import { keyOf } from "../../projections/reducer.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { constants, histories, playing } from "./histories.js";

interface Outcome {
  /** As texts, so that the order of members counts too. */
  readonly documents: ReadonlyMap<string, string>;
  /** Position of the last change of each document that was ever there. */
  readonly changed: ReadonlyMap<string, number>;
  readonly failure: ProjectionFailure | null;
}

type Fold = (projection: AnyProjection, event: ProjectionEvent, key: string, document: object | null) => object | null;

/** One event after the other, as an engine does it. `stored`: each document goes through its text between two events. */
function oneByOne(projection: AnyProjection, events: readonly ProjectionEvent[], fold: Fold, stored: boolean): Outcome {
  const documents = new Map<string, object>();
  const changed = new Map<string, number>();
  let failure: ProjectionFailure | null = null;
  try {
    for (const event of events) {
      const key = keyOf(projection, event);
      if (key === null) continue;
      const held = documents.get(key) ?? null;
      const before = held === null || !stored ? held : documentOf(JSON.stringify(held));
      const after = fold(projection, event, key, before);
      if (after === before) continue;
      changed.set(key, event.position);
      if (after === null) documents.delete(key);
      else documents.set(key, after);
    }
  } catch (cause) {
    failure = failureOf(cause);
    if (failure === null) throw cause;
  }
  return { documents: textsOf(documents), changed, failure };
}

function inBulk(projection: AnyProjection, events: readonly ProjectionEvent[], chunkSize: number): Outcome {
  const documents = new Map<string, object>();
  const changed = new Map<string, number>();
  let failure: ProjectionFailure | null = null;
  for (let start = 0; start < events.length && failure === null; start += chunkSize) {
    const chunk = events.slice(start, start + chunkSize);
    const table = new BulkTable(projection);
    for (const key of table.keysToLoad(chunk)) {
      const held = documents.get(key);
      table.load(key, held === undefined ? null : documentOf(JSON.stringify(held)));
    }
    for (const event of chunk) table.fold(event);
    for (const [key, row] of table.changes()) {
      changed.set(key, row.changed);
      if (row.document === null) documents.delete(key);
      else documents.set(key, row.document);
    }
    failure = table.failure;
  }
  return { documents: textsOf(documents), changed, failure };
}

/** Without what a replay does not say: which event changed what, and what there was before it stopped. */
function replayed(projection: AnyProjection, events: readonly ProjectionEvent[]): Partial<Outcome> {
  const fold = new ReplayFold([projection]);
  for (const event of events) fold.fold(event);
  const [table] = fold.tables;
  if (table === undefined) throw new Error("a projection must have a table");
  const { failure } = table;
  return failure === null ? { documents: textsOf(new Map(table.documents())), failure } : { failure };
}

function textsOf(documents: ReadonlyMap<string, object>): ReadonlyMap<string, string> {
  return new Map([...documents].map(([key, document]) => [key, JSON.stringify(document)]));
}

const foldWithPatches: Fold = (projection, event, key, document) =>
  foldPatches<object>(projection, event, key, document).document;

const runs = process.env.RUNLEDGER_LONG === "1" ? 20_000 : 1_000;

describe("three drivers", () => {
  test("lead to the same documents, changed by the same events, and stop at the same one for the same reason", () => {
    const before = structuredClone(constants);
    fc.assert(
      fc.property(histories({ failures: true }), fc.integer({ min: 1, max: 7 }), (history, chunk) => {
        const events = freezeDeep(history);
        const projection = playing("play");
        const live = oneByOne(projection, events, foldLive, false);
        expect(oneByOne(projection, events, foldLive, true)).toEqual(live);
        expect(oneByOne(projection, events, foldWithPatches, false)).toEqual(live);
        expect(inBulk(projection, events, 1_000)).toEqual(live);
        expect(inBulk(projection, events, chunk)).toEqual(live);
        // A replay does not look for what no JSON shows.
        if (JSON.stringify(events).includes('"setSymbol"')) return;
        const { documents, failure } = live;
        expect(replayed(projection, events)).toEqual(failure === null ? { documents, failure } : { failure });
      }),
      { numRuns: runs },
    );
    expect(constants).toEqual(before);
  });

  test("patches lead from each document to the next, and back", () => {
    fc.assert(
      fc.property(histories({ failures: false }), (history) => {
        const both: Fold = (projection, event, key, document) => {
          const { document: after, patches, inverse } = foldPatches<object>(projection, event, key, document);
          expect(canonicalize(applyPatches(document, patches))).toBe(canonicalize(after));
          expect(canonicalize(applyPatches(after, inverse))).toBe(canonicalize(document));
          expect(patches.length === 0).toBe(after === document);
          return after;
        };
        oneByOne(playing("play"), freezeDeep(history), both, false);
      }),
      { numRuns: runs },
    );
  });
});
