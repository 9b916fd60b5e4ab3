/** Eight processes on the run queue of one journal. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { call } from "../cli/command.js";
import { freshPlace, onCleanup, sharedStoreNames } from "../engine/fixture.js";
import { workThroughQueue } from "./queue-work.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
/** On PostgreSQL fewer: each write is answered by another process, which two cores share with the eight. */
const amounts = {
  sqlite: long ? { items: 20_000, kills: 40, stops: 24 } : { items: 1_000, kills: 4, stops: 3 },
  postgres: long ? { items: 20_000, kills: 40, stops: 24 } : { items: 400, kills: 3, stops: 3 },
};

test.each(sharedStoreNames)(
  "eight processes that are killed, and stopped past their leases, complete all items, each exactly once, on %s",
  { timeout: long ? 1_800_000 : 600_000 },
  async (name) => {
    const path = freshPlace(name);
    const ledger = await openLedger(path, { busyTimeoutMs: 600_000 });
    onCleanup(() => ledger.close());
    await workThroughQueue({ path, ledger, processes: 8, ...amounts[name], width: 8, leaseMs: 3_000 });
    await ledger.close();
    expect(await call(["verify", path, "--deep"])).toMatchObject({ code: 0, stderr: "" });
  },
);
