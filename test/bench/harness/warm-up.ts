import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "../../../src/index.js";
import { jobEvent, jobStream } from "./events.js";
import { step } from "./run-area.js";

/** Appends until code is compiled and the write-ahead log is past its first growth, and leaves the ledger idle time to
 *  do what it does then: what is measured is a host that has run for a while. */
export async function warmUp(ledger: Ledger): Promise<void> {
  const append = (count: number): Promise<unknown> => ledger.append(jobStream(count % 64), [jobEvent(count)]);
  for (let group = 0; group < 300; group++) await Promise.all(Array.from({ length: 64 }, (_, index) => append(index)));
  for (let count = 0; count < 1_000; count++) await append(count);
  await sleep(1_000);
  for (let count = 0; count < 50; count++) await append(count);
  await sleep(200);
}

/** The same with commands, on a ledger that is warm for appends. There is more code to be compiled: after a fifth of these they
 *  still took half as long again. */
export async function warmUpCommands(ledger: Ledger): Promise<void> {
  const execute = (count: number): Promise<unknown> => ledger.execute(step(jobStream(count % 64), count));
  for (let group = 0; group < 500; group++) await Promise.all(Array.from({ length: 64 }, (_, index) => execute(index)));
  for (let count = 0; count < 500; count++) await execute(count);
  await sleep(200);
}
