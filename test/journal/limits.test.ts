import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { canonicalize } from "../../src/kernel/canonical.js";
import * as limits from "../../src/kernel/limits.js";
import { content, Content, contentDigest, isContentReference, parseMedia } from "../../src/journal/content.js";
import { checkLabels, EntryProblem, parseEntry } from "../../src/journal/entry.js";
import { refusalOf } from "../kernel/refusal.js";

const MiB = 1024 * 1024;

function entryWith(change: Record<string, unknown>): string {
  return canonicalize({
    v: 1,
    seq: 0,
    prev: "0".repeat(64),
    tx: [0, 1],
    stream: "a/1",
    rev: 1,
    type: "a.b",
    tv: 1,
    at: 0,
    data: {},
    ...change,
  });
}

function pathOf(text: string): string | undefined {
  try {
    parseEntry(text);
    return undefined;
  } catch (problem) {
    if (problem instanceof EntryProblem) return problem.path;
    throw problem;
  }
}

/** An entry of exactly this many bytes; half of them are of characters that take two. */
function entryOf(bytes: number): string {
  const room = bytes - Buffer.byteLength(entryWith({ data: { x: "" } }));
  return entryWith({ data: { x: "é".repeat(Math.floor(room / 4)) + "x".repeat(room - 2 * Math.floor(room / 4)) } });
}

describe("each limit of the format, at it and one beyond", () => {
  test("an entry has at most 65,535 bytes, counted as bytes", () => {
    expect(Buffer.byteLength(entryOf(65_535))).toBe(65_535);
    expect(pathOf(entryOf(65_535))).toBeUndefined();
    expect(pathOf(entryOf(65_536))).toBe("entry");
    expect(entryOf(65_536).length).toBeLessThan(65_535);
  });

  test("an append has at most 10,000 entries", () => {
    expect(pathOf(entryWith({ seq: 9_999, tx: [0, 10_000] }))).toBeUndefined();
    expect(pathOf(entryWith({ seq: 9_999, tx: [0, 10_001] }))).toBe("tx");
  });

  test("meta has at most 16 members", () => {
    const meta = (members: number): object =>
      Object.fromEntries(Array.from({ length: members }, (_, index) => [`k${index}`, ""]));

    expect(pathOf(entryWith({ meta: meta(16) }))).toBeUndefined();
    expect(pathOf(entryWith({ meta: meta(17) }))).toBe("meta");
    expect(() => checkLabels({ meta: meta(17) })).toThrow("1 to 16 members, found 17");
  });

  test("meta has at most 2 KiB of canonical JSON, counted as bytes", () => {
    const meta = (bytes: number): object => ({ k: "é".repeat((bytes - 8) / 2) });

    expect(Buffer.byteLength(canonicalize(meta(2_048)))).toBe(2_048);
    expect(pathOf(entryWith({ meta: meta(2_048) }))).toBeUndefined();
    expect(pathOf(entryWith({ meta: meta(2_050) }))).toBe("meta");
    expect(pathOf(entryWith({ meta: { k: `${"é".repeat(1_020)}x` } }))).toBe("meta");
  });

  test("an actor and a key of meta have at most 128 units", () => {
    for (const change of [
      (name: string) => ({ actor: name }),
      (name: string) => ({ meta: { [name]: "" } }),
      (name: string) => ({ type: `a.${name.slice(2)}` }),
    ]) {
      expect(pathOf(entryWith(change("n".repeat(128))))).toBeUndefined();
      expect(pathOf(entryWith(change("n".repeat(129))))).toBeDefined();
    }
  });

  test("command, correlation, claim key and stream name have at most 512 units", () => {
    for (const change of [
      (key: string) => ({ command: key }),
      (key: string) => ({ corr: key }),
      (key: string) => ({ fence: [key, 1, 1] }),
      (key: string) => ({ stream: `a/${key}` }),
    ]) {
      expect(pathOf(entryWith(change("k".repeat(512))))).toBeUndefined();
      expect(pathOf(entryWith(change("k".repeat(513))))).toBeDefined();
    }
  });

  test("data nests 128 levels, and so does JSON content", () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });

    expect(pathOf(entryWith({ data: nested(127) }))).toBeUndefined();
    const deepest = entryWith({ data: nested(127) }).replace('{"a":1}', '{"a":[1]}');
    expect(pathOf(deepest)).toBeUndefined();
    expect(pathOf(deepest.replace("[1]", "[[1]]"))).toMatch(/^entry\.data/);

    expect(content(nested(128)).media).toBe("application/json");
    expect(refusalOf(() => content(nested(129))).code).toBe("LIMIT_EXCEEDED");
    expect(
      refusalOf(() => new Content("application/json", Buffer.from(`${"[".repeat(129)}${"]".repeat(129)}`)).json()).code,
    ).toBe("LIMIT_EXCEEDED");
  });

  test("a content has at most 64 MiB, counted as bytes: as bytes, as text, as JSON", () => {
    expect(content(new Uint8Array(64 * MiB)).size).toBe(64 * MiB);
    expect(refusalOf(() => content(new Uint8Array(64 * MiB + 1))).details).toMatchObject({
      limit: "bytes",
      max: 64 * MiB,
      found: 64 * MiB + 1,
    });

    expect(content("é".repeat(32 * MiB)).size).toBe(64 * MiB);
    expect(refusalOf(() => content("é".repeat(32 * MiB) + "x")).code).toBe("LIMIT_EXCEEDED");

    expect(content("é".repeat(32 * MiB - 1), "application/json").size).toBe(64 * MiB);
    expect(refusalOf(() => content("é".repeat(32 * MiB - 1) + "x", "application/json")).code).toBe("LIMIT_EXCEEDED");

    expect(isContentReference({ $content: "ab".repeat(32), bytes: 64 * MiB, n: 1 })).toBe(true);
    expect(isContentReference({ $content: "ab".repeat(32), bytes: 64 * MiB + 1, n: 1 })).toBe(false);
  });

  test("a media type has at most 127 units", () => {
    expect(parseMedia(`a/${"b".repeat(125)}`, "media")).toHaveLength(127);
    expect(refusalOf(() => parseMedia(`a/${"b".repeat(126)}`, "media")).code).toBe("INVALID_ARGUMENT");
  });

  test("a salt has 32 bytes", () => {
    expect(contentDigest("a/b", new Uint8Array(32), new Uint8Array(0))).toHaveLength(64);
    for (const bytes of [0, 31, 33])
      expect(refusalOf(() => contentDigest("a/b", new Uint8Array(bytes), new Uint8Array(0))).code).toBe(
        "INVALID_ARGUMENT",
      );
  });

  test("a time is at most what a Date can show", () => {
    expect(pathOf(entryWith({ at: 8.64e15 }))).toBeUndefined();
    expect(pathOf(entryWith({ at: 8.64e15 + 1 }))).toBe("at");
    expect(new Date(8.64e15).toISOString()).toBe("+275760-09-13T00:00:00.000Z");
  });
});

test("the limits are what FORMAT.md says", () => {
  const format = readFileSync(new URL("../../src/FORMAT.md", import.meta.url), "utf8");
  const stated = new Map(
    [...format.matchAll(/^\| ([^|]+) \| ([0-9,]+) \| `([A-Za-z]+)` \|$/gm)].map((row) => [
      row[3],
      Number(row[2]?.replaceAll(",", "")),
    ]),
  );

  expect(Object.fromEntries(stated)).toEqual({
    entryBytesMax: limits.entryBytesMax,
    entriesPerTxMax: limits.entriesPerTxMax,
    commandIdUnitsMax: limits.commandIdUnitsMax,
    resultBytesMax: limits.resultBytesMax,
    refusalMessageUnitsMax: limits.refusalMessageUnitsMax,
    nameUnitsMax: limits.nameUnitsMax,
    keyUnitsMax: limits.keyUnitsMax,
    depthMax: limits.depthMax,
    metaKeysMax: limits.metaKeysMax,
    metaBytesMax: limits.metaBytesMax,
    timeMsMax: limits.timeMsMax,
    contentBytesMax: limits.contentBytesMax,
    mediaTypeUnitsMax: limits.mediaTypeUnitsMax,
    saltBytes: limits.saltBytes,
    dedupeBytesMin: limits.dedupeBytesMin,
    noteBytesMax: limits.noteBytesMax,
    noteNameUnitsMax: limits.noteNameUnitsMax,
    noteSignaturesMax: limits.noteSignaturesMax,
    proofHashesMax: limits.proofHashesMax,
  });
});
