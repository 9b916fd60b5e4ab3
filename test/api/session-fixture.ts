/** Captures on each store, and what is read of them. */
import type { Ledger, SessionEventsOptions, SessionRecord, SessionRecordInput } from "../../src/index.js";

/** A capture of a run that is there. */
export async function bindCapture(ledger: Ledger, runId = "r1"): Promise<void> {
  await ledger.sessions.bind({ runId });
}

/** Records `line 1`, `line 2` and so on. */
export function numberedLines(count: number, from = 1): readonly SessionRecordInput[] {
  return Array.from({ length: count }, (_, index) => ({ type: "stdout", payload: `line ${from + index}` }));
}

/** The records of a capture, in a list. */
export async function recordsOf(
  ledger: Ledger,
  runId = "r1",
  options: SessionEventsOptions = {},
): Promise<readonly SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of ledger.sessions.events(runId, "", options)) records.push(record);
  return records;
}

export const numbersOf = (records: readonly SessionRecord[]): readonly number[] => records.map(({ number }) => number);

/** From one number to another. */
export const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
