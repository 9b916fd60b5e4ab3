import { createHash } from "node:crypto";
import { types } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalize, parseCanonical } from "../../src/kernel/canonical.js";
import {
  Content,
  content,
  contentDigest,
  contentReferences,
  ContentValue,
  isContentReference,
  isContentValue,
  parseMedia,
  plainHash,
  toContent,
} from "../../src/journal/content.js";
import type { ContentReference } from "../../src/journal/content.js";
import { jsonValues } from "../../src/testing/arbitraries.js";
import { everyRefusedValue } from "../../src/testing/arbitraries-refused.js";
import { refusalOf } from "../kernel/refusal.js";

const salt = Uint8Array.from({ length: 32 }, (_, index) => index);
const digest = "ab".repeat(32);

function bytesOf(value: ContentValue): Buffer {
  return Buffer.from(ContentValue.bytesOf(value) ?? expect.fail("no content"));
}

describe("digests", () => {
  test("a digest is SHA-256 over the frame, the media type, the salt in base64 and the bytes", () => {
    const framed = Buffer.concat([
      Buffer.from("runledger content/v1\ntext/plain;charset=utf-8\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"),
      Buffer.from("hej"),
    ]);

    const found = contentDigest("text/plain;charset=utf-8", salt, Buffer.from("hej"));

    expect(found).toBe(createHash("sha256").update(framed).digest("hex"));
    expect(found).toBe("07c58ef202b582d2a765993f0155f3e2d6f67a3dffa3750a20c7a45552680b56");
  });

  test("the plain hash is SHA-256 over media type, newline and bytes", () => {
    expect(plainHash("text/plain", Buffer.from("hej"))).toBe(
      createHash("sha256").update("text/plain\nhej").digest("hex"),
    );
  });

  test("G-17 equal framed bytes give equal digests, and each part counts", () => {
    const other = Uint8Array.from(salt);
    other[31] = 0;
    const digests = [
      contentDigest("text/plain", salt, Buffer.from("hej")),
      contentDigest("text/plai", salt, Buffer.from("nhej")),
      contentDigest("text/plain", other, Buffer.from("hej")),
      contentDigest("text/plain", salt, Buffer.from("hej ")),
      contentDigest("text/plain", salt, Buffer.from("")),
    ];

    expect(new Set(digests).size).toBe(digests.length);
    expect(contentDigest("text/plain", Uint8Array.from(salt), Buffer.from("hej"))).toBe(digests[0]);
  });

  test("wrong arguments are refused by name", () => {
    expect(refusalOf(() => contentDigest("a/b", salt.subarray(1), salt)).message).toMatch(/^salt must be 32 bytes/);
    expect(refusalOf(() => contentDigest("a/b", "x".repeat(32) as unknown as Uint8Array, salt)).code).toBe(
      "INVALID_ARGUMENT",
    );
    expect(refusalOf(() => contentDigest("a/b", salt, "text" as unknown as Uint8Array)).message).toMatch(
      /^bytes must be/,
    );
    expect(refusalOf(() => contentDigest(1 as unknown as string, salt, salt)).message).toMatch(/^media type must be/);
  });
});

describe("making content", () => {
  test("a string is UTF-8 text, bytes are bytes, anything else is canonical JSON", () => {
    const cases: [unknown, string | undefined, string, string][] = [
      ["hej å", undefined, "text/plain;charset=utf-8", "hej å"],
      ["", undefined, "text/plain;charset=utf-8", ""],
      ["# hi", "text/markdown", "text/markdown", "# hi"],
      ["hej", "application/json", "application/json", '"hej"'],
      [Buffer.from("raw"), undefined, "application/octet-stream", "raw"],
      [Buffer.from("\u0089PNG"), "image/png", "image/png", "\u0089PNG"],
      [{ b: 1, a: [-0, undefined].slice(0, 1), c: undefined }, undefined, "application/json", '{"a":[0],"b":1}'],
      [null, undefined, "application/json", "null"],
      [1, "application/json", "application/json", "1"],
      [Buffer.from('{"a":1}'), "application/json", "application/json", '{"a":1}'],
    ];
    for (const [value, media, expectedMedia, expectedText] of cases) {
      const made = content(value, media);
      expect(made.media).toBe(expectedMedia);
      expect(bytesOf(made).toString()).toBe(expectedText);
      expect(made.size).toBe(Buffer.byteLength(expectedText));
    }
  });

  test("JSON content is canonical even when bytes are given, and survives the round trip", () => {
    expect(refusalOf(() => content(Buffer.from('{"b":1, "a":2}'), "application/json")).message).toMatch(
      /^content must be canonical JSON/,
    );
    expect(refusalOf(() => content(Uint8Array.of(0xff), "application/json")).code).toBe("INVALID_ARGUMENT");
    expect(bytesOf(content(Buffer.from('{"b":1, "a":2}'), "application/json;exact")).toString()).toBe('{"b":1, "a":2}');

    fc.assert(
      fc.property(jsonValues(), (value) => {
        const made = content(value, "application/json");
        expect(new Content(made.media, bytesOf(made)).json()).toEqual(value);
      }),
    );
  });

  test("what JSON cannot carry is refused with its path", () => {
    for (const { value, path } of everyRefusedValue()) {
      if (typeof value === "string" || types.isUint8Array(value)) continue; // these are content of another kind
      expect(refusalOf(() => toContent(value, "events[0].data.note")).details).toMatchObject({
        path: path.replace("$", "events[0].data.note"),
      });
    }
    expect(refusalOf(() => content("a\ud800")).details).toMatchObject({ expected: "free of lone surrogates" });
    expect(refusalOf(() => content(undefined)).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => content({ a: content("x") })).code).toBe("INVALID_ARGUMENT");
  });

  test("a media type that is not JSON wants a string or bytes", () => {
    expect(refusalOf(() => content({ a: 1 }, "text/plain")).message).toBe(
      "content must be a string or bytes for media type text/plain, found an object",
    );
  });

  test("the caller's bytes may change afterwards; the content does not", () => {
    const mine = Buffer.from("before");
    const made = content(mine);
    mine.write("after!");

    expect(bytesOf(made).toString()).toBe("before");
    expect(Object.isFrozen(made)).toBe(true);
    expect(Object.keys(made)).toEqual(["media", "size"]);
  });

  test("content of content is itself; another media type for it is refused", () => {
    const made = content("x", "text/html");

    expect(content(made)).toBe(made);
    expect(content(made, "text/html")).toBe(made);
    expect(refusalOf(() => content(made, "text/plain")).message).toMatch(
      /^content media type must be absent or text\/html/,
    );
  });

  test("only what was made here is content: no forgery, no Proxy", () => {
    const forged = Object.create(ContentValue.prototype) as object;
    const proxied = new Proxy(content("x"), {
      getPrototypeOf: () => expect.fail("a trap ran"),
      has: () => expect.fail("a trap ran"),
    });

    for (const value of [forged, proxied, { media: "a/b", size: 1 }, null, undefined, "x"])
      expect(isContentValue(value)).toBe(false);
    expect(refusalOf(() => content(forged)).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => content(proxied)).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => content(proxied, "text/plain")).code).toBe("INVALID_ARGUMENT");
  });
});

describe("media types", () => {
  test.each([
    "a/b",
    "text/plain;charset=utf-8",
    "application/vnd.x+json",
    'application/json; a="b"',
    `a/${"b".repeat(125)}`,
    "x-y.z/1_2",
  ])("%s is one", (media) => {
    expect(parseMedia(media, "media")).toBe(media);
  });

  test.each([
    "",
    "a",
    "a/",
    "/b",
    "a/b/c",
    "a b/c",
    "a/b ",
    "a/b\n",
    "a/b;\n",
    "é/b",
    "a/b;é",
    `a/${"b".repeat(126)}`,
    1,
    null,
    undefined,
    {},
  ])("%j is none", (media) => {
    expect(refusalOf(() => parseMedia(media, "media")).code).toBe("INVALID_ARGUMENT");
    if (media !== undefined)
      expect(refusalOf(() => content("x", media as string)).details).toMatchObject({ path: "content media type" });
  });
});

describe("reading it back", () => {
  test("text and JSON are read strictly", () => {
    expect(new Content("text/plain", Buffer.from("å")).text()).toBe("å");
    expect(refusalOf(() => new Content("text/plain", Uint8Array.of(0xff)).text()).code).toBe("INVALID_ARGUMENT");
    expect(new Content("application/json", Buffer.from('{"a":1}')).json()).toEqual({ a: 1 });
    expect(refusalOf(() => new Content("text/plain", Buffer.from("{}")).json()).message).toMatch(
      /^content media type must be application\/json/,
    );
    expect(refusalOf(() => new Content("application/json", Buffer.from('{"a": 1}')).json()).code).toBe(
      "INVALID_ARGUMENT",
    );
  });
});

describe("references", () => {
  const reference: ContentReference = { $content: digest, bytes: 3, n: 1 };

  test("a reference has three members and nothing else", () => {
    expect(isContentReference(reference)).toBe(true);
    expect(isContentReference({ n: 2 ** 53 - 1, bytes: 0, $content: digest })).toBe(true);
    expect(isContentReference({ ...reference, bytes: 64 * 1024 * 1024 })).toBe(true);

    const broken = [
      null,
      [],
      "x",
      {},
      { $content: digest },
      { $content: digest, bytes: 3 },
      { ...reference, more: 1 },
      { ...reference, $content: "ab" },
      { ...reference, $content: digest.toUpperCase() },
      { ...reference, bytes: -1 },
      { ...reference, bytes: 1.5 },
      { ...reference, bytes: 64 * 1024 * 1024 + 1 },
      { ...reference, bytes: "3" },
      { ...reference, n: 0 },
      { ...reference, n: 2 ** 53 },
      { ...reference, n: null },
    ];
    expect(broken.filter(isContentReference)).toEqual([]);
  });

  test("references are found in the order of the canonical text, and what only looks like one is told", () => {
    const at = (n: number): ContentReference => ({ ...reference, n });
    const broken: unknown[] = [];
    const data = {
      z: at(5),
      "10": at(2),
      "9": [at(3), { b: at(4) }],
      "": at(1),
      a: { $content: "no" },
      b: null,
      c: "x",
    };

    const found = contentReferences(data, (value) => broken.push(value));

    expect(found.map((each) => each.n)).toEqual([1, 2, 3, 4, 5]);
    expect(broken).toEqual([{ $content: "no" }]);
    expect(contentReferences(undefined)).toEqual([]);
    expect(contentReferences(at(9))).toEqual([at(9)]);
  });

  test("the order is that of the text, on any value", () => {
    const withReferences = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: "medium" },
        fc.nat(1_000).map((n) => ({ ...reference, n: n + 1 })),
        fc.array(tie("node"), { maxLength: 4 }),
        fc.dictionary(
          fc.string({ unit: "binary", maxLength: 4 }).filter((key) => key !== "__proto__" && key !== "$content"),
          tie("node"),
          { maxKeys: 4 },
        ),
      ),
    }));

    fc.assert(
      fc.property(withReferences.node, (value) => {
        const text = canonicalize(value);
        const inText = [...text.matchAll(/\{"\$content":"[0-9a-f]{64}","bytes":3,"n":(\d+)\}/g)].map((match) =>
          Number(match[1]),
        );

        expect(contentReferences(parseCanonical(text)).map((each) => each.n)).toEqual(inText);
      }),
    );
  });
});

describe("T35 no bytes play two roles", () => {
  const entry = `{"at":0,"data":{},"prev":"${"0".repeat(64)}","rev":1,"seq":0,"stream":"a/1","tv":1,"tx":[0,1],"type":"a.b","v":1}`;
  const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

  test("T35 a content whose bytes are those of an entry has another digest than the entry", () => {
    const bytes = Buffer.from(entry);
    const id = sha256(Buffer.concat([Uint8Array.of(0), bytes]));

    expect(contentDigest("application/json", salt, bytes)).not.toBe(id);
    expect(contentDigest("application/json", salt, Buffer.concat([Uint8Array.of(0), bytes]))).not.toBe(id);
    expect(plainHash("application/json", bytes)).not.toBe(id);
  });

  test("T35 a content whose bytes are those of a tree node, or the text of a checkpoint, has another digest than either", () => {
    const node = Buffer.concat([Uint8Array.of(1), Buffer.alloc(32, 7), Buffer.alloc(32, 9)]);
    const checkpoint = Buffer.from(`testing/roles\n3\n${Buffer.alloc(32, 7).toString("base64")}\n`);

    for (const bytes of [node, checkpoint]) {
      const roles = [sha256(bytes), sha256(Buffer.concat([Uint8Array.of(0), bytes]))];
      expect(roles).not.toContain(contentDigest("application/octet-stream", salt, bytes));
      expect(roles).not.toContain(plainHash("application/octet-stream", bytes));
    }
  });
});
