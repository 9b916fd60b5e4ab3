/** Batches that do not wait for the lock, nor for the commit before them (decision 0030): what goes out for one, what makes one
 *  void, and what became of those that were on their way when the connection was lost. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { content } from "../../src/index.js";
import type { Diagnostic, Ledger } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { ask, behindProxy, expectSound, journalUrl, refusal, schemaOf } from "./place.js";
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
      (text.includes("ln((") ? "guard" : text.includes("pg_notify") ? "announcement" : text);
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

const others: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  "wrote to the same stream": async (url) => note(await open(url), 100),
  "wrote to another stream": async (url) =>
    (await open(url)).append("note/2", [{ type: "note.written", data: { text: content("elsewhere") } }]),
  "entered a table of documents": (url) =>
    ask(
      url,
      `INSERT INTO "${schemaOf(url)}".projections (id, name, version, indexes, status, position)
         VALUES (9, 'counts', 1, '[]', 'failed', -1)`,
    ),
  "took a turn": (url) => ask(url, `INSERT INTO "${schemaOf(url)}".meta (key, value) VALUES ('turn', '1')`),
  "moved the mark of the tables": (url) =>
    ask(
      url,
      `INSERT INTO "${schemaOf(url)}".folded (one, position, entry_id, tables) SELECT 1, seq, id, '[]'
         FROM "${schemaOf(url)}".entries ORDER BY seq DESC LIMIT 1
         ON CONFLICT (one) DO UPDATE SET position = excluded.position, entry_id = excluded.entry_id`,
    ),
};

for (const [what, act] of Object.entries(others)) {
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
    await ask(url, `DELETE FROM "${schemaOf(url)}".projections WHERE id = 9`);
    await note(ledger, 7);
    expect(retried).toHaveLength(1);
    await expectSound(await open(url));
  });
}

/** For a ledger that gives up an answer after a second. */
function impatient(url: string): string {
  const address = new URL(url);
  address.searchParams.set("query_timeout", "1000");
  address.searchParams.set("connect_timeout", "5");
  return address.href;
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "done",
    (error: unknown) => (error as { readonly code: string }).code,
  );

/** The batch that was asked for has left, and another one may begin on it. */
async function oneLeft(): Promise<void> {
  for (let n = 0; n < 2; n++) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when the server is at the end of all that it was sent by backends that the proxy has no more. */
async function handled(proxy: Proxy, direct: string, before: readonly number[]): Promise<void> {
  const gone = before.filter((pid) => !proxy.backends.includes(pid));
  expect(gone.length).toBeGreaterThan(0);
  const left = async (): Promise<unknown[]> =>
    ask(direct, "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[])", [gone]);
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
}

for (const [what, query, after, batches] of [
  ["a batch that was held back by the network as a whole", /^BEGIN/, 0, 1],
  ["what was sent behind the first word of a batch", /FOR UPDATE/, 0, 1],
  ["two batches that were held back by the network", /^BEGIN/, 0, 2],
  ["the second of two batches", /^BEGIN/, 1, 2],
] as const) {
  test(`${what} and then given up comes too late: what callers were told stays so`, async () => {
    const { proxy, url, direct } = await behindProxy();
    const ledger = await open(impatient(url), { busyTimeoutMs: 5_000 });
    const before = await calm(ledger);
    const { backends } = proxy;
    const struck = proxy.cutWhen({ query, moment: "before", silent: true, after });
    vi.restoreAllMocks();

    const asked = [codeOf(note(ledger, 6))];
    if (batches > 1) {
      await oneLeft();
      asked.push(codeOf(note(ledger, 7)));
    }
    await struck;
    const told = await Promise.all(asked);
    proxy.restore();
    await handled(proxy, direct, backends);

    // One that was begun on what was lost may be decided again, and is done then.
    expect(told[0]).toBe(after === 0 ? "STORE_UNAVAILABLE" : "done");
    expect(["done", "STORE_UNAVAILABLE"]).toEqual(expect.arrayContaining(told));
    const rightly = [...before, ...told.flatMap((each, n) => (each === "done" ? [6 + n] : []))];
    const other = await open(direct);
    expect(await numbers(other)).toEqual(rightly);
    await note(ledger, 8);
    expect(await numbers(other)).toEqual([...rightly, 8]);
    await expectSound(other);
  });
}

for (const query of [/^BEGIN/, /FOR UPDATE/, /ln\(\(/, /INSERT INTO \S*entries/, /^COMMIT/]) {
  for (const moment of ["before", "sent", "answered"] as const) {
    for (const after of [0, 1]) {
      test(`the connection is lost ${moment} ${query.source} of batch ${after + 1} of two: what both were told is what is there`, async () => {
        const { proxy, url, direct } = await behindProxy();
        const ledger = await open(url, { busyTimeoutMs: 10_000 });
        const before = await calm(ledger);
        const struck = proxy.cutWhen({ query, moment, after });

        const asked = [codeOf(note(ledger, 6))];
        await oneLeft();
        asked.push(codeOf(note(ledger, 7)));
        const told = await Promise.all(asked);
        proxy.restore();
        await Promise.race([struck, note(ledger, 8)]);
        await codeOf(note(ledger, 9));

        const found = (await numbers(await open(direct))).filter((n) => n !== 8 && n !== 9);
        for (const each of told) expect(each).toMatch(/^(done|STORE_UNAVAILABLE)$/);
        expect(found).toEqual([...before, ...told.flatMap((each, n) => (each === "done" ? [6 + n] : []))]);
        await expectSound(await open(direct));
      });
    }
  }
}
