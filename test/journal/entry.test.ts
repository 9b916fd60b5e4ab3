import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalize } from "../../src/kernel/canonical.js";
import { LedgerError } from "../../src/kernel/errors.js";
import {
  checkLabels,
  encodeEntry,
  entryId,
  EntryProblem,
  entryTemplate,
  formatVersion,
  parseEntry,
  zeroId,
} from "../../src/journal/entry.js";
import { refusalOf } from "../kernel/refusal.js";
import { drafts, encode, fieldsOf, histories, places } from "./histories.js";

const zeros = "0".repeat(64);
const place = { seq: 7, prev: "ab".repeat(32), txFirst: 6, txCount: 3, rev: 2, at: 1_767_225_600_000 };

/** Every field there is, as a plain object: mutations start from it. */
const full = {
  v: 1,
  seq: 7,
  prev: "ab".repeat(32),
  tx: [6, 3],
  stream: "run/r17",
  rev: 2,
  type: "run.started",
  tv: 1,
  at: 1_767_225_600_000,
  actor: "alice",
  command: "c-1",
  cause: "cd".repeat(32),
  corr: "order 9",
  fence: ["run/r17", 1, 4],
  meta: { tenant: "t1" },
  data: { attempt: 1 },
};
type Fields = Record<string, unknown>;

function problemOf(act: () => unknown): EntryProblem {
  try {
    act();
  } catch (problem) {
    if (problem instanceof EntryProblem) return problem;
    throw problem;
  }
  throw new Error("it must be refused");
}

function problemWith(change: Fields): EntryProblem {
  return problemOf(() => parseEntry(canonicalize({ ...full, ...change })));
}

describe("the text of an entry", () => {
  test("with every field there is, member by member", () => {
    const template = entryTemplate("run/r17", "run.started", 1, {
      actor: "alice",
      command: "c-1",
      cause: "cd".repeat(32),
      corr: "order 9",
      fence: ["run/r17", 1, 4],
      meta: { tenant: "t1" },
    });

    expect(encodeEntry(template, '{"attempt":1}', place)).toBe(
      `{"actor":"alice","at":1767225600000,"cause":"${"cd".repeat(32)}","command":"c-1","corr":"order 9","data":{"attempt":1},` +
        `"fence":["run/r17",1,4],"meta":{"tenant":"t1"},"prev":"${"ab".repeat(32)}","rev":2,"seq":7,"stream":"run/r17","tv":1,` +
        `"tx":[6,3],"type":"run.started","v":1}`,
    );
  });

  test("with no optional field", () => {
    expect(
      encodeEntry(entryTemplate("a/1", "a.b", 2, {}), "{}", {
        seq: 0,
        prev: zeroId,
        txFirst: 0,
        txCount: 1,
        rev: 1,
        at: 0,
      }),
    ).toBe(`{"at":0,"data":{},"prev":"${zeros}","rev":1,"seq":0,"stream":"a/1","tv":2,"tx":[0,1],"type":"a.b","v":1}`);
    expect(zeroId).toBe(zeros);
    expect(formatVersion).toBe(1);
  });

  test("is the canonical text of its fields, whatever they are", () => {
    fc.assert(
      fc.property(drafts(), places(), (draft, where) => {
        expect(encode(draft, where)).toBe(canonicalize(fieldsOf(draft, where)));
      }),
    );
  });

  test("is parsed into the fields it was made of, from text and from bytes", () => {
    fc.assert(
      fc.property(drafts(), places(), (draft, where) => {
        const text = encode(draft, where);

        expect(parseEntry(text)).toEqual(fieldsOf(draft, where));
        expect(parseEntry(Buffer.from(text))).toEqual(fieldsOf(draft, where));
      }),
    );
  });

  test("G-16 any change of a byte is refused, or is another entry with another id", () => {
    fc.assert(
      fc.property(drafts(), places(), fc.nat(), fc.integer({ min: 1, max: 255 }), (draft, where, at, flip) => {
        const bytes = Buffer.from(encode(draft, where));
        const id = entryId(bytes);
        bytes[at % bytes.length]! ^= flip;

        expect(entryId(bytes)).not.toBe(id);
        try {
          expect(Buffer.from(canonicalize(parseEntry(bytes)))).toEqual(bytes);
        } catch (problem) {
          if (!(problem instanceof EntryProblem)) throw problem;
        }
      }),
    );
  });

  test("A16 positions, revisions and generations up to 2^53−1 are exact", () => {
    const max = 2 ** 53 - 1;
    const template = entryTemplate("a/1", "a.b", max, { fence: ["k", max, max] });
    const text = encodeEntry(template, "{}", { seq: max, prev: zeroId, txFirst: max, txCount: 1, rev: max, at: 0 });

    expect(parseEntry(text)).toMatchObject({ seq: max, rev: max, tv: max, fence: ["k", max, max], tx: [max, 1] });
    for (const field of ["seq", "rev", "tv"]) {
      for (const beyond of ["9007199254740992", "9007199254740993", "1e+21"]) {
        const changed = text.replace(`"${field}":9007199254740991`, `"${field}":${beyond}`);
        expect(changed).not.toBe(text);
        expect(problemOf(() => parseEntry(changed)).kind).toMatch(/canonical|field/);
      }
    }
  });

  test("the text is independent of what follows it: a prefix or a longer text is no entry", () => {
    const text = canonicalize(full);
    for (let length = 0; length < text.length; length++)
      expect(problemOf(() => parseEntry(text.slice(0, length))).kind).toBe("canonical");
    expect(problemOf(() => parseEntry(`${text}\n`)).kind).toBe("canonical");
    expect(problemOf(() => parseEntry(text + text)).kind).toBe("canonical");
  });
});

describe("G-16 every field is checked when it is read, and the problem names it", () => {
  const wrong: Record<string, readonly unknown[]> = {
    seq: [-1, 1.5, "7", null, 2 ** 60 * 2 ** 20, 5, 9],
    prev: ["", "AB".repeat(32), "ab".repeat(31), `${"ab".repeat(32)}a`, 0, null, "g".repeat(64)],
    tx: [
      [],
      [6],
      [6, 3, 1],
      "6,3",
      { 0: 6, 1: 3 },
      [7.5, 1],
      [-1, 9],
      [8, 1],
      [6, 1],
      [6, 0],
      [6, -1],
      ["6", 3],
      [0, 10_001],
      null,
    ],
    stream: ["", "run", "run/", "/r", "Run/r", "run/\u0001", `run/${"n".repeat(513)}`, 1, null],
    rev: [0, -1, 1.5, "2", null],
    type: ["", "run", "run.", "Run.started", "run.Started", "run.a.b", `run.${"a".repeat(125)}`, 1, null],
    tv: [0, -1, 1.5, "1", null],
    at: [-1, 0.5, 8.64e15 + 1, "0", null, "2026-01-01T00:00:00Z"],
    actor: ["", "a\n", "a".repeat(129), 1, null, {}],
    command: ["", "c\u0000", "c".repeat(513), 1, null],
    cause: ["", "CD".repeat(32), "cd", 7, null],
    corr: ["", "\u007f", "c".repeat(513), 1, null],
    fence: [
      [],
      ["k", 1],
      ["k", 1, 1, 1],
      ["", 1, 1],
      [1, 1, 1],
      ["k", 0, 1],
      ["k", 1, 0],
      ["k", 1.5, 1],
      ["k", 1, "1"],
      "k",
      null,
      {},
    ],
    meta: [{}, [], "a", null, { a: 1 }, { a: null }, { "": "x" }, { "a\n": "x" }, { a: "x".repeat(2_048) }],
    data: [[], "x", 1, null, true],
  };

  test.each(Object.keys(wrong))("%s", (name) => {
    const outsideItsTx = new Set<unknown>(name === "seq" ? [5, 9] : []); // the problem of the tx, which names both
    const found = wrong[name]?.map((value) => {
      const { kind, path } = problemWith({ [name]: value });
      return { value, kind, field: /^[a-z]+/.exec(path)?.[0] };
    });

    expect(found).toEqual(
      wrong[name]?.map((value) => ({ value, kind: "field", field: outsideItsTx.has(value) ? "tx" : name })),
    );
  });

  test.each(["seq", "prev", "tx", "stream", "rev", "type", "tv", "at", "data"])("%s must be there", (name) => {
    const problem = problemWith({ [name]: undefined });
    expect(problem.kind).toBe("field");
    expect(problem.path).toBe(name);
  });

  test.each(["actor", "command", "cause", "corr", "fence", "meta"])("%s may be absent", (name) => {
    expect(parseEntry(canonicalize({ ...full, [name]: undefined }))).not.toHaveProperty(name);
  });

  test.each(["extra", "V", "id", "hash", "", "toJSON", "constructor", "$content", "version"])(
    "a field %j makes it no entry",
    (name) => {
      const problem = problemWith({ [name]: 1 });
      expect(problem.kind).toBe("field");
      expect(problem.path).toBe(name);
    },
  );

  test.each([0, 2, "1", 1.5, null, undefined, true, [1]])("T33 format version %j is another format", (v) => {
    const problem = problemWith({ v });
    expect(problem.kind).toBe("version");
    expect(problem.path).toBe("v");
    expect(problem.message).toMatch(/^entry format must be 1, found /);
  });

  test("T33 the version is judged first: an entry of a later format is never called damaged", () => {
    expect(problemWith({ v: 2, data: undefined, novel: { deep: 1 }, seq: "x" }).kind).toBe("version");
  });

  test("T29 a time that is not whole ms is refused", () => {
    for (const at of [1_767_225_600_000.5, "2016-12-31T23:59:60Z", 1e300])
      expect(problemWith({ at })).toMatchObject({ path: "at" });
    expect(parseEntry(canonicalize({ ...full, at: 8.64e15 })).at).toBe(8.64e15);
  });

  test("B08 a time with digits below the ms is refused in bytes too", () => {
    expect(
      problemOf(() => parseEntry(canonicalize(full).replace('"at":1767225600000', '"at":1767225600000.25'))),
    ).toMatchObject({ kind: "field", path: "at" });
  });

  test("T30 revisions of −1, 0 and 2^53 are refused", () => {
    const text = canonicalize(full);
    for (const rev of ["-1", "0"])
      expect(problemOf(() => parseEntry(text.replace('"rev":2', `"rev":${rev}`)))).toMatchObject({
        kind: "field",
        path: "rev",
      });
    expect(problemOf(() => parseEntry(text.replace('"rev":2', '"rev":9007199254740992'))).kind).toBe("canonical");
  });

  test("a problem carries its cause and a sentence", () => {
    const problem = problemWith({ stream: "run" });

    expect(problem.message).toBe('stream must be a stream "<kind>/<name>" with a slash, found "run"');
    expect(problem.cause).toBeInstanceOf(LedgerError);
  });
});

describe("labels on the way in", () => {
  test("hostile labels are refused without being called into", () => {
    const trap = new Proxy(
      {},
      {
        get: () => expect.fail("a trap ran"),
        ownKeys: () => expect.fail("a trap ran"),
        getPrototypeOf: () => expect.fail("a trap ran"),
      },
    );
    const getter = Object.defineProperty({}, "a", { get: () => expect.fail("a getter ran"), enumerable: true });

    for (const meta of [
      trap,
      getter,
      { a: trap },
      { toJSON: () => ({}) },
      new Map([["a", "b"]]),
      JSON.parse('{"__proto__":"x"}'),
    ]) {
      expect(problemOf(() => checkLabels({ meta })).path).toMatch(/^meta/);
    }
  });

  test("what they accept can be written and read back", () => {
    fc.assert(
      fc.property(drafts(), places(), (draft, where) => {
        checkLabels({ ...draft.labels });

        const { stream, type, tv, labels } = draft;
        expect(parseEntry(encodeEntry(entryTemplate(stream, type, tv, labels), "{}", where))).toBeDefined();
      }),
    );
  });
});

describe("ids", () => {
  const text = `{"at":0,"data":{},"prev":"${zeros}","rev":1,"seq":0,"stream":"a/1","tv":1,"tx":[0,1],"type":"a.b","v":1}`;

  test("an id is SHA-256 over a zero byte and the bytes", () => {
    const expected = createHash("sha256")
      .update(Buffer.concat([Uint8Array.of(0), Buffer.from(text)]))
      .digest("hex");

    expect(entryId(text)).toBe(expected);
    expect(entryId(Buffer.from(text))).toBe(expected);
    expect(entryId(text)).toBe("03a371b2d8e960a34c9a7332af81bf2377d6a8ffa5015ac41259f2cc3cf2ee6b");
  });

  test("the id of the empty entry is the RFC 6962 hash of the empty leaf", () => {
    expect(entryId("")).toBe("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    expect(entryId(Uint8Array.of())).toBe(entryId(""));
  });

  test("ids of text and of its bytes are the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (any) => {
        expect(entryId(any)).toBe(entryId(Buffer.from(any)));
      }),
    );
  });

  test("what is neither text nor bytes is refused", () => {
    for (const value of [
      undefined,
      null,
      5,
      {},
      [1],
      new ArrayBuffer(2),
      new Uint16Array(2),
      new Proxy(new Uint8Array(1), {}),
    ]) {
      expect(refusalOf(() => entryId(value as string)).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("a whole history is chained by them", () => {
    fc.assert(
      fc.property(histories(), (entries) => {
        let prev = zeros;
        entries.forEach((entry, seq) => {
          const fields = parseEntry(entry);
          expect([fields.seq, fields.prev]).toEqual([seq, prev]);
          prev = createHash("sha256").update("\0").update(entry).digest("hex");
        });
      }),
    );
  });
});

describe("T35 no bytes play two roles", () => {
  const left = createHash("sha256").update("left").digest();
  const right = createHash("sha256").update("right").digest();

  test("T35 65 bytes that start with 01 and go on with two hashes are no entry, and their id is no inner node", () => {
    const node = Buffer.concat([Uint8Array.of(1), left, right]);
    expect(node).toHaveLength(65);

    expect(problemOf(() => parseEntry(node)).kind).toBe("canonical");
    expect(entryId(node)).not.toBe(createHash("sha256").update(node).digest("hex"));
  });

  test("T35 an entry that quotes two hashes is hashed as an entry", () => {
    const text = canonicalize({ ...full, data: { left: left.toString("hex"), right: right.toString("hex") } });

    expect(entryId(text)).not.toBe(
      createHash("sha256")
        .update(Buffer.concat([Uint8Array.of(1), left, right]))
        .digest("hex"),
    );
    expect(Buffer.from(text)[0]).toBe(0x7b);
  });

  test("T35 the text of a checkpoint is no entry", () => {
    const checkpoint = `runledger/9f3c\n3\n${left.toString("base64")}\n`;

    expect(problemOf(() => parseEntry(checkpoint)).kind).toBe("canonical");
  });
});
