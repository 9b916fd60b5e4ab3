import { describe, expect, test } from "vitest";
import { formatReport } from "../../src/forensic/index.js";
import { content, LedgerError, openLedger } from "../../src/index.js";
import type { ContentReference, EraseOptions, Ledger } from "../../src/index.js";
import type { StoreReads } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { describeStores, freshPlace, onCleanup, open, sharedStoreNames } from "./fixture.js";

const because: EraseOptions = { reason: "asked for by the customer" };

/** Appends one event with a content and returns the reference to it. */
async function note(ledger: Ledger, stream: string, value: unknown): Promise<ContentReference> {
  const { position } = await ledger.append(stream, [{ type: "note.written", data: { text: content(value) } }]);
  return referenceAt(ledger, position);
}

async function referenceAt(ledger: Ledger, position: number): Promise<ContentReference> {
  const [event] = await ledger.read({ from: position, limit: 1 }).toArray();
  return (event!.data as unknown as { text: ContentReference }).text;
}

async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  const error = await promise.then(
    () => "accepted",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return error as LedgerError;
}

describeStores("erasing", (openOne, openStoreOf) => {
  test("takes the bytes, leaves the events, and says who authorised it", async () => {
    const ledger = await openOne();
    const [gone, kept] = [await note(ledger, "a/1", "to be forgotten"), await note(ledger, "a/1", "to be kept")];
    const before = await ledger.read().toArray();

    const erasure = await ledger.erase([gone.$content], { ...because, actor: "ann" });

    const after = await ledger.read().toArray();
    expect(after.slice(0, -1)).toEqual(before);
    expect(after.at(-1)).toMatchObject({
      position: erasure.position,
      id: erasure.id,
      at: erasure.at,
      stream: "journal/main",
      type: "content.erased",
      data: { digests: [gone.$content], reason: because.reason },
      actor: "ann",
    });
    const { position, id } = before[1]!;
    expect(erasure).toMatchObject({
      reason: because.reason,
      contents: [
        {
          digest: gone.$content,
          n: gone.n,
          media: "text/plain;charset=utf-8",
          bytes: 15,
          entries: [{ position, id, stream: "a/1", revision: 1, type: "note.written" }],
        },
      ],
    });
    const error = await refusal(ledger.content(gone));
    expect([error.code, error.details["erasedBy"]]).toEqual(["CONTENT_ERASED", erasure.position]);
    expect((await ledger.content(kept)).text()).toBe("to be kept");
    const report = await ledger.verify();
    expect(report).toMatchObject({ verdict: "OK", findings: [], exitCode: 0 });
    expect(formatReport(report)).toContain(`erased     1 content, authorised at #${erasure.position}`);
  });

  test("is one event for several contents, each once, in the order given", async () => {
    const ledger = await openOne();
    const [one, two] = [await note(ledger, "a/1", "one"), await note(ledger, "b/1", { two: 2 })];

    const { contents, position } = await ledger.erase([two.$content, one.$content, two.$content], because);

    expect(contents.map(({ n, media }) => [n, media])).toEqual([
      [2, "application/json"],
      [1, "text/plain;charset=utf-8"],
    ]);
    const [event] = await ledger.read({ from: position }).toArray();
    expect(event!.data["digests"]).toEqual([two.$content, one.$content]);
    expect((await ledger.status()).size).toBe(4);
    for (const each of [one, two]) expect((await refusal(ledger.content(each))).code).toBe("CONTENT_ERASED");
  });

  test("lets an equal content be stored anew, and refuses a reference to what is gone", async () => {
    const ledger = await openOne();
    const text = "x".repeat(2_000);
    const gone = await note(ledger, "a/1", text);
    await ledger.erase([gone.$content], because);

    const error = await refusal(ledger.append("a/1", [{ type: "note.written", data: { text: gone } }]));
    const anew = await note(ledger, "a/1", text);
    const again = await note(ledger, "a/1", text);

    expect(error.code).toBe("CONTENT_ERASED");
    expect([anew.n, again.n]).toEqual([2, 2]);
    expect(anew.$content).not.toBe(gone.$content);
    expect((await ledger.content(anew)).text()).toBe(text);
    expect((await refusal(ledger.content(gone))).code).toBe("CONTENT_ERASED");
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
    await ledger.erase([anew.$content], because);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("what events of several streams name is erased only when told so", async () => {
    const ledger = await openOne();
    const text = await note(ledger, "a/1", "said twice");
    await ledger.append("a/1", [{ type: "note.copied", data: { text, again: [text] } }]);
    expect(await ledger.erase([text.$content], { ...because, dryRun: true })).toMatchObject({ contents: [{ n: 1 }] });
    for (let copy = 2; copy <= 5; copy++) await ledger.append(`a/${copy}`, [{ type: "note.copied", data: { text } }]);

    const error = await refusal(ledger.erase([text.$content], because));

    expect(error.code).toBe("CONTENT_SHARED");
    expect(error.message).toContain("found 5: a/1, a/2, a/3, …");
    expect(error.details).toEqual({
      digest: text.$content,
      n: 1,
      streams: ["a/1", "a/2", "a/3", "a/4", "a/5"],
      streamCount: 5,
      shared: [text.$content],
    });
    expect((await ledger.content(text)).text()).toBe("said twice");
    expect((await ledger.status()).size).toBe(7);
    const { contents } = await ledger.erase([text.$content], { ...because, shared: true });
    expect(contents[0]!.entries.map(({ position, stream }) => [position, stream])).toEqual([
      [1, "a/1"],
      [2, "a/1"],
      [3, "a/2"],
      [4, "a/3"],
      [5, "a/4"],
      [6, "a/5"],
    ]);
  });

  test("refuses all of a call for one digest of it, writes nothing, and says which", async () => {
    const ledger = await openOne();
    const [gone, kept] = [await note(ledger, "a/1", "gone"), await note(ledger, "a/1", "kept")];
    const { position } = await ledger.erase([gone.$content], because);
    const unknown = "ab".repeat(32);
    const genesis = (await ledger.read({ limit: 1 }).toArray())[0]!.id;

    for (const [digest, code, details] of [
      [unknown, "NOT_FOUND", { digest: unknown }],
      [genesis, "NOT_FOUND", { digest: genesis }],
      [gone.$content, "CONTENT_ERASED", { digest: gone.$content, n: 1, erasedBy: position }],
    ] as const) {
      for (const dryRun of [true, false]) {
        const error = await refusal(ledger.erase([kept.$content, digest], { ...because, dryRun }));
        expect([error.code, error.details]).toEqual([code, details]);
      }
    }
    expect((await ledger.status()).size).toBe(4);
    expect((await ledger.content(kept)).text()).toBe("kept");
  });

  const bad: readonly (readonly [string, unknown, unknown, string])[] = [
    ["no list", "ab".repeat(32), because, "INVALID_ARGUMENT"],
    ["an empty list", [], because, "INVALID_ARGUMENT"],
    ["a hole", Array.from({ length: 1 }).fill(undefined, 1), because, "INVALID_ARGUMENT"],
    ["a short digest", ["ab"], because, "INVALID_ARGUMENT"],
    ["a digest in capitals", ["AB".repeat(32)], because, "INVALID_ARGUMENT"],
    ["a reference", [{ $content: "ab".repeat(32), bytes: 1, n: 1 }], because, "INVALID_ARGUMENT"],
    ["no options", ["ab".repeat(32)], undefined, "INVALID_ARGUMENT"],
    ["no reason", ["ab".repeat(32)], {}, "INVALID_ARGUMENT"],
    ["an empty reason", ["ab".repeat(32)], { reason: "" }, "INVALID_ARGUMENT"],
    ["a long reason", ["ab".repeat(32)], { reason: "x".repeat(201) }, "LIMIT_EXCEEDED"],
    ["a reason with a line feed", ["ab".repeat(32)], { reason: "a\nb" }, "INVALID_ARGUMENT"],
    ["a reason with half a character", ["ab".repeat(32)], { reason: "\ud83d" }, "INVALID_ARGUMENT"],
    ["an empty actor", ["ab".repeat(32)], { ...because, actor: "" }, "INVALID_ARGUMENT"],
    ["a misspelt option", ["ab".repeat(32)], { ...because, dryrun: true }, "INVALID_ARGUMENT"],
    ["a shared that is no boolean", ["ab".repeat(32)], { ...because, shared: "yes" }, "INVALID_ARGUMENT"],
    ["a signal that is none", ["ab".repeat(32)], { ...because, signal: {} }, "INVALID_ARGUMENT"],
  ];

  test.each(bad)("refuses %s", async (_, digests, options, code) => {
    const ledger = await openOne();

    const error = await refusal((async () => ledger.erase(digests as readonly string[], options as EraseOptions))());

    expect(error.code).toBe(code);
    expect((await ledger.status()).size).toBe(1);
  });

  test("takes 500 contents a call, and the longest reason, and no more", async () => {
    const ledger = await openOne();
    const values = Array.from({ length: 501 }, (_, index) => content(`content ${index}`));
    await ledger.append("a/1", [
      { type: "note.written", data: { texts: values.slice(0, 250) } },
      { type: "note.written", data: { texts: values.slice(250) } },
    ]);
    const events = await ledger.readStream("a/1").toArray();
    const digests = events.flatMap(({ data }) =>
      (data as unknown as { texts: ContentReference[] }).texts.map(({ $content }) => $content),
    );
    const longest = { reason: "é".repeat(200), actor: "😀".repeat(64) };

    const error = await refusal(ledger.erase(digests, longest));
    const { contents } = await ledger.erase(digests.slice(0, 500), longest);

    expect(error.details).toEqual({ path: "digests", limit: "contents a call", max: 500, found: 501 });
    expect(contents.map(({ n }) => n)).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
    const last = (events[1]!.data as unknown as { texts: ContentReference[] }).texts.at(-1)!;
    expect((await ledger.content(last)).text()).toBe("content 500");
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("a dry run tells the very same and writes nothing", async () => {
    const ledger = await openOne();
    const text = await note(ledger, "a/1", "to be forgotten");
    await ledger.append("a/2", [{ type: "note.copied", data: { text } }]);
    const options = { ...because, shared: true };
    const before = await ledger.status();

    const plan = await ledger.erase([text.$content], { ...options, dryRun: true });

    expect({ ...(await ledger.status()), now: before.now }).toEqual(before);
    expect((await ledger.content(text)).text()).toBe("to be forgotten");
    expect(Object.keys(plan)).toEqual(["reason", "contents", "salts", "elsewhere"]);
    expect(plan.elsewhere.length).toBeGreaterThan(3);
    expect(await ledger.erase([text.$content], options)).toMatchObject(plan);
  });

  test("finds each entry that names a content, across pages, and nothing that only looks like it", async () => {
    const ledger = await openOne();
    const text = await note(ledger, "a/1", "wanted");
    const other = await note(ledger, "b/1", "other");
    const places = new Set([498, 499, 500, 501, 997, 998, 999, 1_000, 1_001]);
    const looksLikeIt = JSON.stringify(text);
    for (let first = 3; first < 1_100; first += 100) {
      const events = Array.from({ length: 100 }, (_, index) =>
        places.has(first + index)
          ? { type: "note.copied", data: { deep: [{ 'a"b': { text, unsure: "\ufffd" } }], other } }
          : { type: "note.written", data: { looksLikeIt, [looksLikeIt]: text.$content, list: [text.$content], other } },
      );
      await ledger.append("a/1", events);
    }

    const plan = await ledger.erase([text.$content], { ...because, dryRun: true });

    expect(plan.contents[0]!.entries.map(({ position }) => position)).toEqual([1, ...places]);
    expect(await ledger.erase([text.$content], because)).toMatchObject(plan);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("waits for its turn: what was sent before it is seen, what is sent after it finds the contents gone", async () => {
    const ledger = await openOne();
    const [alone, soonShared] = [await note(ledger, "a/1", "alone"), await note(ledger, "a/1", "soon shared")];
    const copy = (stream: string, text: ContentReference): Promise<unknown> =>
      ledger.append(stream, [{ type: "note.copied", data: { text } }]);

    // What looks for the events takes a turn; so the appends that are sent now stand in the queue before the erasure.
    const before = [copy("a/1", alone), copy("a/2", soonShared)];
    const erasures = [ledger.erase([alone.$content], because), ledger.erase([soonShared.$content], because)];
    const told = Promise.allSettled(erasures);
    await Promise.all(before);
    const [first, second] = await told;
    const after = await refusal(copy("a/1", alone));

    expect(first).toMatchObject({ status: "fulfilled", value: { contents: [{ entries: [{}, {}] }] } });
    expect((second as PromiseRejectedResult).reason).toMatchObject({ code: "CONTENT_SHARED" });
    expect(after.code).toBe("CONTENT_ERASED");
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("an erasure that another one has overtaken is refused, and told by which", async () => {
    const store = await openStoreOf();
    const ledgers = [await open(store), await open(store), await open(store)];
    const text = await note(ledgers[0]!, "a/1", "wanted by three");

    const results = await Promise.allSettled(ledgers.map((ledger) => ledger.erase([text.$content], because)));

    const done = results.filter((result) => result.status === "fulfilled");
    expect(done.length).toBe(1);
    for (const result of results)
      if (result.status === "rejected")
        expect(result.reason).toMatchObject({
          code: "CONTENT_ERASED",
          details: { erasedBy: done[0]!.value.position },
        });
    expect((await ledgers[0]!.status()).size).toBe(3);
  });

  test("gives up when told, before it looks and while it looks", async () => {
    const ledger = await openOne();
    const text = await note(ledger, "a/1", "kept after all");
    await ledger.append(
      "a/1",
      Array.from({ length: 2_000 }, () => ({ type: "note.counted" })),
    );
    const controller = new AbortController();

    const looking = [true, false].map((dryRun) =>
      refusal(ledger.erase([text.$content], { ...because, dryRun, signal: controller.signal })),
    );
    setImmediate(() => controller.abort());

    expect((await Promise.all(looking)).map(({ code }) => code)).toEqual(["ABORTED", "ABORTED"]);
    for (const dryRun of [true, false]) {
      const late = ledger.erase([text.$content], { ...because, dryRun, signal: AbortSignal.abort() });
      expect((await refusal(late)).code).toBe("ABORTED");
    }
    expect((await ledger.content(text)).text()).toBe("kept after all");
  });
});

describe("an erasure", () => {
  test.each(sharedStoreNames)(
    "by a ledger that is open read-only is refused, and its dry run is not, on %s",
    async (name) => {
      const path = freshPlace(name);
      const writer = await open(path);
      const text = await note(writer, "a/1", "kept");
      const reader = await open(path, { readOnly: true });

      expect((await refusal(reader.erase([text.$content], because))).code).toBe("READ_ONLY");
      expect(await reader.erase([text.$content], { ...because, dryRun: true })).toMatchObject({ contents: [{ n: 1 }] });
      await reader.close();
      expect((await refusal((async () => reader.erase([text.$content], because))())).code).toBe("CLOSED");
    },
  );

  test("whose commit gave no answer is looked up, and told that it happened, once", async () => {
    let failures = 0;
    const faults = (step: string, moment: string): void => {
      if (step === "commit" && moment === "after" && failures-- > 0) throw new Error("connection lost");
    };
    for (const location of ["memory:", ...sharedStoreNames.map(freshPlace)]) {
      const ledger = await open(location, { testing: { faults } });
      const text = await note(ledger, "a/1", "gone");
      failures = 1;

      const { position, contents } = await ledger.erase([text.$content], because);

      expect([position, contents.length]).toEqual([2, 1]);
      expect((await ledger.status()).size).toBe(3);
      expect((await refusal(ledger.content(text))).code).toBe("CONTENT_ERASED");
      expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
    }
  });

  test("that fails at any step before its commit leaves everything as it was, and may be tried again", async () => {
    let failing: string | null = null;
    const faults = (step: string, moment: string): void => {
      if (`${step} ${moment}` === failing) throw new LedgerError("STORE_FULL", "the disk must have room, found none");
    };
    for (const location of ["memory:", ...sharedStoreNames.map(freshPlace)]) {
      const ledger = await open(location, { testing: { faults } });
      const text = await note(ledger, "a/1", "not gone");
      for (const step of ["entries before", "entries after", "erase before", "erase after", "commit before"]) {
        failing = step;
        const error = await refusal(ledger.erase([text.$content], because));
        failing = null;
        expect([step, error.code]).toEqual([step, "STORE_FULL"]);
        expect((await ledger.content(text)).text()).toBe("not gone");
        expect((await ledger.status()).size).toBe(2);
      }
      expect((await ledger.erase([text.$content], because)).position).toBe(2);
      expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
    }
  });

  test("asks a few hundred at a time whether contents are there, without their bytes, and under the lock for none that it has seen", async () => {
    const store = createMemoryStore();
    const reads: string[] = [];
    const counting = <Reads extends StoreReads>(name: string, inner: Reads): Reads =>
      Object.create(inner, {
        contents: { value: () => expect.fail("the bytes of contents are read") },
        contentFacts: {
          value: (numbers: readonly number[]) => {
            if (numbers.length > 0) reads.push(`${name} ${numbers.length}`);
            return inner.contentFacts(numbers);
          },
        },
      }) as Reads;
    const ledger = await open({
      kind: "counting",
      location: "memory:",
      readOnly: false,
      clock: null,
      remote: false,
      begin: async () => counting("lock", await store.begin()),
      snapshot: async () => counting("snapshot", await store.snapshot()),
      reset: () => store.reset(),
      listen: (hint) => store.listen(hint),
      maintain: () => store.maintain(),
      scrub: () => store.scrub(),
      health: () => store.health(),
      raw: () => store.raw(),
      close: () => store.close(),
    });
    const large = Array.from({ length: 3 }, (_, index) => content(Buffer.alloc(3 * 1024 * 1024, index)));
    const small = Array.from({ length: 300 }, (_, index) => content(`${index}`));
    await ledger.append("a/1", [{ type: "note.written", data: { texts: [...large, ...small] } }]);
    const [event] = await ledger.readStream("a/1").toArray();
    const { texts } = event!.data as unknown as { texts: ContentReference[] };

    await ledger.erase(
      texts.map(({ $content }) => $content),
      because,
    );

    expect(reads).toEqual(["snapshot 256", "snapshot 47"]);
  });

  test("is of every content that has the digest, should random bytes ever come twice", async () => {
    const ledger = await open("memory:", { testing: { randomBytes: (size) => new Uint8Array(size) } });
    const [one, other] = [await note(ledger, "a/1", "same"), await note(ledger, "a/2", "same")];
    expect([one.n, other.n, one.$content]).toEqual([1, 2, other.$content]);

    expect((await refusal(ledger.erase([one.$content], because))).code).toBe("CONTENT_SHARED");
    const { contents } = await ledger.erase([one.$content], { ...because, shared: true });

    expect(contents.map(({ n, entries }) => [n, entries.length])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    for (const each of [one, other]) expect((await refusal(ledger.content(each))).code).toBe("CONTENT_ERASED");
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });

  test("has its reason and its actor redacted", async () => {
    const ledger = await openLedger("memory:", {
      redact: (value, { kind }) => (kind === "reason" || kind === "actor" ? "[hidden]" : value),
    });
    onCleanup(() => ledger.close());
    const text = await note(ledger, "a/1", "gone");

    const { position, reason } = await ledger.erase([text.$content], { reason: "by Ann\n", actor: "Ann" });

    expect(reason).toBe("[hidden]");
    const [event] = await ledger.read({ from: position }).toArray();
    expect([event!.data["reason"], event!.actor]).toEqual(["[hidden]", "[hidden]"]);
  });

  test("does not take the area of content.erased for anybody to write", async () => {
    const ledger = await open("memory:");
    const error = await refusal(ledger.append("a/1", [{ type: "content.erased", data: { digests: [] } }]));
    expect(error.code).toBe("INVALID_ARGUMENT");
  });
});
