import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "../../../src/index.js";
import { jobEvent, jobStream } from "./events.js";

/** Commits a ledger past the point where it has grown its write-ahead log, and leaves it the idle time to do so. */
export async function warmUp(ledger: Ledger): Promise<void> {
  for (let count = 0; count < 200; count++) await ledger.append(jobStream(0), [jobEvent(count)]);
  await sleep(1_000);
  for (let count = 0; count < 50; count++) await ledger.append(jobStream(0), [jobEvent(count)]);
  await sleep(200);
}
