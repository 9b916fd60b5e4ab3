/** What is erased leaves no byte in the ledger's file or its log, whoever reads, crashes or closes in between. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { ContentRow, Store } from "../../src/journal/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { read, write } from "../../src/testing/store-histories.js";
import { runChild, startChild } from "../processes/child.js";
import { ByteTrace, noise } from "./byte-trace.js";
import { freshPath, sql } from "./place.js";

const long = process.env["RUNLEDGER_LONG"] === "1";

/** A content whose parts are all without pattern; the smallest have no plain hash, as in a journal. */
function row(n: number, name: string, size: number, plain = true): ContentRow {
  return {
    n,
    digest: noise(`digest of ${name}`, 32).toString("hex"),
    media: "text/plain",
    salt: noise(`salt of ${name}`, 32),
    bytes: noise(name, size),
    plain: plain ? noise(`plain of ${name}`, 32).toString("hex") : null,
  };
}

function traceOf(rows: readonly ContentRow[], trace = new ByteTrace()): ByteTrace {
  for (const { n, bytes, salt, plain } of rows) {
    trace.add(`bytes of ${n} (${bytes.length})`, Buffer.from(bytes));
    trace.add(`salt of ${n}`, Buffer.from(salt));
    if (plain !== null) trace.add(`plain of ${n}`, Buffer.from(plain, "hex"));
  }
  return trace;
}

/** Does a content stand there with these bytes? The position that erased it when it does not. */
async function holds(store: Store, n: number, bytes: Uint8Array): Promise<boolean | number> {
  const [content] = await read(store, (reads) => reads.contents([n]));
  if (content === null || content === undefined) throw new Error(`content ${n} must be stored or erased`);
  return "bytes" in content ? Buffer.compare(content.bytes, bytes) === 0 : content.erased;
}

/** Inside a page, at its edge, with one overflow page, with many, with MiBs of them. */
const sizes = [
  0, 1, 15, 16, 17, 100, 800, 1_023, 1_024, 1_025, 3_900, 3_950, 4_000, 4_061, 4_096, 4_200, 8_100, 8_192, 70_000,
  1_048_576, 2_500_000,
];

test("T54 erased contents of every size leave nothing behind, among live ones that stay whole", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  const rows: ContentRow[] = [];
  for (const size of sizes) {
    const pair = [0, 1].map((each) => row(rows.length + 1 + each, `${size} ${each}`, size, size >= 1_024));
    await write(store, { streams: ["a/1"], rows: pair });
    rows.push(...pair);
  }
  const erased = rows.filter(({ n }) => n % 2 === 0);
  const trace = traceOf(erased);
  const before = new Set(trace.remnants(path).map(({ name }) => name));
  for (const { n, bytes } of erased)
    if (bytes.length >= 16) expect(before).toContain(`bytes of ${n} (${bytes.length})`);

  for (let at = 0; at < erased.length; at += 7)
    await write(store, { streams: ["a/1"], erase: erased.slice(at, at + 7).map(({ n }) => n) });
  expect(await store.scrub()).toBe(true);

  expect(trace.remnants(path)).toEqual([]);
  for (const { n, bytes } of rows)
    expect(await holds(store, n, bytes)).toEqual(n % 2 === 0 ? expect.any(Number) : true);
  await store.close();
  expect(trace.remnants(path)).toEqual([]);
});

test(
  "T54 whatever was stored and erased before, nothing of it is left, in the index of plain hashes neither",
  { timeout: 600_000 },
  async () => {
    const round = fc.record({
      stored: fc.integer({ min: 1, max: 400 }),
      sizeMax: fc.constantFrom(40, 300, 1_500, 5_000),
      // Tenths of the live contents.
      erased: fc.integer({ min: 0, max: 9 }),
      maintain: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 2, maxLength: 8 }), fc.nat(1_000_000), async (rounds, seed) => {
        const path = freshPath();
        const store = await openSqliteStore(path);
        let live: ContentRow[] = [];
        let gone = 0;
        const trace = new ByteTrace();
        const chance = (n: number, max: number): number => noise(`${seed} ${n}`, 4).readUInt32LE() % max;
        for (const { stored, sizeMax, erased, maintain } of rounds) {
          const first = live.length + gone + 1;
          const rows = Array.from({ length: stored }, (_, index) =>
            row(first + index, `${seed}/${first + index}`, chance(first + index, sizeMax)),
          );
          await write(store, { streams: ["a/1"], rows });
          live.push(...rows);
          if (maintain) await store.maintain();
          const chosen = live.filter(({ n }) => chance(-n, 10) < erased);
          if (chosen.length === 0) continue;
          await write(store, { streams: ["a/1"], erase: chosen.map(({ n }) => n) });
          live = live.filter((each) => !chosen.includes(each));
          gone += chosen.length;

          expect(await store.scrub()).toBe(true);
          expect(traceOf(chosen, trace).remnants(path)).toEqual([]);
        }
        for (const { n, bytes } of live) expect(await holds(store, n, bytes)).toBe(true);
        await store.close();
      }),
      { numRuns: long ? 100 : 10 },
    );
  },
);

const secret = row(1, "secret", 20_000);

async function storeWithErasure(
  path: string,
  hold: (store: Store) => Promise<() => Promise<void>>,
): Promise<{ store: Store; release: () => Promise<void> }> {
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"], rows: [secret] });
  const release = await hold(store);
  await write(store, { streams: ["a/1"], erase: [1] });
  return { store, release };
}

const holders = {
  "a snapshot of its own": async (store: Store) => {
    const snapshot = await store.snapshot();
    return () => snapshot.release();
  },
  "a verifier": async (store: Store) => {
    const raw = await store.raw();
    await raw.entries(null, 1);
    return () => raw.close();
  },
  "another process": async ({ location }: Store) => {
    const child = startChild("store-holder.mjs", [location]);
    await child.line("holding");
    return async () => {
      child.process.kill("SIGTERM");
      expect(await child.finished).toMatchObject({ code: 0, stderr: "" });
    };
  },
} as const;

test.each(Object.keys(holders) as (keyof typeof holders)[])(
  "T54 while %s reads what was there before, a scrub says false, and the bytes go when it is asked again",
  async (holder) => {
    const path = freshPath();
    const { store, release } = await storeWithErasure(path, holders[holder]);

    expect(await store.scrub()).toBe(false);
    expect(traceOf([secret]).remnants(path)).not.toEqual([]);
    await release();

    expect(await store.scrub()).toBe(true);
    expect(traceOf([secret]).remnants(path)).toEqual([]);
    await store.close();
  },
);

test("T54 a scrub that was held back is made good by the housekeeping between commits, without being asked", async () => {
  const path = freshPath();
  const { store, release } = await storeWithErasure(path, holders["a snapshot of its own"]);
  expect(await store.scrub()).toBe(false);
  await release();

  await vi.waitFor(
    async () => {
      await write(store, { streams: ["a/1"] });
      await store.maintain();
      expect(traceOf([secret]).remnants(path)).toEqual([]);
    },
    { timeout: 20_000, interval: 100 },
  );
  await store.close();
});

test("T54 a scrub that nobody asked for is done by closing, also when others have the ledger open", async () => {
  const path = freshPath();
  const { store, release } = await storeWithErasure(path, holders["a snapshot of its own"]);
  await release();
  const other = await openSqliteStore(path);
  await other.snapshot().then((snapshot) => snapshot.release());

  await store.close();

  expect(traceOf([secret]).remnants(path)).toEqual([]);
  await other.close();
});

const kills = [
  ["commit", "after"],
  ["scrub", "before"],
  ["scrub", "after"],
] as const;

test.each(kills)(
  "T54 a process that is killed at %s %s an erasure: whoever opens the ledger for writing next takes the bytes out",
  async (step, moment) => {
    const path = freshPath();
    expect(await runChild("store-eraser.mjs", [path, step, moment])).toMatchObject({ signal: "SIGKILL", stderr: "" });
    const erased = traceOf([row(1, "erased", 20_000)]);
    if (step === "commit") expect(erased.remnants(path)).not.toEqual([]);

    const store = await openSqliteStore(path);

    expect(erased.remnants(path)).toEqual([]);
    expect(await holds(store, 1, noise("erased", 20_000))).toBe(1);
    expect(await holds(store, 2, noise("kept", 20_000))).toBe(true);
    await store.close();
    const again = await openSqliteStore(path);
    expect(await again.scrub()).toBe(true);
    await again.close();
  },
);

test("T54 when a reader holds the log at that opening, it is made good later", async () => {
  const path = freshPath();
  await runChild("store-eraser.mjs", [path, "commit", "after"]);
  const erased = traceOf([row(1, "erased", 20_000)]);
  const reader = await openSqliteStore(path, { readOnly: true });
  const snapshot = await reader.snapshot();

  const store = await openSqliteStore(path);
  expect(erased.remnants(path)).not.toEqual([]);
  await snapshot.release();
  await store.close();

  expect(erased.remnants(path)).toEqual([]);
  await reader.close();
});

test("T54 a writer that lives on makes good what another process was killed over", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });
  await runChild("store-eraser.mjs", [path, "commit", "after"]);
  const erased = traceOf([row(1, "erased", 20_000)]);
  expect(erased.remnants(path)).not.toEqual([]);

  await write(store, { streams: ["a/1"] });
  await store.maintain();

  expect(erased.remnants(path)).toEqual([]);
  await store.close();
});

test("T54 the mark that something is owed goes with the scrub, and only then", async () => {
  const path = freshPath();
  const mark = async (): Promise<unknown> => {
    const { default: Database } = await import("better-sqlite3");
    const database = new Database(path, { readonly: true });
    const value = database.prepare("SELECT value FROM meta WHERE key = 'scrub'").pluck().get();
    database.close();
    return value;
  };
  const { store, release } = await storeWithErasure(path, holders["a snapshot of its own"]);
  expect(await mark()).toBe("1");
  const reader = await openSqliteStore(path, { readOnly: true });
  expect([await store.health(), await reader.health()]).toMatchObject([{ scrubOwed: true }, { scrubOwed: true }]);
  expect(await store.scrub()).toBe(false);
  expect(await mark()).toBe("1");
  // Another process has erased since: what it owes is not ours to strike off.
  await release();
  const other = await openSqliteStore(path, {
    faults: (step, moment) => {
      if (step === "scrub" && moment === "after") sql(path, "UPDATE meta SET value = '7' WHERE key = 'scrub'");
    },
  });
  expect(await mark()).toBe("7");
  await other.close();

  expect(await store.scrub()).toBe(true);
  expect(await mark()).toBe(undefined);
  expect([await store.health(), await reader.health()]).toMatchObject([{ scrubOwed: false }, { scrubOwed: false }]);
  await reader.close();
  await store.close();
});
