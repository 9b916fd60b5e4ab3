/** Random entries and random journals, made by the template and by nothing that shares code with the parser. */
import fc from "fast-check";
import { canonicalize } from "../../src/kernel/canonical.js";
import type { JsonObject } from "../../src/kernel/canonical.js";
import { encodeEntry, entryId, entryTemplate, zeroId } from "../../src/journal/entry.js";
import type { EntryFields, EntryLabels, EntryPlace } from "../../src/journal/entry.js";
import { eventData, eventTypes, keys, labels, metas, streamNames } from "../../src/testing/arbitraries.js";

export interface Draft {
  readonly stream: string;
  readonly type: string;
  readonly tv: number;
  readonly labels: EntryLabels;
  readonly data: JsonObject;
}

const integers = (min: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.integer({ min, max: 1_000 }),
    fc.maxSafeNat().map((value) => Math.max(value, min)),
  );
const digests = (): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

export function drafts(): fc.Arbitrary<Draft> {
  return fc.record({
    stream: streamNames(),
    type: eventTypes(),
    tv: integers(1),
    labels: fc.record({
      actor: maybe(labels()),
      command: maybe(keys()),
      cause: maybe(digests()),
      corr: maybe(keys()),
      fence: maybe(fc.tuple(keys(), integers(1), integers(1))),
      meta: maybe(metas()),
    }),
    data: eventData(),
  });
}

export function places(): fc.Arbitrary<EntryPlace> {
  return fc
    .record({
      txFirst: fc.oneof(fc.nat(), fc.constant(2 ** 53 - 10_001)),
      offset: fc.nat(9_999),
      more: fc.nat(9_999),
      prev: digests(),
      rev: integers(1),
      at: fc.integer({ min: 0, max: 8.64e15 }),
    })
    .map(({ txFirst, offset, more, prev, rev, at }) => ({
      seq: txFirst + offset,
      prev,
      txFirst,
      txCount: Math.min(offset + 1 + more, 10_000),
      rev,
      at,
    }));
}

export function encode(draft: Draft, place: EntryPlace): string {
  return encodeEntry(entryTemplate(draft.stream, draft.type, draft.tv, draft.labels), canonicalize(draft.data), place);
}

/** What parsing the text must give, with absent fields absent. */
export function fieldsOf(draft: Draft, place: EntryPlace): EntryFields {
  const present = Object.fromEntries(Object.entries(draft.labels).filter(([, value]) => value !== undefined));
  const { seq, prev, txFirst, txCount, rev, at } = place;
  return {
    v: 1,
    seq,
    prev,
    tx: [txFirst, txCount],
    stream: draft.stream,
    rev,
    type: draft.type,
    tv: draft.tv,
    at,
    ...present,
    data: draft.data,
  };
}

/** A whole journal of a few appends: chained, dense, with revisions counted by stream. */
export function histories(): fc.Arbitrary<readonly string[]> {
  const streams = fc.constantFrom("a/1", "a/2", "b/é");
  const append = fc.array(fc.tuple(drafts(), streams), { minLength: 1, maxLength: 4 });
  return fc.array(append, { minLength: 1, maxLength: 5 }).map((appends) => {
    const entries: string[] = [];
    const revisions = new Map<string, number>();
    let prev = zeroId;
    let at = 1_767_225_600_000;
    for (const events of appends) {
      const txFirst = entries.length;
      at += 7;
      for (const [draft, stream] of events) {
        const rev = (revisions.get(stream) ?? 0) + 1;
        revisions.set(stream, rev);
        const entry = encode(
          { ...draft, stream },
          { seq: entries.length, prev, txFirst, txCount: events.length, rev, at },
        );
        entries.push(entry);
        prev = entryId(entry);
      }
    }
    return entries;
  });
}
