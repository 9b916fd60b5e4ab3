/** Captures on each store, and what is read of them. */
import type { Ledger, SessionEventsOptions, SessionRecord, SessionRecordInput } from "../../src/index.js";

/** A capture that has begun, of a run or of its next attempt, neither of which need be there yet. Nobody has claimed it. Answers
 *  the revision of the run, which is expected of the end of the capture. */
export async function bindCapture(ledger: Ledger, runId = "r1", attemptId = ""): Promise<number> {
  if ((await ledger.runs.get(runId)) === null) {
    const { revision: expectedRevision } = await ledger.runs.create({ runId });
    await ledger.runs.start({ runId, expectedRevision });
  }
  if (attemptId !== "") await startAttempt(ledger, runId, attemptId);
  const { revision } = (await ledger.runs.get(runId))!;
  await ledger.sessions.bind({ runId, attemptId, expectedRevision: revision });
  return revision;
}

async function startAttempt(ledger: Ledger, runId: string, attemptId: string): Promise<void> {
  const { revision, attempt } = (await ledger.runs.get(runId))!;
  let expectedRevision = revision;
  if (attempt !== null) {
    const open = { runId, attemptId: attempt, reason: "the next one", expectedRevision };
    expectedRevision = (await ledger.attempts.cancel(open)).revision;
  }
  const node = attemptId.replace(/\.\d+$/, "");
  const started = await ledger.attempts.start({ runId, node, expectedRevision });
  if (started.attemptId !== attemptId)
    throw new Error(`the next attempt must be ${attemptId}, found ${started.attemptId}`);
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
