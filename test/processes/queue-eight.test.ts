/** Eight processes on the run queue of one file. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { call } from "../cli/command.js";
import { ledgerPath, onCleanup } from "../engine/fixture.js";
import { workThroughQueue } from "./queue-work.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const items = long ? 20_000 : 2_000;

test(
  `eight processes that are killed, and stopped past their leases, complete ${items} items, each exactly once`,
  { timeout: long ? 1_800_000 : 600_000 },
  async () => {
    const path = ledgerPath();
    const ledger = await openLedger(path, { busyTimeoutMs: 600_000 });
    onCleanup(() => ledger.close());
    const deeds = long ? { kills: 40, stops: 24 } : { kills: 8, stops: 6 };
    await workThroughQueue({ path, ledger, processes: 8, items, ...deeds, width: 8, leaseMs: 4_000 });
    await ledger.close();
    expect(await call(["verify", path, "--deep"])).toMatchObject({ code: 0, stderr: "" });
  },
);
