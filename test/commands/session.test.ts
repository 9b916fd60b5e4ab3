/** The deciders of captures, called directly: how records become entries, and who may write. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SessionCapture } from "../../projections/session-capture.js";
import type { CommandEvent } from "../../src/commands/answer.js";
import { commandContext } from "../../src/commands/context.js";
import type { CommandContext } from "../../src/commands/context.js";
import { Mint } from "../../src/commands/mint.js";
import { appendEvents } from "../../src/commands/session.js";
import { parseAppendSessionEvents } from "../../src/commands/session-input.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { sessionEntryBytesMax, sessionRecordsPerEntryMax, timeMsMax } from "../../src/kernel/limits.js";

const capture: SessionCapture = {
  runId: "r1",
  attemptId: "",
  status: "recording",
  events: 0,
  bytes: 0,
  startedAt: 0,
  finishedAt: null,
  failure: null,
  open: false,
  revision: 1,
};

const context: CommandContext = commandContext({
  at: 1_000_000,
  id: null,
  client: "default",
  actor: null,
  incarnation: 1,
  fence: null,
  mint: new Mint(new Uint8Array(32), 0),
  salts: new Map(),
});

interface Appended {
  readonly from: number;
  readonly records: readonly { readonly type: string; readonly payload: { readonly size: number } }[];
}

function eventsOf(records: readonly object[], events = 0): readonly CommandEvent[] {
  const input = parseAppendSessionEvents({ runId: "r1", from: events + 1, records } as never);
  const answer = appendEvents.decide({ capture: { ...capture, events }, item: null }, input, context);
  if (answer.type === "refused") throw new Error(`it must be accepted, found ${answer.message}`);
  return answer.events;
}

/** The bytes of an entry's data when each reference is as long as one can be. */
function bytesOf({ data }: CommandEvent): number {
  const { from, records } = data as Appended;
  const longest = (payload: { readonly size: number }): object => ({
    $content: "f".repeat(64),
    bytes: payload.size,
    n: Number.MAX_SAFE_INTEGER,
  });
  const shown = records.map(({ payload, ...facts }) => ({ ...facts, payload: longest(payload) }));
  return Buffer.byteLength(canonicalize({ from, records: shown }));
}

/** Among them the longest that there are, whose letters are escaped or take several bytes. */
const type = fc.constantFrom("stdout", "é".repeat(128), '"'.repeat(128), "😀".repeat(64));
const record = fc.record(
  {
    type,
    payload: fc.constantFrom("", "a line", "x".repeat(10_000)),
    reportedAt: fc.constantFrom(0, timeMsMax),
    partial: fc.boolean(),
  },
  { requiredKeys: ["type", "payload"] },
);

describe("records become entries", () => {
  test("of at most 200 records and 60,000 bytes, dense and in order, none of them smaller than it must be", () => {
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 40 }),
        fc.nat(20),
        fc.nat(10 ** 6),
        (some, times, events) => {
          const records = Array.from({ length: 1 + times }, () => some).flat();
          const entries = eventsOf(records, events);

          expect(entries.flatMap(({ data }) => (data as Appended).records)).toHaveLength(records.length);
          let next = events + 1;
          for (const [index, entry] of entries.entries()) {
            const { from, records: held } = entry.data as Appended;
            expect([entry.type, entry.stream, from]).toEqual(["session.eventsAppended", "session/r1", next]);
            expect(held.map((each) => each.type)).toEqual(
              records.slice(from - events - 1, from - events - 1 + held.length).map((each) => each.type),
            );
            next += held.length;
            expect(held.length).toBeLessThanOrEqual(sessionRecordsPerEntryMax);
            expect(bytesOf(entry)).toBeLessThanOrEqual(sessionEntryBytesMax);
            // Another one of the longest that there are would not have fitted; sizes of contents are taken at their longest.
            if (index < entries.length - 1 && held.length < sessionRecordsPerEntryMax)
              expect(bytesOf(entry)).toBeGreaterThan(sessionEntryBytesMax - 600 - 8 * held.length);
          }
        },
      ),
    );
  });

  test.each([
    [1, [1]],
    [200, [200]],
    [201, [200, 1]],
    [10_000, Array.from({ length: 50 }, () => 200)],
  ])("%i lines as %j", (count, sizes) => {
    const lines = Array.from({ length: count }, () => ({ type: "stdout", payload: "x" }));
    expect(eventsOf(lines).map(({ data }) => (data as Appended).records.length)).toEqual(sizes);
  });
});
