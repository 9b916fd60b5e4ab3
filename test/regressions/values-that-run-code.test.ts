/** Values whose code ran, or which threw an error without a code, while they were looked at. Each line is one value. */
import { expect, test } from "vitest";
import { content, defineEvents, openLedger } from "../../src/index.js";
import { refusalOf } from "../kernel/refusal.js";
import { canonicalize } from "../../src/kernel/canonical.js";

const hostile = (): never => expect.fail("the value's code ran");

// The number of own names was compared with the length, and an extra member made up for the hole.
test("an array with a hole and an extra member", () => {
  const value: unknown[] = [1, 2, 3];
  value.length = 1;
  value.length = 2;

  expect(refusalOf(() => canonicalize(Object.assign(value, { extra: 1 }))).details).toMatchObject({ path: "$[1]" });
});

// `toJSON` was read to see whether it is a function.
test("a getter named toJSON", () => {
  expect(refusalOf(() => canonicalize(Object.defineProperty({}, "toJSON", { get: hostile }))).code).toBe(
    "INVALID_ARGUMENT",
  );
});

// The message named the class, and a class may compute its name.
test("an instance of a class whose name is a getter", () => {
  const named = Object.defineProperty(() => 1, "name", { get: hostile });
  const value = Object.setPrototypeOf({}, { constructor: named }) as unknown;

  expect(refusalOf(() => canonicalize(value)).message).toContain("another prototype");
});

// `instanceof` walks the prototypes, and a Proxy among them hears of it.
test("an object with a Proxy among its prototypes, as data, as content, behind a content pointer", async () => {
  const value = Object.create(new Proxy({}, { getPrototypeOf: hostile, has: hostile, get: hostile })) as object;
  const definition = defineEvents("note", { open: true }, { "note.added": { content: ["/text"] } });
  const ledger = await openLedger("memory:", { events: [definition] });

  await expect(ledger.append("note/1", [{ type: "note.added", data: value }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await expect(ledger.append("note/1", [{ type: "note.added", data: { text: value } }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await expect(ledger.append("note/1", [{ type: "note.added", data: { other: value } }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(refusalOf(() => content(value)).code).toBe("INVALID_ARGUMENT");
  await ledger.close();
});

// A reference was taken apart before its other members were known to be plain.
test("a content reference with a getter", async () => {
  const ledger = await openLedger("memory:");
  const reference = Object.defineProperty({ $content: "ab".repeat(32), n: 1 }, "bytes", {
    get: hostile,
    enumerable: true,
  });

  await expect(ledger.append("note/1", [{ type: "note.added", data: { reference } }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await ledger.close();
});
