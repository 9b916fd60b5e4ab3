/** A small area to project, and what is stored of its tables. */
import { defineProjection } from "../../projections/define-projection.js";
import type { AnyProjection, Projection } from "../../projections/define-projection.js";
import type { Ledger, NewEvent, Store } from "../../src/index.js";
import type { FoldedMark, ProjectionRow } from "../../src/journal/documents.js";
import { withSnapshot } from "../../src/engine/snapshot.js";

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
