/** What callers send at once is one transaction of the server, with everything that it changes, and one statement a table. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { content, defineEvents, defineProjection, queueCommands } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { ask, behindProxy, expectSound, journalUrl, schemaOf } from "./place.js";
import type { Proxy } from "./proxy.js";

/** Batches are cut by the watch of the host: it stands still, so that no busy machine splits one. */
beforeEach(() => void vi.spyOn(performance, "now").mockReturnValue(performance.now()));
afterEach(() => void vi.restoreAllMocks());

const numbers = Array.from({ length: 64 }, (_, n) => n);
const events = defineEvents("note", { open: true }, { "note.written": {} });
const counts = defineProjection<{ readonly count: number }>()({
  name: "counts",
  version: 1,
  indexes: { count: ({ count }) => [count] },
  on: {
    "note.written": { key: ({ stream }) => stream, apply: (found) => ({ count: (found?.count ?? 0) + 1 }) },
  },
});
const options = { events: [events], projections: [counts] };

async function writeAll(ledger: Ledger, round: string): Promise<void> {
  await Promise.all(
    numbers.map((n) =>
      ledger.append(`note/${n}`, [{ type: "note.written", data: { n, text: content(`${round} ${n}`) } }]),
    ),
  );
}

/** What goes to the server from now on, statement by statement. */
function statementsThrough(proxy: Proxy): string[] {
  const seen: string[] = [];
  const cutFor = proxy.cutFor.bind(proxy);
  proxy.cutFor = (text) => {
    seen.push(text);
    return cutFor(text);
  };
  return seen;
}

/** Which transactions of the server wrote the rows of a table that are there now. */
async function writersOf(url: string, table: string, where = "true"): Promise<unknown[]> {
  const rows = await ask(url, `SELECT DISTINCT xmin::text FROM "${schemaOf(url)}".${table} WHERE ${where}`);
  return rows.map(({ xmin }) => xmin);
}

test("64 appends at once are one transaction, with their contents, streams, documents and the mark", async () => {
  const url = journalUrl();
  const ledger = await open(url, options);
  await writeAll(ledger, "before");
  const { size } = await ledger.status();

  await writeAll(ledger, "now");

  const [one, ...more] = await writersOf(url, "entries", `seq >= ${size}`);
  expect(more).toEqual([]);
  const last = size + numbers.length - 1;
  expect(await ask(url, `SELECT max(seq)::int AS last FROM "${schemaOf(url)}".entries`)).toEqual([{ last }]);
  expect(await writersOf(url, "streams", "name LIKE 'note/%'")).toEqual([one]);
  expect(await writersOf(url, "contents", `n > ${numbers.length}`)).toEqual([one]);
  expect(await writersOf(url, "folded")).toEqual([one]);
  const [table] = await ask(url, `SELECT id FROM "${schemaOf(url)}".projections WHERE name = 'counts'`);
  expect(await writersOf(url, `doc_${String(table!["id"])}`)).toEqual([one]);
  await expectSound(ledger);
});

test("64 appends at once are one statement a table, and so is each transaction of 64 commands", async () => {
  const { proxy, url } = await behindProxy();
  const ledger = await open(url, options);
  await writeAll(ledger, "before");
  await ledger.execute(numbers.map((n) => queueCommands.enqueue({ runId: `before-${n}` })));
  const seen = statementsThrough(proxy);
  /** The tables that each transaction wrote to, a name for each statement. */
  const writes = (): string[][] => {
    const made: string[][] = [[]];
    for (const text of seen.splice(0)) {
      const found = /(?:INSERT INTO|UPDATE) \S+?\.(\w+)/.exec(text.replaceAll('"', ""));
      if (text === "COMMIT") made.push([]);
      else if (found !== null && !text.includes("FOR UPDATE")) made.at(-1)!.push(found[1]!.replace(/\d+/, "N"));
    }
    return made.filter((tables) => tables.length > 0);
  };

  await writeAll(ledger, "now");
  expect(writes().map((tables) => tables.sort())).toEqual([["contents", "doc_N", "entries", "folded", "streams"]]);

  await Promise.all(numbers.map((n) => ledger.execute(queueCommands.enqueue({ runId: `r${n}` }))));
  const queued = writes();
  expect(queued.length).toBeLessThanOrEqual(2); // one half is decided while the other is written
  for (const tables of queued) {
    const others = tables.filter((table) => table !== "doc_N");
    expect(others).toContain("entries");
    expect(new Set(others).size).toBe(others.length);
    expect(tables.length - others.length).toBeLessThanOrEqual(3);
  }
});
