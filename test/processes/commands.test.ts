/** Commands of two operating-system processes on one file: each decides on what the other one did. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { freshPlace, sharedStoreNames } from "../engine/fixture.js";
import { runChild } from "./child.js";
import type { Finished } from "./child.js";

interface Told {
  readonly accepted: number;
  readonly refused: number;
  readonly balances: readonly [number, number];
}

function told({ code, stderr, lines }: Finished): Told {
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(lines[0]!) as Told;
}

test.each(sharedStoreNames)(
  "two processes that move money by commands never decide on a balance that the other has changed, on %s",
  async (name) => {
    const path = freshPlace(name);
    const before = told(await runChild("teller.mjs", [path, "bank", "0"]));

    const tellers = await Promise.all(["one", "two"].map((teller) => runChild("teller.mjs", [path, teller, "150"])));
    const after = told(await runChild("teller.mjs", [path, "three", "1"]));

    expect(before.balances).toEqual([20, 0]);
    const moved = [...tellers.map(told), after];
    expect(moved.map(({ accepted, refused }) => accepted + refused)).toEqual([150, 150, 1]);
    const ledger = await openLedger(path, { readOnly: true });
    const moves = await ledger.read({ types: ["bank.withdrawn", "bank.deposited"] }).toArray();
    const report = await ledger.verify();
    await ledger.close();
    expect(moves.length).toBe(2 * moved.reduce((sum, { accepted }) => sum + accepted, 0));
    // What each command decided on, as the journal says it in its order.
    const kept: Record<string, number> = { a: 20, b: 0 };
    for (const { type, data } of moves) {
      const { account, cents } = data as { readonly account: string; readonly cents: number };
      kept[account]! += type === "bank.deposited" ? cents : -cents;
      expect(kept[account]).toBeGreaterThanOrEqual(0);
    }
    expect(after.balances).toEqual([kept["a"], kept["b"]]);
    expect(report).toMatchObject({ verdict: "OK", findings: [] });
  },
);
