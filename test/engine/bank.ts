/** A small closed area with commands: accounts that are opened, and money that moves between them. */
import { defineProjection } from "../../projections/define-projection.js";
import type { Projection } from "../../projections/define-projection.js";
import { accept, contentSalt, defineCommand, defineEvents, LedgerError, refuse } from "../../src/index.js";
import type { ContentReference, LedgerOptions } from "../../src/index.js";

export interface Account {
  readonly owner: string;
  balance: number;
  note: ContentReference | null;
}

export const bankEvents = defineEvents(
  "bank",
  { open: false, kinds: ["account"] },
  {
    "bank.opened": {},
    "bank.deposited": { content: ["/note"] },
    "bank.withdrawn": {},
    "bank.closed": {},
  },
);

/** An area that anybody may write; no command of these does. */
export const logEvents = defineEvents("log", { open: true }, { "log.written": {} });

const key = ({ data }: { readonly data: Record<string, unknown> }): string => data["account"] as string;

export const accounts: Projection<Account> = defineProjection<Account>()({
  name: "bank-account",
  version: 1,
  indexes: { owner: ({ owner, balance }) => [owner, balance] },
  on: {
    "bank.opened": {
      key,
      apply: (_, { data }) => ({ owner: data["owner"] as string, balance: 0, note: null }),
    },
    "bank.deposited": {
      key,
      apply: (account, { data }) => {
        if (account === undefined) return undefined;
        account.balance += data["cents"] as number;
        if (data["note"] !== undefined) account.note = data["note"] as ContentReference;
      },
    },
    "bank.withdrawn": {
      key,
      apply: (account, { data }) => {
        if (account !== undefined) account.balance -= data["cents"] as number;
      },
    },
    "bank.closed": { key, apply: () => null },
  },
});

export const openAccount = defineCommand("bank.open", {
  reads: [(input: { readonly account: string; readonly owner: string }) => ({ account: accounts.get(input.account) })],
  decide: ({ account }, input, context) => {
    if (account !== null) return refuse("ACCOUNT_EXISTS", { account: input.account, owner: account.owner });
    const id = context.newId();
    return accept([{ stream: `account/${input.account}`, type: "bank.opened", data: { ...input, id } }], {
      id,
      at: context.at,
    });
  },
});

export interface Deposit {
  readonly account: string;
  readonly cents: number;
  /** Content. */
  readonly note?: unknown;
}

/** Says whether the note is the one that the account has already; `never` throws. */
export const deposit = defineCommand("bank.deposit", {
  reads: [
    (input: Deposit) => ({ account: accounts.get(input.account) }),
    (_input, { account }) => ({ note: contentSalt(account?.note) }),
  ],
  decide: ({ account, note }, input, context) => {
    if (account === null) return refuse("ACCOUNT_MISSING", { account: input.account });
    if (input.cents === 666) throw new RangeError("never that sum");
    const same = account.note !== null && input.note !== undefined && context.sameContent(account.note, input.note);
    const kept = input.note === undefined || same ? {} : { note: input.note };
    const data = { account: input.account, cents: input.cents, ...kept };
    return accept([{ stream: `account/${input.account}`, type: "bank.deposited", data }], {
      balance: account.balance + input.cents,
      same,
      note: note?.state ?? null,
    });
  },
});

export interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly cents: number;
}

export const transfer = defineCommand("bank.transfer", {
  reads: [(input: Transfer) => ({ from: accounts.get(input.from), to: accounts.get(input.to) })],
  decide: ({ from, to }, input) => {
    if (from === null || to === null) return refuse("ACCOUNT_MISSING");
    if (from.balance < input.cents)
      return refuse("POOR", { account: input.from, balance: from.balance }, { message: "a transfer needs its money" });
    const { cents } = input;
    return accept([
      { stream: `account/${input.from}`, type: "bank.withdrawn", data: { account: input.from, cents } },
      { stream: `account/${input.to}`, type: "bank.deposited", data: { account: input.to, cents } },
    ]);
  },
});

/** Writes nothing: answers who has how much. */
export const ask = defineCommand("bank.ask", {
  reads: [(input: { readonly owner: string }) => ({ all: accounts.find({ index: "owner", prefix: [input.owner] }) })],
  decide: ({ all }) =>
    accept(
      [],
      all.documents.map(({ key: account, document }) => `${account}: ${document.balance}`),
    ),
});

export const bank: LedgerOptions = {
  events: [bankEvents, logEvents],
  projections: [accounts],
  commands: [openAccount, deposit, transfer, ask],
};

/** The error that a call was refused with. */
export async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
