/** Redaction: a secret that the host's hook takes out is nowhere: not in the file, not in its log, not in an error. */
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { content, defineEvents, openLedger, redactStrings } from "../../src/index.js";
import type { ContentReference, Ledger, LedgerOptions, NewEvent, RedactionPlace } from "../../src/index.js";
import { eventData } from "../../src/testing/arbitraries.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { describeStores, ledgerPath, open } from "./fixture.js";

const token = "sk-live-51N0tAReallyAT0ken";
const hideTokens = redactStrings((text) => text.replaceAll(/sk-live-\w+/g, "[token]"));
const long = process.env["RUNLEDGER_LONG"] !== undefined;

/** All that a host could log of an error. */
function allOf(error: unknown): string {
  return inspect(error, { depth: Infinity, showHidden: true, maxStringLength: Infinity, maxArrayLength: Infinity });
}

async function refusal(promise: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  const error = await promise.then(
    () => "accepted",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

function onDisk(path: string): string {
  return [path, `${path}-wal`].map((each) => readFileSync(each, "latin1")).join("");
}

const notes = defineEvents("note", { open: true }, { "note.written": { content: ["/text", "/raw"] } });

const withSecrets: readonly NewEvent[] = [
  {
    type: "call.failed",
    data: {
      request: { headers: [{ authorization: `Bearer ${token}` }], [`x-${token}`]: true },
      error: content(new Error(`401 for ${token}`).message),
      stack: content(`Error: 401\n  at call(${token})`, "text/x-stack"),
      payload: content({ list: [{ key: token }] }),
      own: content(`{"a": "${token}"}`, "application/json;charset=utf-8"),
      upload: content(Buffer.from(`file ${token}`), "text/plain"),
    },
  },
];
const labels = { actor: `agent ${token}`, correlation: `order ${token}`, meta: { tenant: token } };

describe("J11 a token in payloads and error texts", () => {
  test("J11 is taken out before anything is hashed, and is nowhere in the file and its log", async () => {
    const path = ledgerPath();
    const ledger = await open(path, { redact: hideTokens, events: [notes] });

    await ledger.append("call/1", withSecrets, labels);
    await ledger.append("note/1", [{ type: "note.written", data: { text: `call ${token}` } }]);

    expect(onDisk(path)).not.toContain("sk-live");
    expect(onDisk(path)).toContain("Bearer [token]");
    expect(await ledger.verify()).toMatchObject({ verdict: "OK", findings: [] });
    const [event] = await ledger.readStream("call/1").toArray();
    expect(event).toMatchObject({ actor: "agent [token]", correlation: "order [token]", meta: { tenant: "[token]" } });
    const data = event!.data as unknown as Record<string, ContentReference>;
    expect(data["request"]).toEqual({ headers: [{ authorization: "Bearer [token]" }], "x-[token]": true });
    const textOf = async (name: string): Promise<string> => (await ledger.content(data[name]!)).text();
    expect(await textOf("error")).toBe("401 for [token]");
    expect(await textOf("stack")).toBe("Error: 401\n  at call([token])");
    expect(await textOf("payload")).toBe('{"list":[{"key":"[token]"}]}');
    expect(await textOf("own")).toBe('{"a": "[token]"}');
    expect(await textOf("upload")).toBe("file [token]");
    expect((await ledger.content(data["stack"]!)).media).toBe("text/x-stack");
    await ledger.close();
    expect(readFileSync(path, "latin1")).not.toContain("sk-live");
  });

  const refused: readonly (readonly [string, (ledger: Ledger) => Promise<unknown>])[] = [
    ["data that is text", (ledger) => ledger.append("a/1", [{ type: "a.b", data: token as never }])],
    ["a lone surrogate", (ledger) => ledger.append("a/1", [{ type: "a.b", data: { a: `${token}\ud800` } }])],
    ["an actor that is too long", (ledger) => ledger.append("a/1", [{ type: "a.b" }], { actor: token.repeat(9) })],
    ["an actor with a line feed", (ledger) => ledger.append("a/1", [{ type: "a.b" }], { actor: `${token}\n` })],
    ["a correlation with a null", (ledger) => ledger.append("a/1", [{ type: "a.b" }], { correlation: `${token}\0` })],
    ["a meta that is text", (ledger) => ledger.append("a/1", [{ type: "a.b" }], { meta: token as never })],
    [
      "a meta with an odd name",
      (ledger) => ledger.append("a/1", [{ type: "a.b" }], { meta: { [`${token}\n`]: token } }),
    ],
    ["a class instance", (ledger) => ledger.append("a/1", [{ type: "a.b", data: { [token]: new Date(0) } }])],
    ["a revision", (ledger) => ledger.append("a/1", [{ type: "a.b", data: { token } }], { expected: 7 })],
    [
      "a reference to nothing",
      (ledger) =>
        ledger.append("a/1", [{ type: "a.b", data: { [token]: { $content: "0".repeat(64), bytes: 1, n: 9 } } }]),
    ],
    ["what a definition refuses", (ledger) => ledger.append("check/1", [{ type: "check.done", data: { token } }])],
    ["more than an entry holds", (ledger) => ledger.append("a/1", [{ type: "a.b", data: { a: token.repeat(9_000) } }])],
  ];

  test.each(refused)("J11 is in no part of an error about %s", async (_, act) => {
    const checks = defineEvents(
      "check",
      { open: true },
      {
        "check.done": {
          parse: (data) => {
            throw new Error(`cannot take ${JSON.stringify(data)}`);
          },
        },
      },
    );
    const heard: unknown[] = [];
    // Long enough to be refused where length is what is wrong.
    const redact = redactStrings((text) => text.replaceAll(/sk-live-\w{17}/g, "[a token was here, it is hidden now]"));
    const ledger = await open("memory:", { redact, events: [checks], onEvent: (event) => heard.push(event) });

    const error = await refusal(act(ledger));

    expect(allOf(error)).not.toContain("sk-live");
    expect(allOf(heard)).not.toContain("sk-live");
    expect((await ledger.status()).size).toBe(1);
  });

  test("J11 is not in an error of the hook that meets it, and the append is refused", async () => {
    const hooks: readonly ((value: unknown) => unknown)[] = [
      (value) => {
        throw new Error(`cannot redact ${JSON.stringify(value)}`);
      },
      (value) => Promise.reject(new Error(`cannot redact ${JSON.stringify(value)}`)),
      (value) => Promise.resolve(value),
      () => undefined,
    ];
    for (const redact of hooks) {
      const ledger = await open("memory:", { redact });
      const error = await refusal(ledger.append("a/1", [{ type: "a.b", data: { token } }]));
      expect(error.code).toBe("REDACTION_FAILED");
      expect(error.message).toMatch(/^options\.redact, asked for events\[0\]\.data, must /);
      expect(allOf(error)).not.toContain("sk-live");
      expect((await ledger.status()).size).toBe(1);
    }
  });

  test("J11 is quoted by no refusal of content(), which no hook has seen", () => {
    for (const make of [
      () => content(`${token}\ud800`),
      () => content({ a: `${token}\ud800` }),
      () => content(Buffer.from(`{"a":${token}}`), "application/json"),
    ]) {
      let error: unknown;
      try {
        make();
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(allOf(error)).not.toContain("sk-live");
    }
  });
});

describeStores("a redaction hook", (openOne) => {
  test("is asked for all that a caller gave, in order, and told where it stands", async () => {
    const asked: (readonly [unknown, RedactionPlace])[] = [];
    const ledger = await openOne({
      events: [notes],
      redact: (value, where) => {
        asked.push([value, where]);
        return value;
      },
    });
    const binary = content(Uint8Array.of(0xff, 0), "image/png");
    const data = { text: "moved", list: [{ "odd name": content("é", "text/html") }], json: content([1]), binary };
    await ledger.append("note/1", [{ type: "note.written", data }], { actor: "ann", meta: { a: "b" } });
    await ledger.append("note/1", [{ type: "note.written" }], { correlation: "c" });

    const place = { stream: "note/1", type: "note.written" };
    const at = "events[0].data";
    expect(asked).toEqual([
      ["ann", { kind: "actor", path: "options.actor" }],
      [{ a: "b" }, { kind: "meta", path: "options.meta" }],
      [data, { kind: "data", path: at, ...place }],
      ["é", { kind: "content", path: `${at}.list[0]["odd name"]`, ...place, media: "text/html" }],
      [[1], { kind: "content", path: `${at}.json`, ...place, media: "application/json" }],
      [Uint8Array.of(0xff, 0), { kind: "content", path: `${at}.binary`, ...place, media: "image/png" }],
      ["c", { kind: "correlation", path: "options.correlation" }],
    ]);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("may give another content for one, of another media type too, and leave a label out", async () => {
    const ledger = await openOne({
      redact: (value, { kind }) =>
        kind === "content" ? content("gone", "text/x-hidden") : kind === "data" ? value : undefined,
    });

    await ledger.append("a/1", [{ type: "a.b", data: { image: content(Uint8Array.of(1)) } }], labels);

    const [event] = await ledger.readStream("a/1").toArray();
    expect([event!.actor, event!.correlation, event!.meta]).toEqual([undefined, undefined, undefined]);
    const stored = await ledger.content((event!.data as unknown as { image: ContentReference }).image);
    expect([stored.media, stored.text()]).toEqual(["text/x-hidden", "gone"]);
  });

  test("decides what is equal: two secrets that are redacted to the same are one content", async () => {
    const ledger = await openOne({ redact: hideTokens });
    const text = (secret: string): string => `${secret} ${"x".repeat(1_100)}`;

    await ledger.append("a/1", [{ type: "a.b", data: { body: content(text("sk-live-1")) } }]);
    await ledger.append("a/1", [{ type: "a.b", data: { body: content(text("sk-live-2")) } }]);
    await ledger.append("a/1", [{ type: "a.b", data: { body: content(text("[token]")) } }]);

    const numbers = (await ledger.readStream("a/1").toArray()).map(
      ({ data }) => (data as unknown as { body: ContentReference }).body.n,
    );
    expect(numbers).toEqual([1, 1, 1]);
  });

  test("is asked before a definition parses, and sees what its pointers move beside the journal", async () => {
    const parsed: unknown[] = [];
    const definition = defineEvents(
      "note",
      { open: true },
      {
        "note.written": {
          content: ["/text", "/raw"],
          parse: (data) => {
            parsed.push(structuredClone(data));
            return data as object;
          },
        },
      },
    );
    const ledger = await openOne({
      events: [definition],
      redact: (value, where) =>
        where.kind === "data" ? { ...(value as object), raw: Uint8Array.of(9) } : hideTokens(value, where),
    });

    await ledger.append("note/1", [{ type: "note.written", data: { raw: Uint8Array.of(1), text: "fine" } }]);

    expect(parsed).toEqual([{ raw: Uint8Array.of(9), text: "fine" }]);
    const [event] = await ledger.readStream("note/1").toArray();
    const { raw } = event!.data as unknown as { raw: ContentReference };
    expect((await ledger.content(raw)).bytes).toEqual(Uint8Array.of(9));
  });

  test("that returns a reference names a content, and only one that is there", async () => {
    let reference: ContentReference | undefined;
    const ledger = await openOne({ redact: (value) => (reference === undefined ? value : { reference }) });
    await ledger.append("a/1", [{ type: "a.b", data: { reference: content("kept") } }]);
    const [event] = await ledger.readStream("a/1").toArray();
    reference = (event!.data as unknown as { reference: ContentReference }).reference;

    await ledger.append("a/1", [{ type: "a.b", data: { anything: true } }]);

    expect((await ledger.readStream("a/1").toArray())[1]!.data).toEqual({ reference });
    reference = { ...reference, n: 2 };
    expect((await refusal(ledger.append("a/1", [{ type: "a.b", data: { a: 1 } }]))).code).toBe("CONTENT_MISSING");
  });

  test("loses no content by taking it for a plain object, or by leaving it out", async () => {
    const naive = (value: unknown): unknown =>
      typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, naive(member)]))
        : value;
    for (const redact of [naive, (value: unknown): unknown => (typeof value === "object" ? {} : value)]) {
      const ledger = await openOne({ redact });
      const error = await refusal(
        ledger.append("a/1", [{ type: "a.b", data: { a: { b: content("one") }, c: content("two") } }]),
      );
      expect(error.code).toBe("REDACTION_FAILED");
      expect(error.message).toContain("must hand content values through as they are, found 2");
      expect((await ledger.status()).size).toBe(1);
    }
  });

  test("may work in place on what it is shown of a content; the content value itself never changes", async () => {
    const ledger = await openOne({
      redact: (value, { kind }) => {
        if (kind === "content" && value instanceof Uint8Array) value.fill(0);
        if (kind === "content" && Array.isArray(value)) value.push("more");
        return value;
      },
    });
    const [bytes, json] = [content(Uint8Array.of(1, 2)), content(["a"])];
    await ledger.append("a/1", [{ type: "a.b", data: { bytes, json } }]);
    await ledger.append("a/1", [{ type: "a.b", data: { bytes, json } }]);

    for (const { data } of await ledger.readStream("a/1").toArray()) {
      const stored = data as unknown as { bytes: ContentReference; json: ContentReference };
      expect((await ledger.content(stored.bytes)).bytes).toEqual(Uint8Array.of(0, 0));
      expect((await ledger.content(stored.json)).json()).toEqual(["a", "more"]);
    }
  });

  test("returns what is checked like anything that a caller gave", async () => {
    const answers: readonly (readonly [unknown, string])[] = [
      ["text", "INVALID_ARGUMENT"],
      [null, "INVALID_ARGUMENT"],
      [{ at: new Date() }, "INVALID_ARGUMENT"],
      // oxlint-disable-next-line unicorn/no-thenable -- a promise of another kind
      [{ then: () => {} }, "INVALID_ARGUMENT"],
      [{ a: "x".repeat(70_000) }, "LIMIT_EXCEEDED"],
    ];
    for (const [answer, code] of answers) {
      const ledger = await openOne({ redact: () => answer });
      expect((await refusal(ledger.append("a/1", [{ type: "a.b", data: {} }]))).code).toBe(code);
      const labelled = ledger.append("a/1", [{ type: "a.b" }], { actor: "a", meta: { a: "b" } });
      expect((await refusal(labelled)).code).toBe("INVALID_ARGUMENT");
      expect((await ledger.status()).size).toBe(1);
    }
  });

  test("runs no code of the data, whatever it is, and refuses as without it", async () => {
    const hostile = (): never => expect.fail("the value's code ran");
    const cycle: Record<string, unknown> = { text: token, body: content("x") };
    Object.assign(cycle, { left: cycle, right: [cycle] });
    let deep: unknown = { body: content("x") };
    for (let level = 0; level < 100_000; level++) deep = { deep };
    let wide: unknown = token;
    for (let level = 0; level < 120; level++) wide = { left: wide, right: wide };
    const values: readonly object[] = [
      { a: new Proxy({}, { get: hostile, ownKeys: hostile, getPrototypeOf: hostile }) },
      Object.defineProperty({}, "a", { get: hostile, enumerable: true }),
      { a: Object.defineProperty([token], "constructor", { get: hostile, enumerable: true }) },
      { a: [, 1] }, // oxlint-disable-line no-sparse-arrays -- a hole is what is refused
      { a: { toJSON: hostile } },
      cycle,
      deep as object,
      wide as object,
      Object.defineProperty({}, "__proto__", { value: { a: 1 }, enumerable: true }),
    ];
    for (const [index, data] of values.entries()) {
      const codes: unknown[] = [];
      for (const options of [{ redact: hideTokens }, { redact: (value: unknown) => value }, {}] as LedgerOptions[]) {
        codes.push((await refusal((await openOne(options)).append("a/1", [{ type: "a.b", data }]))).code);
      }
      expect([index, ...new Set(codes)]).toEqual([
        index,
        index === 7 || index === 6 ? "LIMIT_EXCEEDED" : "INVALID_ARGUMENT",
      ]);
    }
  });
});

test("with a hook that changes nothing, or on what it has redacted already, every byte is the same as without it", async () => {
  const rewrite = redactStrings((text) => text.replaceAll("a", "b"));
  await fc.assert(
    fc.asyncProperty(fc.array(eventData(), { maxLength: 5 }), async (list) => {
      const idsOf = async (datas: readonly object[], options: LedgerOptions): Promise<unknown> => {
        const ledger = await openLedger("memory:", {
          clock: manualClock(),
          origin: "test/redaction",
          testing: { randomBytes: seededBytes() },
          ...options,
        });
        for (const data of datas)
          await ledger.append("a/1", [{ type: "a.b", data: { it: data, body: content(data) } }]).catch(() => {});
        return (await ledger.read().toArray()).map((event) => event.id);
      };
      const place = { kind: "data", path: "", stream: "a/1", type: "a.b" } as const;
      const given = list as readonly object[];
      expect(await idsOf(given, { redact: (value) => value })).toEqual(await idsOf(given, {}));
      const redacted: object[] = [];
      for (const data of given) {
        try {
          redacted.push(rewrite(data, place) as object);
        } catch {
          return; // two members of the same name
        }
      }
      expect(await idsOf(given, { redact: rewrite })).toEqual(await idsOf(redacted, {}));
    }),
    { numRuns: long ? 1_000 : 100 },
  );
});

test("a hook that is no function is refused, and redactStrings loses no member", async () => {
  await expect(openLedger("memory:", { redact: true as never })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const ledger = await open("memory:", { redact: hideTokens });
  const error = await refusal(ledger.append("a/1", [{ type: "a.b", data: { "sk-live-1": 1, "sk-live-2": 2 } }]));
  expect(error.code).toBe("REDACTION_FAILED");
});
