/** What callers send at once is one transaction of the server, with everything that it changes, and one statement a table. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  accept,
  content,
  defineCommand,
  defineEvents,
  defineProjection,
  queueCommands,
  refuse,
} from "../../src/index.js";
import type { Ledger, LedgerOptions } from "../../src/index.js";
import { accounts, bank, openAccount } from "../engine/bank.js";
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

/** What is read before the lock, and between it and the COMMIT: tables and the columns by which they are read. */
function readsOf(statements: readonly string[]): { readonly ahead: string[]; readonly under: string[] } {
  const read = (text: string): string[] => {
    const words = text.replaceAll(/"j_\w+"\./g, "").replaceAll('"', "");
    if (!words.startsWith("SELECT") || words.includes("FOR UPDATE")) return [];
    if (words.includes("clock_timestamp")) return ["ground"];
    if (words.startsWith("SELECT encode(id")) return ["ids"]; // of the tile that is full now
    const [, found, by] = /FROM (\w+)(?: WHERE (\w+))?/.exec(words)!;
    const table = found!.replace(/\d+/, "N");
    return [by?.startsWith("index_") === true ? `${table} by ${by}` : table];
  };
  const lock = statements.findIndex((text) => text.includes("FOR UPDATE"));
  const commit = statements.indexOf("COMMIT");
  expect(statements.filter((text) => text === "COMMIT")).toHaveLength(1);
  return { ahead: statements.slice(0, lock).flatMap(read), under: statements.slice(lock, commit).flatMap(read) };
}

const spend = defineCommand("bank.spend", {
  reads: [
    (input: { readonly account: string; readonly owner: string }) => ({
      account: accounts.get(input.account),
      all: accounts.find({ index: "owner", prefix: [input.owner] }),
    }),
  ],
  decide: ({ account, all }, { account: name }) => {
    if (account === null || all.documents.length === 0) return refuse("ACCOUNT_MISSING", { account: name });
    return accept([{ stream: `account/${name}`, type: "bank.deposited", data: { account: name, cents: 1 } }]);
  },
});

test("of 64 commands beside another writer, what they read is read before the lock, a table in one statement and an index in one go, and none of it under the lock", async () => {
  const { proxy, url, direct } = await behindProxy();
  const spending: LedgerOptions = { ...bank, commands: [...bank.commands!, spend] };
  const there = await open(direct, spending);
  const spendAll = async (ledger: Ledger, count: number): Promise<void> => {
    const wishes = numbers.slice(0, count).map((n) => spend({ account: `a${n}`, owner: `o${n % 8}` }));
    await Promise.all(wishes.map((wish) => ledger.execute(wish)));
  };
  await Promise.all(numbers.map((n) => there.execute(openAccount({ account: `a${n}`, owner: `o${n % 8}` }))));
  // It knows the first account, and that it is not alone.
  const here = await open(url, spending);
  for (let round = 0; round < 2; round++) {
    await spendAll(here, 1);
    await spendAll(there, 1);
  }
  const seen: string[] = [];
  proxy.hear = (text) => void seen.push(text);

  await spendAll(here, 64);
  const unknown = readsOf(seen.splice(0));
  await spendAll(there, 64);
  await spendAll(here, 64);
  const known = readsOf(seen.splice(0));

  // Streams by number and types are the adapter's own, and are asked for again when others wrote, once for all of them.
  expect(unknown.under.filter((read) => read !== "ids")).toEqual(["ground", "streams", "types"]);
  expect(known.under.filter((read) => read !== "ids")).toEqual(["ground", "streams", "types"]);
  // An index is asked for each range that is not known, of seven owners and behind each, all in one go.
  const ranges = Array.from({ length: 14 }, () => "doc_N by index_0");
  expect(unknown.ahead).toEqual(["ground", "entries", "doc_N", ...ranges, "streams"]);
  expect(known.ahead).toEqual(["ground", "entries", "doc_N"]);
  await expectSound(here);
});
