/** The entry that tells what became of a command, and the fingerprint by which the same one is known again. */
import { describe, expect, test } from "vitest";
import { canonicalText } from "../../src/kernel/canonical.js";
import type { JsonObject } from "../../src/kernel/canonical.js";
import { contentDigest, plainHash } from "../../src/journal/content.js";
import {
  clientOf,
  parseClient,
  parseCommandId,
  parseReceipt,
  receiptStream,
} from "../../src/journal/events/receipt.js";
import { commandText, contentStandIn, fingerprint, listText } from "../../src/journal/fingerprint.js";
import { refusalOf } from "../kernel/refusal.js";

const salt = { $content: "b".repeat(64), bytes: 32, n: 7 };
const said = { id: "c1", name: "order.place", fingerprint: "a".repeat(64), salt };
const accepted = { ...said, outcome: "accepted", result: { revision: 3 } };
const refusal = { code: "SOLD_OUT", details: { left: 0 }, message: "none is left" };
const refused = { ...said, outcome: "refused", refusal };
const { name: _, ...unnamed } = said;
const list = {
  ...unnamed,
  names: ["order.place", "stock.take"],
  outcome: "refused",
  refusal: { ...refusal, index: 1 },
};

const acceptedList = { ...unnamed, names: ["order.place"], outcome: "accepted", results: [[null], [], [{ n: 1 }]] };

describe("a receipt", () => {
  test.each<[string, JsonObject]>([
    ["of an accepted command", accepted],
    ["of one without a result", { ...said, outcome: "accepted" }],
    ["of one whose result is null", { ...said, outcome: "accepted", result: null }],
    ["of a refused one", refused],
    ["of a list", list],
    ["of an accepted list", acceptedList],
  ])("%s is read as it was written", (_title, data) => {
    expect(parseReceipt(data)).toEqual(data);
  });

  test.each<[string, JsonObject]>([
    ["no id", { ...accepted, id: undefined }],
    ["an id of 201 units", { ...accepted, id: "x".repeat(201) }],
    ["neither name nor names", { ...unnamed, outcome: "accepted" }],
    ["both name and names", { ...accepted, names: ["order.place"] }],
    ["an empty list of names", { ...unnamed, names: [], outcome: "accepted" }],
    ["a name twice", { ...unnamed, names: ["a.b", "a.b"], outcome: "accepted" }],
    ["a fingerprint in capitals", { ...accepted, fingerprint: "A".repeat(64) }],
    ["a salt that is no reference", { ...accepted, salt: "c2FsdA==" }],
    ["a salt of 31 bytes", { ...accepted, salt: { ...salt, bytes: 31 } }],
    ["results of a command", { ...accepted, results: [[1]] }],
    ["a result of a list", { ...acceptedList, result: 1 }],
    ["no results of a list", { ...acceptedList, results: undefined }],
    ["two results of one command", { ...acceptedList, results: [[1, 2]] }],
    ["another outcome", { ...said, outcome: "adopted" }],
    ["a refusal although it was accepted", { ...accepted, refusal }],
    ["a result although it was refused", { ...refused, result: 1 }],
    ["no refusal although it was refused", { ...said, outcome: "refused" }],
    ["a code in small letters", { ...refused, refusal: { ...refusal, code: "sold_out" } }],
    ["details that are a list", { ...refused, refusal: { ...refusal, details: [] } }],
    ["a message that is none", { ...refused, refusal: { ...refusal, message: null } }],
    ["an index of a single command", { ...refused, refusal: { ...refusal, index: 0 } }],
    ["no index of a list", { ...list, refusal }],
    ["an index below 0", { ...list, refusal: { ...refusal, index: -1 } }],
    ["a member that nobody knows", { ...accepted, note: 1 }],
    ["such a member in its refusal", { ...refused, refusal: { ...refusal, note: 1 } }],
  ])("with %s is refused as damage", (_title, data) => {
    const error = refusalOf(() => parseReceipt(data));
    expect(error).toMatchObject({ code: "STORE_DAMAGED", details: { type: "receipt.recorded" } });
  });

  test("stands on the stream of its client", () => {
    expect(receiptStream("default")).toBe("client/default");
    expect(clientOf(receiptStream("shop-1"))).toBe("shop-1");
  });
});

describe("names", () => {
  test.each(["c", "C1", "a.b-c_d", `a${"1".repeat(127)}`])("%j is a client", (client) => {
    expect(parseClient(client, "client")).toBe(client);
  });

  test.each(["", "1", "a/b", "a b", "é", `a${"1".repeat(128)}`, null, 1])("%j is none", (client) => {
    expect(refusalOf(() => parseClient(client, "client")).details).toMatchObject({ path: "client" });
  });

  test.each(["1", "/", "a/b c", "é😀", "x".repeat(200)])("%j is the id of a command", (id) => {
    expect(parseCommandId(id, "id")).toBe(id);
  });

  test.each(["", "x".repeat(201), "a\nb", "\u007f", "\ud800", null, 7])("%j is none", (id) => {
    expect(refusalOf(() => parseCommandId(id, "id")).details).toMatchObject({ path: "id" });
  });
});

describe("a fingerprint", () => {
  const bytes = Uint8Array.from({ length: 32 }, (_value, index) => index);
  const of = (name: string, input: unknown): string => fingerprint(commandText(name, canonicalText(input)), bytes);

  test("D-68 does not depend on the order of members, integer-like ones neither, nor on members that are undefined", () => {
    const one = of("order.place", { b: 1, 10: "x", 9: "y", a: { d: 1, c: 2 } });
    expect(of("order.place", { a: { c: 2, d: 1 }, 9: "y", 10: "x", b: 1, none: undefined })).toBe(one);
    // By units: "10" comes before "9".
    const text = '["order.place",{"10":"x","9":"y","a":{"c":2,"d":1},"b":1}]';
    expect(one).toBe(contentDigest("application/json", bytes, Buffer.from(text)));
  });

  test("D-68 no member is lost: __proto__ is refused and never left out", () => {
    const input: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(refusalOf(() => of("order.place", input)).code).toBe("INVALID_ARGUMENT");
  });

  test("tells names, values, the order of lists, and lists from commands apart", () => {
    const texts = [
      commandText("a.b", null),
      commandText("a.b", "null"),
      commandText("a.b", "1"),
      commandText("a.c", "1"),
      commandText("a.b", '"1"'),
      commandText("a.b", "[1,2]"),
      commandText("a.b", "[2,1]"),
      listText([commandText("a.b", "1")]),
      listText([commandText("a.b", "1"), commandText("a.c", "1")]),
      listText([commandText("a.c", "1"), commandText("a.b", "1")]),
    ];
    expect(new Set(texts.map((text) => fingerprint(text, bytes))).size).toBe(texts.length);
    for (const text of texts) expect(canonicalText(JSON.parse(text))).toBe(text);
  });

  test("is another one under another salt", () => {
    const text = commandText("a.b", "{}");
    expect(fingerprint(text, bytes)).not.toBe(fingerprint(text, new Uint8Array(32)));
  });

  test("sees a content by its media type and bytes", () => {
    const note = Buffer.from("ring twice");
    expect(contentStandIn("text/plain", note)).toBe(`{"$content":"${plainHash("text/plain", note)}"}`);
    expect(contentStandIn("text/plain", note)).not.toBe(contentStandIn("text/html", note));
  });
});
