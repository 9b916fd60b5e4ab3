/** The laws of erasure, over generated histories: against a model, with two writers at once, and seen by a fold. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { merkleRoot } from "../../src/forensic/index.js";
import { canonicalize, content, openRawReader } from "../../src/index.js";
import type { ContentReference, Ledger, LedgerError, LedgerEvent } from "../../src/index.js";
import { describeStores, ledgerPath, onCleanup, open, runsOn } from "./fixture.js";
import type { StoreName } from "./fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});

const streams = ["a/1", "a/2", "b/1"] as const;
/** Some below the size from which equal ones are stored once, some above. */
const texts = ["", "short", "one ".repeat(400), "two ".repeat(400)] as const;

type Step =
  | { readonly type: "write"; readonly stream: string; readonly texts: readonly string[] }
  | { readonly type: "copy"; readonly stream: string; readonly pick: number }
  | { readonly type: "erase"; readonly picks: readonly number[]; readonly shared: boolean };

const stream = fc.constantFrom(...streams);
const write = fc.record({
  type: fc.constant("write" as const),
  stream,
  texts: fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }),
});
const copy = fc.record({ type: fc.constant("copy" as const), stream, pick: fc.nat() });
const erase = fc.record({
  type: fc.constant("erase" as const),
  picks: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  shared: fc.boolean(),
});
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: write }, { weight: 2, arbitrary: copy }, { weight: 3, arbitrary: erase }),
  { minLength: 1, maxLength: 25 },
);

/** What a content is to the model. */
interface Known {
  readonly reference: ContentReference;
  readonly text: string;
  readonly streams: Set<string>;
  readonly positions: number[];
  erasedBy: number | null;
}

function referencesIn(event: LedgerEvent): ContentReference[] {
  return (event.data as { readonly texts?: readonly ContentReference[] }).texts?.slice() ?? [];
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "accepted",
    (error: unknown) => (error as LedgerError).code,
  );
}

/** Does a step to a ledger and to the model, and holds the outcomes together. */
async function take(ledger: Ledger, known: Map<string, Known>, step: Step): Promise<void> {
  const all = [...known.values()];
  const picked = (pick: number): Known | undefined => all[pick % Math.max(all.length, 1)];
  if (step.type === "write") {
    const data = { texts: step.texts.map((text) => content(text)) };
    const { position } = await ledger.append(step.stream, [{ type: "note.written", data }]);
    const [event] = await ledger.read({ from: position, limit: 1 }).toArray();
    referencesIn(event!).forEach((reference, index) => {
      const text = step.texts[index]!;
      const one = known.get(reference.$content) ?? {
        reference,
        text,
        streams: new Set(),
        positions: [],
        erasedBy: null,
      };
      expect([one.text, one.erasedBy]).toEqual([text, null]);
      one.streams.add(step.stream);
      if (!one.positions.includes(position)) one.positions.push(position);
      known.set(reference.$content, one);
    });
  } else if (step.type === "copy") {
    const one = picked(step.pick);
    if (one === undefined) return;
    const copied = ledger.append(step.stream, [{ type: "note.copied", data: { texts: [one.reference] } }]);
    if (one.erasedBy !== null) return expect(await codeOf(copied)).toBe("CONTENT_ERASED");
    one.streams.add(step.stream);
    one.positions.push((await copied).position);
  } else {
    const wanted = [...new Set(step.picks.flatMap((pick) => picked(pick) ?? []))];
    if (wanted.length === 0) return;
    const { size, root } = await ledger.verify();
    const before = await ledger.read().toArray();
    const digests = wanted.map(({ reference }) => reference.$content);
    const erased = ledger.erase(digests, { reason: "property", shared: step.shared });
    if (wanted.some(({ erasedBy }) => erasedBy !== null)) expect(await codeOf(erased)).toBe("CONTENT_ERASED");
    else if (!step.shared && wanted.some((one) => one.streams.size > 1))
      expect(await codeOf(erased)).toBe("CONTENT_SHARED");
    else {
      const { contents, position } = await erased;
      expect(contents.map(({ entries }) => entries.map((entry) => entry.position))).toEqual(
        wanted.map(({ positions }) => positions),
      );
      for (const one of wanted) one.erasedBy = position;
    }
    const after = await ledger.read().toArray();
    expect(after.slice(0, size)).toEqual(before);
    const leaves = after.slice(0, size).map(({ id }) => Buffer.from(id, "hex"));
    expect(Buffer.from(merkleRoot(leaves)).toString("hex")).toBe(root);
  }
}

describeStores("erasing any subset of the contents", (openOne, _, name) => {
  test("changes no event, no id and no root, and everything else is as the model says", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const ledger = await openOne();
        const known = new Map<string, Known>();
        for (const step of history) await take(ledger, known, step);

        for (const { reference, text, erasedBy } of known.values()) {
          if (erasedBy === null) expect((await ledger.content(reference)).text()).toBe(text);
          else
            await expect(ledger.content(reference)).rejects.toMatchObject({
              code: "CONTENT_ERASED",
              details: { erasedBy },
            });
        }
        expect(await ledger.verify()).toMatchObject({ verdict: "OK", findings: [] });
        await ledger.close();
      }),
      runs(name, 100),
    );
  });
});

describeStores("erasures that race appends of two writers", (_, openStoreOf, name) => {
  test("miss no event that names a content, and none is appended behind them", async () => {
    const races = fc.array(
      fc.oneof(
        fc.record({ type: fc.constant("copy" as const), stream, pick: fc.nat(), by: fc.nat(1) }),
        fc.record({ type: fc.constant("erase" as const), pick: fc.nat(), by: fc.nat(1) }),
      ),
      { minLength: 2, maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(races, async (race) => {
        const store = await openStoreOf();
        const ledgers = [await open(store), await open(store)] as const;
        await ledgers[0].append("a/1", [{ type: "note.written", data: { texts: texts.map((text) => content(text)) } }]);
        const [first] = await ledgers[0].readStream("a/1").toArray();
        const references = referencesIn(first!);

        const results = await Promise.allSettled(
          race.map((step) => {
            const reference = references[step.pick % references.length]!;
            const ledger = ledgers[step.by as 0 | 1];
            return step.type === "copy"
              ? ledger.append(step.stream, [{ type: "note.copied", data: { texts: [reference] } }])
              : ledger.erase([reference.$content], { reason: `race ${step.by}` }); // or two would be one entry
          }),
        );

        const events = await ledgers[0].read().toArray();
        const namedAt = (digest: string): LedgerEvent[] =>
          events.filter((event) => referencesIn(event).some(({ $content }) => $content === digest));
        const erasures = results.flatMap((result) =>
          result.status === "fulfilled" && "contents" in result.value ? [result.value] : [],
        );
        expect(events.filter(({ type }) => type === "content.erased").length).toBe(erasures.length);
        for (const { contents, position } of erasures) {
          for (const { digest, entries } of contents) {
            const naming = namedAt(digest);
            expect(entries.map((entry) => entry.position)).toEqual(naming.map((event) => event.position));
            expect(naming.at(-1)!.position).toBeLessThan(position);
            expect(new Set(naming.map((event) => event.stream)).size).toBe(1);
          }
        }
        for (const result of results)
          if (result.status === "rejected")
            expect(["CONTENT_ERASED", "CONTENT_SHARED"]).toContain((result.reason as LedgerError).code);
        expect(await ledgers[0].verify()).toMatchObject({ verdict: "OK" });
      }),
      runs(name, 60),
    );
  });
});

/** What a reducer could do: it sees events and never a content. Documents by stream, hashed in the order of their keys. */
function foldedDigest(events: readonly LedgerEvent[]): string {
  const documents = new Map<string, { events: number; last: string; names: string[] }>();
  for (const event of events) {
    if (event.stream === "journal/main") continue;
    const document = documents.get(event.stream) ?? { events: 0, last: "", names: [] };
    document.events++;
    document.last = event.id;
    for (const { $content } of referencesIn(event)) document.names.push($content);
    documents.set(event.stream, document);
  }
  const hash = createHash("sha256");
  for (const key of [...documents.keys()].sort()) hash.update(`${canonicalize([key, documents.get(key)])}\n`);
  return hash.digest("hex");
}

describeStores("a fold over the events", (openOne, _, name) => {
  test("T53 gives the same digest before and after contents are erased, live and from the start", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const ledger = await openOne();
        for (const step of history)
          if (step.type === "write")
            await ledger.append(step.stream, [
              { type: "note.written", data: { texts: step.texts.map((text) => content(text)) } },
            ]);
        const before = foldedDigest(await ledger.read().toArray());
        const contents = (await ledger.read({ kinds: ["a", "b"] }).toArray()).flatMap(referencesIn);
        const digests = [...new Set(contents.map(({ $content }) => $content))];

        for (const digest of digests) await ledger.erase([digest], { reason: "T53", shared: true });

        expect(foldedDigest(await ledger.read().toArray())).toBe(before);
        expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
        await ledger.close();
      }),
      runs(name, 50),
    );
  });
});

/** Everything that stands in a ledger's folder. */
function onDisk(path: string): Buffer {
  return Buffer.concat(readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name))));
}

describe("T54 the bytes of an erased content", () => {
  const secrets: readonly Buffer[] = [
    Buffer.from("T54-small-secret"),
    Buffer.from("T54-text-of-a-page ".repeat(150)),
    Buffer.from("T54-text-over-many-pages ".repeat(60_000)),
    Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7_919) % 251)),
  ];
  /** A piece in each part of a content: what overflows a page stands in many places. */
  const piecesOf = (bytes: Buffer): Buffer[] =>
    [0, 0.3, 0.6, 1].map((part) => bytes.subarray(Math.floor((bytes.length - 16) * part)).subarray(0, 16));

  test("T54 are in no file of the ledger after `erase`, open as it is, nor after it is closed", async () => {
    const path = ledgerPath();
    const ledger = await open(path);
    const kept = "T54-that-stays ".repeat(300);
    for (const secret of secrets)
      await ledger.append("a/1", [
        { type: "note.written", data: { texts: [content(secret, "application/x-t54"), content(kept)] } },
      ]);
    const events = await ledger.readStream("a/1").toArray();
    const digests = events.map((event) => referencesIn(event)[0]!.$content);
    for (const piece of secrets.flatMap(piecesOf)) expect(onDisk(path).includes(piece)).toBe(true);

    const { scrubbed, elsewhere } = await ledger.erase(digests, { reason: "T54" });

    expect(scrubbed).toBe(true);
    const places = elsewhere.join("\n");
    for (const place of [/backups/, /copies of its file/, /snapshots/, /private copies/, /logs/, /memory/])
      expect(places).toMatch(place);
    const check = (): void => {
      const bytes = onDisk(path);
      for (const piece of secrets.flatMap(piecesOf)) expect(bytes.includes(piece)).toBe(false);
      expect(bytes.includes("application/x-t54")).toBe(false);
      expect(bytes.includes("T54-that-stays")).toBe(true);
    };
    check();
    await ledger.append("a/1", [{ type: "note.counted" }]);
    check();
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
    await ledger.close();
    check();
  });

  test("T54 may stand in the log while a reader holds it back, which the result says, and go when it lets go", async () => {
    const path = ledgerPath();
    const ledger = await open(path);
    await ledger.append("a/1", [{ type: "note.written", data: { texts: [content("T54-held-back ".repeat(500))] } }]);
    const [event] = await ledger.readStream("a/1").toArray();
    const idle = await open(path, { readOnly: true });
    const reader = await openRawReader(path);
    onCleanup(() => reader.close());
    await reader.entryCount();

    const { scrubbed } = await ledger.erase([referencesIn(event!)[0]!.$content], { reason: "T54" });
    const held = onDisk(path).includes("T54-held-back");
    await reader.close();
    // Between two commits it tries again, at most once a second.
    await sleep(1_100);
    await ledger.append("a/1", [{ type: "note.counted" }]);
    await vi.waitFor(() => expect(onDisk(path).includes("T54-held-back")).toBe(false), 30_000);

    expect([scrubbed, held]).toEqual([false, true]);
    expect((await idle.status()).size).toBe(4);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  });
});
