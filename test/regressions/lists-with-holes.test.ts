/** `forEach` skips the holes of a list: an append of `[event, , event]` was acknowledged with two events, one of nothing
 *  but holes broke an invariant, and `require` that is no list threw a `TypeError`. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";

const event = { type: "note.added" };
// oxlint-disable-next-line no-sparse-arrays -- what it is about
const holed = [event, , event] as (typeof event)[];

test.each([
  ["events[1]", "note/1", holed, {}],
  ["events[0]", "note/1", Array(3), {}],
  ["appends[0]", Array(3), {}, undefined],
  ["append", Array(1), {}, undefined],
  ["options.require[0]", "note/1", [event], { require: Array(1) }],
  ["options.require", "note/1", [event], { require: 5 }],
  ["options.require", "note/1", [event], { require: { stream: "note/2", expected: "none" } }],
])("%s is refused, not skipped", async (path, ...append) => {
  const ledger = await openLedger("memory:");

  await expect(Reflect.apply(ledger.append.bind(ledger), undefined, append)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    details: { path },
  });
  expect((await ledger.status()).size).toBe(1);
  await ledger.close();
});

// `??` took null for absent: a revision that a caller failed to find out was not checked at all.
test.each([
  ["expected", [event], { expected: null }],
  ["options.require[0].expected", [event], { require: [{ stream: "note/1", expected: null }] }],
  ["events[0].data", [{ ...event, data: null }], {}],
])("null is no value for %s", async (path, events, options) => {
  const ledger = await openLedger("memory:");

  await expect(Reflect.apply(ledger.append.bind(ledger), undefined, ["note/1", events, options])).rejects.toMatchObject(
    {
      code: "INVALID_ARGUMENT",
      details: { path },
    },
  );
  await ledger.close();
});
