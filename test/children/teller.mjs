/** Moves money between two accounts by commands, eight at a time, and says how many were accepted, how many were refused, and
 *  which balances it finds at the end. usage: teller.mjs PATH NAME COUNT, with COUNT 0 to open the accounts */
import { writeSync } from "node:fs";
import { accept, defineCommand, defineEvents, openLedger, refuse } from "../../dist/src/index.js";
import { defineProjection } from "../../dist/projections/define-projection.js";

const [path, name, count] = process.argv.slice(2);

const events = defineEvents(
  "bank",
  { open: false, kinds: ["account"] },
  { "bank.opened": {}, "bank.deposited": {}, "bank.withdrawn": {} },
);
const key = ({ data }) => data.account;
const accounts = defineProjection()({
  name: "shared-account",
  version: 1,
  on: {
    "bank.opened": { key, apply: (_, { data }) => ({ balance: data.cents }) },
    "bank.deposited": { key, apply: (account, { data }) => void (account.balance += data.cents) },
    "bank.withdrawn": { key, apply: (account, { data }) => void (account.balance -= data.cents) },
  },
});
const event = (type, account, cents) => ({
  stream: `account/${account}`,
  type,
  data: { account, cents, by: name },
});
const open = defineCommand("bank.open", {
  decide: (_, { account, cents }) => accept([event("bank.opened", account, cents)]),
});
const transfer = defineCommand("bank.transfer", {
  reads: [({ from }) => ({ from: accounts.get(from) })],
  decide: ({ from: { balance } }, { from, to, cents }) =>
    balance < cents
      ? refuse("POOR", { balance })
      : accept([event("bank.withdrawn", from, cents), event("bank.deposited", to, cents)]),
});
const ask = defineCommand("bank.ask", {
  reads: [() => ({ a: accounts.get("a"), b: accounts.get("b") })],
  decide: ({ a, b }) => accept([], [a.balance, b.balance]),
});

const ledger = await openLedger(path, {
  events: [events],
  projections: [accounts],
  commands: [open, transfer, ask],
  busyTimeoutMs: 60_000,
});
const told = { accepted: 0, refused: 0 };
if (count === "0") await ledger.execute([open({ account: "a", cents: 20 }), open({ account: "b", cents: 0 })]);
let next = 0;
const call = async () => {
  while (next < Number(count)) {
    const index = next++;
    const [from, to] = index % 2 === 0 ? ["a", "b"] : ["b", "a"];
    try {
      await ledger.execute(transfer({ from, to, cents: 1 + (index % 7) }));
      told.accepted++;
    } catch (error) {
      if (error.code !== "POOR") throw error;
      told.refused++;
    }
  }
};
await Promise.all(Array.from({ length: 8 }, call));
const { result } = await ledger.execute(ask());
await ledger.close();
writeSync(1, `${JSON.stringify({ ...told, balances: result })}\n`);
