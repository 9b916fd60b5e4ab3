/** A small area to project, and what is stored of its tables. */
import { defineProjection } from "../../projections/define-projection.js";
import type { AnyProjection, Projection } from "../../projections/define-projection.js";
import { BulkTable } from "../../projections/bulk.js";
import { eventOf } from "../../projections/event-of.js";
import { indexKeys } from "../../projections/reducer.js";
import { replay } from "../../projections/replay.js";
import { expect } from "vitest";
import type { EventDefinitions, Ledger, NewEvent, Store } from "../../src/index.js";
import type { FoldedMark, ProjectionRow } from "../../src/journal/documents.js";
import { withSnapshot } from "../../src/engine/snapshot.js";
import { decodeStored } from "../../src/journal/stored.js";
import { open } from "./fixture.js";

export interface Account {
  owner: string;
  balance: number;
  moves: number;
}

/** Accounts: opened, moved, closed. Whoever `breaks` throws at that amount. */
export function accounts(options: { readonly version?: number; readonly breaks?: number } = {}): Projection<Account> {
  const key = (event: { readonly data: Record<string, unknown> }): string => event.data["account"] as string;
  return defineProjection<Account>()({
    name: "account",
    version: options.version ?? 1,
    indexes: {
      owner: ({ owner, balance }) => [owner, balance],
      rich: ({ balance }) => (balance >= 100 ? [balance] : null),
    },
    on: {
      "account.opened": { key, apply: (_, { data }) => ({ owner: data["owner"] as string, balance: 0, moves: 0 }) },
      "account.moved": {
        key,
        apply: (account, { data }) => {
          if (data["amount"] === options.breaks) throw new Error(`no such amount: ${options.breaks}`);
          if (account === undefined) return undefined;
          account.balance += data["amount"] as number;
          account.moves += 1;
        },
      },
      "account.closed": { key, apply: () => null },
    },
  });
}

/** How many events of each type there were: an area may be listed by several projections. */
export const counts: Projection<{ count: number }> = defineProjection<{ count: number }>()({
  name: "count",
  version: 1,
  on: Object.fromEntries(
    ["account.opened", "account.moved", "account.closed"].map((type) => [
      type,
      { key: () => type, apply: (document: { count: number } | undefined) => ({ count: (document?.count ?? 0) + 1 }) },
    ]),
  ),
});

export const opened = (account: string, owner = "ann"): NewEvent => ({
  type: "account.opened",
  data: { account, owner },
});
export const moved = (account: string, amount: number): NewEvent => ({
  type: "account.moved",
  data: { account, amount },
});
export const closed = (account: string): NewEvent => ({ type: "account.closed", data: { account } });

/** Appends to the stream of one account. */
export function append(ledger: Ledger, account: string, ...events: readonly NewEvent[]): Promise<unknown> {
  return ledger.append(`account/${account}`, events);
}

/** The accounts of a journal that is `filled`. */
export const names = ["a", "b", "c", "d", "e", "f", "g"];

/** A journal of so many moves and more, by a program without projections. */
export async function filled(store: Store, moves: number): Promise<Ledger> {
  const plain = await open(store);
  for (const name of names) await append(plain, name, opened(name));
  for (let left = moves; left > 0; left -= 1_000)
    await append(
      plain,
      "a",
      ...Array.from({ length: Math.min(left, 1_000) }, (_, n) => moved(names[n % names.length]!, n)),
    );
  return plain;
}

/** Holds what a ledger answers to the fold of its journal. */
export async function expectWhole(ledger: Ledger, projection: AnyProjection): Promise<void> {
  const whole = (await replay([projection], await ledger.read().toArray())).projection(projection);
  expect(await ledger.projection(projection).digest()).toEqual(whole.digest());
}

/** What is stored of a projection: its row, its documents by key, and the mark of all. */
export async function storedTable(
  store: Store,
  { name, version }: AnyProjection,
): Promise<{
  readonly row: ProjectionRow | null;
  readonly mark: FoldedMark | null;
  readonly listed: boolean;
  readonly documents: Readonly<Record<string, unknown>>;
}> {
  return withSnapshot(store, async (reads) => {
    const rows = await reads.projections();
    const row = rows.find((each) => each.name === name && each.version === version) ?? null;
    const mark = await reads.folded();
    const stored = row === null ? [] : await reads.documentsByKey(row.id, null, 100_000);
    return {
      row,
      mark,
      listed: row !== null && mark?.tables.includes(row.id) === true,
      documents: Object.fromEntries(stored.map(({ key, text }) => [key, JSON.parse(text) as unknown])),
    };
  });
}

/** Holds every table that is stored to the fold of the journal up to where it says that it stands, and its indexes to its
 *  documents. */
export async function expectTables(
  store: Store,
  projections: readonly AnyProjection[],
  events: readonly EventDefinitions[] = [],
): Promise<void> {
  const areas = new Map(events.map((each) => [each.area, each]));
  await withSnapshot(store, async (reads) => {
    const mark = await reads.folded();
    const entries = (await reads.entries(0, 1_000_000)).map((entry) => decodeStored(entry).fields);
    for (const row of await reads.projections()) {
      const projection = projections.find(({ name, version }) => name === row.name && version === row.version);
      if (projection === undefined) continue;
      const isListed = mark?.tables.includes(row.id) === true;
      const position = isListed ? mark.position : row.position;
      const table = new BulkTable(projection);
      for (const fields of entries) {
        if (fields.seq > position) break;
        const event = eventOf(fields, areas);
        if ("unknown" in event) table.foldUnknown(event);
        else table.fold(event);
      }
      const stored = await reads.documentsByKey(row.id, null, 1_000_000);
      const found = new Map(stored.map(({ key, text }) => [key, JSON.parse(text) as unknown]));
      const name = `${row.name} ${row.version} at ${position}`;
      expect([name, table.error]).toEqual([name, null]);
      expect([name, found]).toEqual([name, new Map([...table.documents()].sort(([a], [b]) => (a < b ? -1 : 1)))]);
      if (row.status === "failed") expect([name, isListed]).toEqual([name, false]);
      for (const [index] of row.indexes.entries()) {
        const range = { index, from: new Uint8Array(), to: null, reverse: false, limit: 1_000_000 };
        const inIndex = (await reads.documentsByIndex(row.id, range)).map(({ key, at }) => [key, Buffer.from(at)]);
        const expected = [...table.documents()]
          .map(([key, document]) => [key, indexKeys(projection, document, key)[index]!] as const)
          .filter(([, at]) => at !== null)
          .sort(([, a], [, b]) => Buffer.compare(a, b))
          .map(([key, at]) => [key, Buffer.from(at)]);
        expect([name, index, inIndex]).toEqual([name, index, expected]);
      }
    }
  });
}

/** The store, as it is when it was opened for reading only. */
export function readOnly(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "readOnly") return true;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
