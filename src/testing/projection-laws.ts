/** What a projection owes to whoever replays, rebuilds or verifies it: laws over any history. Each is a sentence and a check
 *  that throws. Source: design section 7; cases D05, D14, L03; attack T52. */
import assert from "node:assert/strict";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { indexKeys } from "../../projections/reducer.js";
import { digestOf, foldAllBulk, foldAllLive, foldAllPatches, textOf, throughStore } from "./folding.js";
import type { Folded } from "./folding.js";
import { withoutHiddenInputs } from "./hidden-inputs.js";
import { rememberPrototypes } from "./prototypes.js";

/** A law of projections. */
export interface ProjectionLaw {
  readonly title: string;
  /** Throws when it does not hold. `cut` is any number from 0 on. */
  readonly check: (projection: AnyProjection, events: readonly ProjectionEvent[], cut: number) => void;
}

/** All of them. Where a reducer fails, each but the first looks at what comes before. */
export const projectionLaws: readonly ProjectionLaw[] = [
  {
    title: "no event makes a reducer throw, and what it leaves is a document",
    check(projection, events) {
      const { failure } = foldAllLive(projection, events);
      if (failure !== null) throw failure;
    },
  },
  {
    title: "no clock, randomness or environment is read",
    check(projection, events) {
      withoutHiddenInputs(() => foldAllLive(projection, events));
    },
  },
  {
    title: "folding again gives the same: nothing is kept between calls",
    check(projection, events, cut) {
      const first = foldAllLive(projection, events);
      foldAllLive(projection, events.slice(0, cut % (events.length + 1)));
      same(foldAllLive(projection, events), first, "folded again");
    },
  },
  {
    title: "folding a part and then the rest is folding all",
    check(projection, events, cut) {
      const at = cut % (events.length + 1);
      const [part, rest] = [events.slice(0, at), events.slice(at)];
      const before = throughStore(foldAllLive(projection, part));
      const whole = foldAllLive(projection, events);
      if (before.failure !== null) return;
      same(foldAllLive(projection, rest, before), whole, `live, in two parts cut at ${at}`);
      same(foldAllBulk(projection, rest, before), whole, `in bulk, in two parts cut at ${at}`);
    },
  },
  {
    title: "every driver leaves the same documents",
    check(projection, events) {
      const live = foldAllLive(projection, events);
      same(foldAllBulk(projection, events), live, "in bulk");
      same(foldAllPatches(projection, events), live, "with patches");
    },
  },
  {
    title: "an index is a function of the document alone",
    check(projection, events) {
      const folded = foldAllLive(projection, events);
      const first = indexesOf(projection, folded);
      assert.deepEqual(indexesOf(projection, folded), first, "asked twice, an index said something else");
      const stored = indexesOf(projection, throughStore(folded));
      assert.deepEqual(stored, first, "of the document as it is stored an index said something else");
    },
  },
  {
    title: "a document is JSON: it is the same behind a round trip, and so is the digest",
    check(projection, events) {
      const folded = foldAllLive(projection, events);
      const stored = throughStore(folded);
      // Not by text alone: that would hide what text cannot say, `-0` and members that are undefined.
      assert.deepEqual(stored.documents, folded.documents, "read back, it is another");
      assert.equal(digestOf(projection, stored), digestOf(projection, folded), "read back, the digest is another");
    },
  },
  {
    title: "an event is left as it was",
    check(projection, events) {
      const copies = events.map((event) => structuredClone(event));
      foldAllLive(projection, copies);
      foldAllBulk(projection, copies);
      copies.forEach((copy, index) => assert.deepEqual(copy, events[index], `event ${index} was changed`));
    },
  },
  {
    title: "prototypes are left as they were",
    check(projection, events) {
      const putBack = rememberPrototypes();
      foldAllLive(projection, events);
      foldAllBulk(projection, events);
      assert.deepEqual(putBack(), [], "prototypes were changed");
    },
  },
];

function same(found: Folded, expected: Folded, how: string): void {
  assert.equal(textOf(found), textOf(expected), `${how}, the documents are others`);
}

/** For each document what each index says of it, in hex. */
function indexesOf(projection: AnyProjection, { documents }: Folded): unknown {
  return [...documents].map(([key, document]) => [
    key,
    indexKeys(projection, document, key).map((bytes) => (bytes === null ? null : Buffer.from(bytes).toString("hex"))),
  ]);
}
