/** What is left after a thread gave up, and what a user without rights makes of it: the journal verifies. */
import { chmodSync, chownSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { freshPlace, ledgerPath, open, sharedStoreNames } from "../engine/fixture.js";
import { runChild } from "./child.js";

test.each(sharedStoreNames)(
  "A22 the journal verifies after a worker that opened the ledger threw, on %s",
  async (name) => {
    const path = freshPlace(name);

    const child = await runChild("ledger-worker.mjs", [path]);

    expect([child.code, child.signal, child.stderr]).toEqual([0, null, ""]);
    expect(child.lines).toEqual(['{"error":"the worker gives up"}']);
    const ledger = await open(path);
    expect(await ledger.verify()).toMatchObject({ verdict: "OK", findings: [] });
    expect((await ledger.readStream("main/1").toArray()).length).toBe(2);
    expect((await ledger.readStream("worker/1").toArray()).length).toBeGreaterThanOrEqual(1);
  },
);

test("A14 a closed ledger in a directory that this user cannot write is verified in whole, and nothing is left there", async () => {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append("order/1", [{ type: "order.placed" }, { type: "order.paid" }]);
  await ledger.close();
  chmodSync(path, 0o400);
  chmodSync(dirname(path), 0o500);
  if (process.getuid?.() === 0) for (const each of [path, dirname(path)]) chownSync(each, 65_534, 65_534);

  const child = await runChild("ledger-verifier.mjs", [path]);
  const left = readdirSync(dirname(path));
  chmodSync(dirname(path), 0o700);

  expect([child.code, child.stderr]).toEqual([0, ""]);
  expect(child.lines).toEqual(['{"verdict":"OK","exitCode":0,"entries":3}']);
  expect(left).toEqual(["state.ledger"]);
});
