import { describe, expect, test } from "vitest";
import {
  areaOf,
  kindOf,
  parseArea,
  parseKey,
  parseLabel,
  parseName,
  parseOrigin,
  parseRunId,
  parseStream,
  parseTaskId,
  parseType,
} from "../../src/kernel/names.js";
import { refusalOf } from "./refusal.js";

const notStrings: readonly unknown[] = [
  undefined,
  null,
  1,
  true,
  {},
  ["a"],
  Symbol("s"),
  1n,
  Object("a"),
  new Proxy({}, {}),
];
const parsers = {
  parseName,
  parseKey,
  parseLabel,
  parseRunId,
  parseTaskId,
  parseArea,
  parseOrigin,
  parseStream,
  parseType,
};

test.each(Object.entries(parsers))("%s refuses what is no string, and says where", (_name, parse) => {
  for (const value of [...notStrings, ""]) {
    const refusal = refusalOf(() => parse(value, "there"));
    expect(refusal.code).toBe("INVALID_ARGUMENT");
    expect(String(refusal.details["path"])).toMatch(/^there/);
  }
});

describe("names", () => {
  test.each(["a", "Z", "build", "a.b-c_D9", "x".repeat(128)])("G-01 %s is a name", (name) => {
    expect(parseName(name, "name")).toBe(name);
  });

  test.each(["1a", "_a", ".a", "-a", "a b", "a/b", "aé", "a\n", "a\u0000", "é"])("G-01 %j is no name", (name) => {
    expect(refusalOf(() => parseName(name, "name")).code).toBe("INVALID_ARGUMENT");
  });

  test("D-01 G-01 a name has at most 128 units", () => {
    expect(parseName("n".repeat(128), "name")).toHaveLength(128);

    const refusal = refusalOf(() => parseName("n".repeat(129), "name"));
    expect(refusal.code).toBe("LIMIT_EXCEEDED");
    expect(refusal.message).toBe("name may have at most 128 UTF-16 units, found 129");
  });

  test("D-01 labels and types are capped like names", () => {
    expect(parseLabel("😀".repeat(64), "actor")).toHaveLength(128);
    expect(refusalOf(() => parseLabel("😀".repeat(64) + "x", "actor")).code).toBe("LIMIT_EXCEEDED");

    expect(parseType(`run.${"a".repeat(124)}`, "type")).toHaveLength(128);
    expect(refusalOf(() => parseType(`run.${"a".repeat(125)}`, "type")).code).toBe("LIMIT_EXCEEDED");
  });
});

describe("keys", () => {
  test.each([
    "a",
    "0",
    " ",
    "a/b",
    "../x",
    "é",
    "e\u0301",
    "😀",
    "CON",
    "\u0085",
    "\u2028",
    "k".repeat(512),
    "😀".repeat(256),
  ])("G-02 %j is a key", (key) => {
    expect(parseKey(key, "key")).toBe(key);
  });

  test("G-02 a key has 1 to 512 units", () => {
    expect(refusalOf(() => parseKey("", "key")).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseKey("k".repeat(513), "key")).code).toBe("LIMIT_EXCEEDED");
    expect(refusalOf(() => parseKey("😀".repeat(256) + "k", "key")).details).toMatchObject({ max: 512, found: 513 });
  });

  test("G-03 every control character is refused in a key, wherever it stands", () => {
    for (const code of [...Array(32).keys(), 127]) {
      for (const key of [String.fromCharCode(code), `a${String.fromCharCode(code)}`, `${String.fromCharCode(code)}a`]) {
        expect(refusalOf(() => parseKey(key, "key")).code).toBe("INVALID_ARGUMENT");
      }
    }
    expect(parseKey(" ", "key")).toBe(" ");
    expect(parseKey("\u0080", "key")).toBe("\u0080");
  });

  test("C01 a lone surrogate is refused in a key; a pair and U+FFFD pass", () => {
    expect(refusalOf(() => parseKey("a\ud800", "key")).details).toMatchObject({ expected: "free of lone surrogates" });
    expect(refusalOf(() => parseKey("\udc00", "key")).code).toBe("INVALID_ARGUMENT");
    expect(parseKey("\ud83d\ude00\ufffd", "key")).toBe("😀\ufffd");
  });
});

describe("run ids and task ids", () => {
  test.each(["a", "0", "r1", "A.b_c-d", "9".repeat(200), "run..x"])("G-04 %s is a run id", (id) => {
    expect(parseRunId(id, "run id")).toBe(id);
  });

  test.each(["", "../bad", ".a", "-a", "_a", "a/b", "a b", "é", "a\n", "x".repeat(201)])(
    "G-04 %j is no run id",
    (id) => {
      const refusal = refusalOf(() => parseRunId(id, "run id"));
      expect(refusal.code).toBe("INVALID_ARGUMENT");
      expect(refusal.message).toMatch(/^run id must be a run id: 1 to 200 /);
    },
  );

  test("G-06 a task id is a run id of at most 128", () => {
    expect(parseTaskId("t".repeat(128), "task id")).toHaveLength(128);
    expect(refusalOf(() => parseTaskId("t".repeat(129), "task id")).code).toBe("INVALID_ARGUMENT");
    for (const id of ["", "..", ".a", "a/b", "a\u0000"])
      expect(refusalOf(() => parseTaskId(id, "task id")).code).toBe("INVALID_ARGUMENT");
  });
});

describe("streams, types, areas, origins", () => {
  test("a stream is a kind, a slash and a key; the key may hold slashes", () => {
    expect(parseStream("run/r17", "stream")).toBe("run/r17");
    expect(kindOf(parseStream("run/a/b", "stream"))).toBe("run");
    expect(parseStream(`${"k".repeat(32)}/${"n".repeat(512)}`, "stream")).toHaveLength(545);
  });

  test.each(["run", "run/", "/r", "Run/r", "1run/r", "ru_n/r", `${"k".repeat(33)}/r`, "run/\u0000", "run/a\ud800"])(
    "%j is no stream",
    (stream) => {
      expect(refusalOf(() => parseStream(stream, "stream")).code).toBe("INVALID_ARGUMENT");
    },
  );

  test("a stream's name is capped like a key", () => {
    expect(refusalOf(() => parseStream(`run/${"n".repeat(513)}`, "stream")).code).toBe("LIMIT_EXCEEDED");
  });

  test("C14 composed and decomposed names are two streams, written as they were given", () => {
    const composed = parseStream("note/caf\u00e9", "stream");
    const decomposed = parseStream("note/cafe\u0301", "stream");

    expect(composed).not.toBe(decomposed);
    expect(Array.from(composed).length).toBe(9);
    expect(Array.from(decomposed).length).toBe(10);
  });

  test("a type is an area, a dot and a word in the past tense", () => {
    expect(areaOf(parseType("session-capture.eventsAppended", "type"))).toBe("session-capture");
    for (const type of [
      "run",
      "run.",
      ".done",
      "run.Done",
      "run.is-done",
      "run.is.done",
      "Run.done",
      "run done",
      "run.done\n",
    ]) {
      expect(refusalOf(() => parseType(type, "type")).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("an area is a lower-case letter and at most 31 letters, digits or -", () => {
    for (const area of ["a", "run", "session-capture", "aB9-", "a".repeat(32)])
      expect(parseArea(area, "area")).toBe(area);
    for (const area of ["A", "1", "-", "a_b", "a.b", "é", "a".repeat(33)])
      expect(refusalOf(() => parseArea(area, "area")).code).toBe("INVALID_ARGUMENT");
  });

  test("an origin is 1 to 128 lower-case letters, digits, dots, slashes or -", () => {
    for (const origin of ["a", "9", "runledger/9f3c", "example.com/log-1", "o".repeat(128)])
      expect(parseOrigin(origin, "origin")).toBe(origin);
    for (const origin of ["/a", ".a", "-a", "A", "a b", "a+b", "a\n", "DSSEv1 a", "o".repeat(129)]) {
      expect(refusalOf(() => parseOrigin(origin, "origin")).code).toBe("INVALID_ARGUMENT");
    }
  });
});
