/** Hooks that promise an answer where one must be there at once, and break the promise: the refusal was right, and then the
 *  process ended because nobody heard of the rejection. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineEvents, openLedger } from "../../src/index.js";
import type { EventDefinition } from "../../src/index.js";
import { ledgerPath } from "../engine/fixture.js";

const unheard: unknown[] = [];
const hear = (reason: unknown): unknown => unheard.push(reason);
beforeEach(() => void process.on("unhandledRejection", hear));
afterEach(() => void process.off("unhandledRejection", hear));

async function expectNothingUnheard(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(unheard.splice(0)).toEqual([]);
}

/** A promise that nobody will keep, with a `catch` that is not the platform's. */
const broken = (): never => Object.assign(Promise.reject(new Error("broken")), { catch: () => {} }) as never;

test.each<[string, EventDefinition["parse"]]>([
  ["a parse function", broken],
  ["a Standard Schema", { "~standard": { validate: broken } }],
])("%s that returns a promise refuses the append and leaves no rejection behind", async (_name, parse) => {
  const events = [defineEvents("note", { open: true }, { "note.added": { parse: parse! } })];
  const ledger = await openLedger("memory:", { events });

  const append = ledger.append("note/1", [{ type: "note.added" }]);

  await expect(append).rejects.toMatchObject({ code: "INVALID_ARGUMENT", details: { expected: "synchronous" } });
  await expectNothingUnheard();
  await ledger.close();
});

test("an upcast or an unknown-callback that returns a promise refuses the reading and leaves no rejection behind", async () => {
  const path = ledgerPath();
  const writer = await openLedger(path);
  await writer.append("note/1", [{ type: "note.added" }, { type: "other.added" }]);
  await writer.close();
  const events = [defineEvents("note", { open: true }, { "note.added": { version: 2, upcast: { 1: broken } } })];
  const reader = await openLedger(path, { events });

  for (const read of [
    () => reader.read({ types: ["note.added"] }).toArray(),
    () => reader.subscribe({ types: ["note.added"] }).next(),
  ])
    await expect(read()).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
  await expect(reader.read({ types: ["other.added"], unknown: broken }).toArray()).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await expectNothingUnheard();
  await reader.close();
});

test("a redaction and an observer that return promises leave no rejection behind", async () => {
  const redacting = await openLedger("memory:", { redact: broken });
  await expect(
    redacting.append("note/1", [{ type: "note.added" }, { type: "note.added", data: {} }]),
  ).rejects.toMatchObject({ code: "REDACTION_FAILED" });
  const observed = await openLedger("memory:", { onEvent: broken });
  await observed.append("note/1", [{ type: "note.added" }]);

  await expectNothingUnheard();
  await redacting.close();
  await observed.close();
});

test("a schema whose issue has no message that can be read refuses the append", async () => {
  const validate = (): unknown => ({ issues: [{ message: Symbol("odd") }] });
  const events = [defineEvents("note", { open: true }, { "note.added": { parse: { "~standard": { validate } } } })];
  const ledger = await openLedger("memory:", { events });

  await expect(ledger.append("note/1", [{ type: "note.added" }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "note.added data is not what its schema says: a symbol",
  });
  await ledger.close();
});

test("progress of a verification that is told to a promise leaves no rejection behind", async () => {
  const ledger = await openLedger("memory:");
  await ledger.append("note/1", [{ type: "note.added" }]);

  expect(await ledger.verify({ onProgress: broken })).toMatchObject({ verdict: "OK" });

  await expectNothingUnheard();
  await ledger.close();
});
