/** `ledger.verify`: what it is told, and where threads can help. Threads at work: `test/processes/verify-workers.test.ts`. */
import { expect, test } from "vitest";
import { openLedger, verifyWorkers } from "../../src/index.js";
import type { LedgerVerifyOptions } from "../../src/index.js";
import { freshPlace, sharedStoreNames } from "./fixture.js";

test("a ledger in memory and a small one are verified by one thread, whatever number was asked for", async () => {
  for (const location of ["memory:", ...sharedStoreNames.map(freshPlace)]) {
    const ledger = await openLedger(location);
    await ledger.append("log/1", [{ type: "log.said" }]);
    const alone = await ledger.verify();

    expect(alone).toMatchObject({ verdict: "OK", size: 2 });
    expect(await ledger.verify({ workers: 8 })).toEqual(alone);
    await ledger.close();
  }
});

test.each([0, 65, 1.5, "2", null])("no number of threads is %s", async (workers) => {
  const ledger = await openLedger("memory:");
  const options = { workers } as unknown as LedgerVerifyOptions;

  await expect(ledger.verify(options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(() => verifyWorkers("state.ledger", workers as number)).toThrow("count must be a whole number from 1 to 64");
  await ledger.close();
});

test("options that nobody reads are refused, and so is what are no options", async () => {
  const ledger = await openLedger("memory:");
  for (const options of [{ threads: 2 }, null, 7]) {
    const given = options as unknown as LedgerVerifyOptions;
    await expect(ledger.verify(given)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  await ledger.close();
});
