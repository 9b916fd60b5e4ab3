/** Batches that do not wait for the lock, nor for the commit before them (decision 0030): what goes out for one, what makes one
 *  void, and what became of those that were on their way when the connection was lost. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { content } from "../../src/index.js";
import type { Diagnostic, Ledger } from "../../src/index.js";
import { commandsPerBatchMax } from "../../src/kernel/limits.js";
import { open } from "../engine/fixture.js";
import { blockCommits } from "./blocker.js";
import { ask, behindProxy, expectSound, handled, journalUrl, refusal, schemaOf } from "./place.js";
import type { Proxy } from "./proxy.js";

/** What was left a second ago is not begun on: the watch stands still, so that no busy machine is too slow for that. */
let watch: number;
beforeEach(() => {
  watch = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => watch);
});
afterEach(() => void vi.restoreAllMocks());

async function note(ledger: Ledger, n: number): Promise<void> {
  await ledger.append("note/1", [{ type: "note.written", data: { n } }]);
}

const numbers = async (ledger: Ledger): Promise<unknown[]> =>
  (await ledger.readStream("note/1").toArray()).map(({ data }) => data["n"]);

/** Writes alone until nothing is waited for any more; as many notes as that takes, from 0 on. */
async function calm(ledger: Ledger): Promise<unknown[]> {
  const written = [0, 1, 2, 3, 4, 5];
  for (const n of written) await note(ledger, n);
  return written;
}

/** What the texts are about that go out from now on. */
function hearing(proxy: Proxy): string[] {
  const heard: string[] = [];
  proxy.hear = (text) => {
    const kind =
      /^(BEGIN|COMMIT)/.exec(text)?.[0] ??
      /FOR UPDATE/.exec(text)?.[0] ??
      /(?:INSERT INTO|UPDATE) \S+?\.(\w+)/.exec(text.replaceAll('"', ""))?.[1] ??
      (text.includes("ln((")
        ? "guard"
        : text.includes("(SELECT) one")
          ? "aside"
          : text.includes("pg_notify")
            ? "announcement"
            : text);
    if (kind !== "announcement") heard.push(kind);
  };
  return heard;
}

test("a batch of a writer alone is one round trip: all of it was sent before anything of it is answered", async () => {
  const { proxy, url } = await behindProxy();
  const ledger = await open(url);
  const before = await calm(ledger);
  const heard = hearing(proxy);
  const struck = proxy.cutWhen({ query: /^BEGIN/, moment: "answered", silent: true });

  const asked = note(ledger, 6);

  await struck;
  await expect.poll(() => heard).toEqual(["BEGIN", "FOR UPDATE", "guard", "entries", "streams", "COMMIT"]);
  proxy.restore();
  await asked;
  expect(await numbers(ledger)).toEqual([...before, 6]);
  await expectSound(ledger);
});

test("two batches are in the air, and no third, although more wait", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await open(url);
  const before = await calm(ledger);
  const heard = hearing(proxy);
  const commits = (): number => heard.filter((kind) => kind === "COMMIT").length;
  const blocker = await blockCommits(direct);

  const calling = callAll(ledger, 3 * commandsPerBatchMax);
  await expect.poll(commits).toBe(2);
  await expect.poll(() => blocker.waiting()).toBe(1);
  expect(heard.filter((kind) => kind === "BEGIN")).toHaveLength(2);

  await blocker.release();
  const told = await calling;
  expect(new Set(told)).toEqual(new Set(["done"]));
  expect(commits()).toBeGreaterThan(2);
  await expectTold(told, direct, before);
  await expectSound(ledger);
});

test("a batch in which all are refused asks the guard, and writes nothing", async () => {
  const { proxy, url } = await behindProxy();
  const ledger = await open(url);
  const before = await calm(ledger);
  const heard = hearing(proxy);

  const error = await refusal(ledger.append("note/1", [{ type: "note.written" }], { expected: 99 }));

  expect(error).toMatchObject({ code: "REVISION_CONFLICT" });
  await expect.poll(() => heard).toEqual(["BEGIN", "FOR UPDATE", "guard", "ROLLBACK"]);
  expect(await numbers(ledger)).toEqual(before);
});

test("after a second of rest the lock is waited for again, once", async () => {
  const { proxy, url } = await behindProxy();
  const ledger = await open(url);
  await calm(ledger);
  const heard = hearing(proxy);

  watch += 1_001;
  await note(ledger, 6);
  expect(heard.splice(0)).not.toContain("guard");

  await note(ledger, 7);
  expect(heard).toContain("guard");
});

/** What another writer changes, and what takes it back where it was made up. */
interface Other {
  readonly act: (url: string) => Promise<unknown>;
  readonly undo?: (url: string) => Promise<unknown>;
}

const made = "(id, name, version, indexes, status, position) VALUES (99, 'made up', 1, '[]', 'failed', -1)";
const others: Readonly<Record<string, Other>> = {
  "wrote to the same stream": { act: async (url) => note(await open(url), 100) },
  "wrote to another stream": {
    act: async (url) =>
      (await open(url)).append("note/2", [{ type: "note.written", data: { text: content("elsewhere") } }]),
  },
  "made a table of documents": {
    act: (url) => ask(url, `INSERT INTO "${schemaOf(url)}".projections ${made}`),
    undo: (url) => ask(url, `DELETE FROM "${schemaOf(url)}".projections WHERE id = 99`),
  },
  "took a turn": { act: (url) => ask(url, `INSERT INTO "${schemaOf(url)}".meta (key, value) VALUES ('turn', '1')`) },
  "moved the mark of the tables": {
    act: (url) =>
      ask(
        url,
        `INSERT INTO "${schemaOf(url)}".folded (one, position, entry_id, tables) SELECT 1, seq, id, '[]'
         FROM "${schemaOf(url)}".entries ORDER BY seq DESC LIMIT 1
         ON CONFLICT (one) DO UPDATE SET position = excluded.position, entry_id = excluded.entry_id`,
      ),
  },
};

for (const [what, { act, undo }] of Object.entries(others)) {
  test(`a batch that was begun although another ${what} is decided again, and both are right`, async () => {
    const url = journalUrl();
    const retried: Diagnostic[] = [];
    const ledger = await open(url, { onEvent: (event) => void (event.type === "retried" && retried.push(event)) });
    const before = await calm(ledger);
    await act(url);

    const said = await ledger.append("note/1", [{ type: "note.written", data: { n: 6 } }]);

    expect(retried).toHaveLength(1);
    const there = await ledger.readStream("note/1").toArray();
    expect(there.at(-1)).toMatchObject({ data: { n: 6 }, position: said.position, id: said.ids[0] });
    expect(there.map(({ data }) => data["n"])).toEqual([...before, ...(what.includes("same") ? [100] : []), 6]);
    await undo?.(url);
    await note(ledger, 7);
    expect(retried).toHaveLength(1);
    await expectSound(await open(url));
  });
}

/** So many callers at once are two batches, of which the second is begun when the first is on its way. */
const callers = 16;

/** What each of them was told. */
function callAll(ledger: Ledger, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => outcome(note(ledger, 100 + n))));
}

const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "done",
    (error: unknown) => (error as { readonly code: string }).code,
  );

/** What was done is there, once and in order; what was refused is not, and what is in doubt may be. */
async function expectTold(told: readonly string[], direct: string, before: readonly unknown[]): Promise<void> {
  const there = await numbers(await open(direct));
  const found = told.map((each, n) => (each === "STORE_IN_DOUBT" ? there.includes(100 + n) : each === "done"));
  expect(there).toEqual([...before, ...found.flatMap((isThere, n) => (isThere ? [100 + n] : []))]);
}

test("two batches that were begun although another wrote are decided again one behind the other", async () => {
  const { proxy, url, direct } = await behindProxy();
  const retried: Diagnostic[] = [];
  const ledger = await open(url, { onEvent: (event) => void (event.type === "retried" && retried.push(event)) });
  const before = await calm(ledger);
  await note(await open(direct), 50);
  proxy.delayMs = 30; // the second one is begun before the first one is known to have failed

  const told = await callAll(ledger, callers);

  expect(told).toEqual(Array.from({ length: callers }, () => "done"));
  proxy.delayMs = 0;
  expect(retried.length).toBeGreaterThan(0); // both, unless this machine is slow
  await expectTold(told, direct, [...before, 50]);
  await expectSound(ledger);
});

/** For a ledger that gives up an answer after a second. */
function impatient(url: string): string {
  const address = new URL(url);
  address.searchParams.set("query_timeout", "1000");
  address.searchParams.set("connect_timeout", "5");
  return address.href;
}

for (const [what, query, count, after, told] of [
  ["a batch that the network held back as a whole", /^BEGIN/, 1, 0, ["STORE_UNAVAILABLE"]],
  ["what follows the first word of a batch", /FOR UPDATE/, 1, 0, ["STORE_UNAVAILABLE"]],
  ["the guard and what follows it", /\bln\(/, 1, 0, ["STORE_UNAVAILABLE", "STORE_IN_DOUBT"]],
  ["two batches that the network held back", /^BEGIN/, callers, 0, ["STORE_UNAVAILABLE", "done"]],
  ["the second of two batches", /^BEGIN/, callers, 1, ["STORE_UNAVAILABLE", "done"]],
] as const) {
  test(`${what}, given up and then let through, comes too late: what callers were told stays so`, async () => {
    const { proxy, url, direct } = await behindProxy();
    const ledger = await open(impatient(url), { busyTimeoutMs: 2_000 });
    const before = await calm(ledger);
    const { backends } = proxy;
    const struck = proxy.cutWhen({ query, moment: "before", silent: true, after });
    vi.restoreAllMocks();

    const calling = callAll(ledger, count);
    await struck;
    const heard = await calling;
    for (const each of heard) expect(told).toContain(each);
    await expectTold(heard, direct, before);

    proxy.restore();
    await handled(proxy, direct, backends);
    await expectTold(heard, direct, before);
    await note(ledger, 8);
    await expectSound(await open(direct));
  });
}

for (const [name, query] of [
  ["the guard", /\bln\(/],
  ["the COMMIT", /^COMMIT/],
] as const) {
  for (const moment of ["before", "sent", "answered"] as const) {
    for (const after of [0, 1]) {
      test(`the connection is lost at ${name}, ${moment}, of batch ${after + 1} of two in the air: what callers were told is what is there`, async () => {
        const { proxy, url, direct } = await behindProxy();
        const ledger = await open(url, { busyTimeoutMs: 60_000 });
        const before = await calm(ledger);
        const struck = proxy.cutWhen({ query, moment, after });

        const told = await callAll(ledger, callers);
        await struck;

        for (const each of told) expect(each).toMatch(/^(done|STORE_UNAVAILABLE)$/);
        await expectTold(told, direct, before);
        await note(ledger, 8);
        await expectSound(await open(direct));
      });
    }
  }
}

/** Two revisions in each of these streams, by somebody else. */
async function writeOld(url: string, count: number): Promise<void> {
  const other = await open(url);
  for (let n = 0; n < count; n++) await other.append(`old/${n}`, [{ type: "old.written" }, { type: "old.written" }]);
  await other.close();
}

const revisions = async (ledger: Ledger, stream: string): Promise<number[]> =>
  (await ledger.readStream(stream).toArray()).map(({ revision }) => revision);

test("an old stream that nobody here knows is taken for new once, and others are asked for aside until 256 were new", async () => {
  const { proxy, url, direct } = await behindProxy();
  await writeOld(direct, 4);
  const retried: Diagnostic[] = [];
  const ledger = await open(url, { onEvent: (event) => void (event.type === "retried" && retried.push(event)) });
  const append = (stream: string, expected?: number): Promise<unknown> =>
    ledger.append(stream, [{ type: "old.written" }], expected === undefined ? {} : { expected });
  await calm(ledger);

  await append("old/0");
  expect(retried).toHaveLength(1);
  await calm(ledger);
  const heard = hearing(proxy);
  await append("old/1");
  expect(heard.splice(0)).toEqual(expect.arrayContaining(["aside", "guard"]));
  await Promise.all(Array.from({ length: 256 }, (_, n) => append(`new/${n}`)));
  expect(heard.splice(0)).toContain("aside");

  await append("new/256");
  expect(heard.splice(0)).toEqual(["BEGIN", "FOR UPDATE", "guard", "entries", "streams", "COMMIT"]);
  expect(retried).toHaveLength(1);
  await append("old/2", 2);
  expect(retried).toHaveLength(2);
  for (const n of [0, 1, 2]) expect(await revisions(ledger, `old/${n}`)).toEqual([1, 2, 3]);
  expect(await revisions(ledger, "new/256")).toEqual([1]);
  await expectSound(ledger);
});

for (const [expected, told] of [
  [0, "REVISION_CONFLICT"],
  [2, "done"],
  [3, "REVISION_CONFLICT"],
] as const) {
  test(`an append to an old stream that nobody here knows, expected at ${expected}, is told what is there: ${told}`, async () => {
    const url = journalUrl();
    await writeOld(url, 1);
    const ledger = await open(url);
    await calm(ledger);

    expect(await outcome(ledger.append("old/0", [{ type: "old.written" }], { expected }))).toBe(told);

    expect(await revisions(ledger, "old/0")).toEqual(told === "done" ? [1, 2, 3] : [1, 2]);
    await expectSound(ledger);
  });
}

test("of more streams than are remembered each has its revisions, one behind the other", async () => {
  vi.restoreAllMocks();
  const url = journalUrl();
  const ledger = await open(url);
  const streams = Array.from({ length: 10_300 }, (_, n) => `s/${n}`);
  const again = streams.filter((_, n) => n % 97 === 0 || n < 64);
  for (let from = 0; from < streams.length; from += 1_024)
    await Promise.all(streams.slice(from, from + 1_024).map((stream) => ledger.append(stream, [{ type: "s.begun" }])));

  await Promise.all(again.map((stream) => ledger.append(stream, [{ type: "s.ended" }])));
  // Those that were found first are written in two batches in the air, behind others that are found again.
  const isFree = (_: string, n: number): boolean => n % 97 !== 0 && n >= 64;
  const [lost, first] = [streams.filter(isFree).slice(0, 240), streams.filter(isFree).slice(530, 620)];
  const blocker = await blockCommits(url);
  const calling = [...lost, ...first, ...first, ...lost].map((stream) => ledger.append(stream, [{ type: "s.ended" }]));
  await expect.poll(() => blocker.waiting()).toBe(1);
  await ask(url, "SELECT pg_sleep(0.1)"); // the second one looks for what it needs
  await blocker.release();
  await Promise.all(calling);

  const found = new Map<string, number[]>();
  for await (const { stream, revision } of ledger.read())
    if (stream.startsWith("s/")) found.set(stream, [...(found.get(stream) ?? []), revision]);
  const expected = new Map(streams.map((stream) => [stream, [1]]));
  for (const stream of again) expected.set(stream, [1, 2]);
  for (const stream of [...lost, ...first]) expected.set(stream, [1, 2, 3]);
  expect(found).toEqual(expected);
  await expectSound(ledger);
});

test("a ledger that is closed while two batches are on their way is closed when both were told", async () => {
  const url = journalUrl();
  const ledger = await open(url);
  const before = await calm(ledger);
  const blocker = await blockCommits(url);
  const order: string[] = [];
  const asked = [note(ledger, 6).then(() => order.push("first"))];
  for (let n = 0; n < 2; n++) await new Promise((resolve) => setImmediate(resolve)); // the first one has left
  asked.push(note(ledger, 7).then(() => order.push("second")));
  await expect.poll(() => blocker.waiting()).toBeGreaterThan(0);

  const closing = ledger.close().then(() => order.push("closed"));
  await blocker.release();
  await Promise.all([...asked, closing]);

  expect(order).toEqual(["first", "second", "closed"]);
  const other = await open(url);
  expect(await numbers(other)).toEqual([...before, 6, 7]);
  await expectSound(other);
});
