import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkpointOrigin, formatCheckpoint, incarnationOf, parseCheckpoint } from "../../src/journal/checkpoint.js";
import { emptyRoot } from "../../src/journal/merkle.js";
import { signNote, verifyNote } from "../../src/journal/note.js";
import { refusalOf } from "../kernel/refusal.js";
import { keyOf } from "./keys.js";
import { openNote } from "./second-implementation.js";

const root = Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - 7 * at));
const encoded = root.toString("base64");
const text = `example.com/orders\n4\n${encoded}\n`;
const key = keyOf("example.com/orders", 1);
const codeOf = (bad: string | Uint8Array): string => refusalOf(() => parseCheckpoint(bad)).code;

describe("a checkpoint", () => {
  test("is three lines, read back from the text and from the note", () => {
    const checkpoint = { origin: "example.com/orders", size: 4, root };
    expect(formatCheckpoint(checkpoint)).toBe(text);

    const note = signNote(text, [key, keyOf("witness", 2)]);
    for (const form of [text, note, Buffer.from(text), Buffer.from(note)])
      expect(parseCheckpoint(form)).toEqual(checkpoint);
    expect(openNote(note, key.verifier.text)).toEqual(checkpoint);
    expect(verifyNote(note, [key.verifier.text])).toHaveLength(1);
  });

  test("of any size is read as it was written", () => {
    const origin = fc.stringMatching(/^[a-z0-9][a-z0-9./-]{0,127}$/);
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(origin, fc.maxSafeNat(), hash, (name, size, bytes) => {
        const read = parseCheckpoint(formatCheckpoint({ origin: name, size, root: bytes }));

        expect(read).toMatchObject({ origin: name, size });
        expect(Buffer.from(bytes).equals(read.root)).toBe(true);
      }),
    );
  });

  test("of a foreign log may have spaces in its first line; we never write one", () => {
    const foreign = text.replace("example.com/orders", "go.sum database tree");

    expect(parseCheckpoint(foreign).origin).toBe("go.sum database tree");
    const origin = "go.sum database tree";
    expect(refusalOf(() => formatCheckpoint({ origin, size: 4, root })).code).toBe("INVALID_ARGUMENT");
  });

  test.each([
    [{ origin: "" }],
    [{ origin: "a\nb" }],
    [{ origin: "a+b" }],
    [{ origin: "DSSEv1" }],
    [{ size: -1 }],
    [{ size: 1.5 }],
    [{ size: 2 ** 53 }],
    [{ size: Number.NaN }],
    [{ root: root.subarray(1) }],
    [{ root: Buffer.concat([root, root]) }],
  ])("%j is not written", (wrong) => {
    const act = (): string => formatCheckpoint({ origin: "example.com/orders", size: 4, root, ...wrong });
    expect(refusalOf(act).code).toBe("INVALID_ARGUMENT");
  });

  test.each([
    ["a line more", `${text}extension\n`],
    ["an empty line more", `${text}\n`],
    ["line ends of another system", text.replaceAll("\n", "\r\n")],
    ["one such line end", text.replace("4\n", "4\r\n")],
    ["no final newline", text.slice(0, -1)],
    ["a root in url-safe base64", `example.com/orders\n4\n${root.toString("base64url")}=\n`],
    ["a root without padding", text.replace("=", "")],
    ["a root in base64 that is not canonical", text.replace(/.=\n$/, "h=\n")],
    ["a root of 31 bytes", text.replace(encoded, root.subarray(1).toString("base64"))],
    ["a root of 33 bytes", text.replace(encoded, Buffer.concat([root, root.subarray(31)]).toString("base64"))],
    ["a root in hexadecimal", text.replace(encoded, root.toString("hex"))],
    ["the size 007", text.replace("\n4\n", "\n007\n")],
    ["the size 00", text.replace("\n4\n", "\n00\n")],
    ["no size", text.replace("\n4\n", "\n\n")],
    ["a negative size", text.replace("\n4\n", "\n-4\n")],
    ["a size with a sign", text.replace("\n4\n", "\n+4\n")],
    ["a size with a space", text.replace("\n4\n", "\n4 \n")],
    ["the size 1e3", text.replace("\n4\n", "\n1e3\n")],
    ["the size 4.0", text.replace("\n4\n", "\n4.0\n")],
    ["the size 0x4", text.replace("\n4\n", "\n0x4\n")],
    ["a size in other digits", text.replace("\n4\n", "\n٤\n")],
    ["the size 2^53", text.replace("\n4\n", "\n9007199254740992\n")],
    ["the size 2^64", text.replace("\n4\n", "\n18446744073709551616\n")],
    ["no origin", text.replace("example.com/orders", "")],
    ["a tab in its origin", text.replace("orders", "or\tders")],
    ["two lines", text.slice(text.indexOf("\n") + 1)],
    ["nothing", ""],
  ])("T38 with %s is refused, bare and in a note", (_what, bad) => {
    expect(bad).not.toBe(text);
    expect(codeOf(bad)).toBe("NOTE_INVALID");
    expect(codeOf(Buffer.from(bad))).toBe("NOTE_INVALID");
    expect(codeOf(signNote(text, [key]).replace(text, bad))).toBe("NOTE_INVALID");
  });

  test("T38 with a lone surrogate in its origin is refused", () => {
    expect(codeOf(text.replace("orders", "\ud800"))).toBe("NOTE_INVALID");
  });

  test("T38 with the largest size is read", () => {
    expect(parseCheckpoint(text.replace("\n4\n", "\n9007199254740991\n")).size).toBe(Number.MAX_SAFE_INTEGER);
    expect(parseCheckpoint(`a\n0\n${Buffer.from(emptyRoot, "hex").toString("base64")}\n`).size).toBe(0);
  });

  test("T38 with 1,000 signatures is refused", () => {
    const line = signNote(text, [key]).slice(text.length + 1);

    expect(codeOf(`${text}\n${line.repeat(1_000)}`)).toBe("LIMIT_EXCEEDED");
    expect(codeOf(`${text}\n${line}${line}`.replace("— e", "- e"))).toBe("NOTE_INVALID");
  });
});

describe("the first line", () => {
  test("says which incarnation of which journal", () => {
    expect([1, 2, 17].map((incarnation) => checkpointOrigin("example.com/orders", incarnation))).toEqual([
      "example.com/orders",
      "example.com/orders/2",
      "example.com/orders/17",
    ]);
    for (const incarnation of [1, 2, 17, Number.MAX_SAFE_INTEGER])
      expect(incarnationOf(checkpointOrigin("a/2", incarnation), "a/2")).toBe(incarnation);
  });

  test("T38 of another origin is not ours", () => {
    for (const line of [
      "example.com/order",
      "example.com/orders2",
      "example.com/orders/",
      "example.com/orders/0",
      "example.com/orders/1",
      "example.com/orders/02",
      "example.com/orders/1e3",
      "example.com/orders/-2",
      "example.com/orders/2/2",
      "example.com/orders/9007199254740992",
      "example.com/ordersX2",
      "EXAMPLE.com/orders",
    ])
      expect(incarnationOf(line, "example.com/orders")).toBeNull();
    // An origin is no pattern.
    expect(incarnationOf("exampleXcom/orders", "example.com/orders")).toBeNull();
    expect(incarnationOf("a/2", "a")).toBe(2);
    expect(incarnationOf("a/2", "a/2")).toBe(1);
  });
});
