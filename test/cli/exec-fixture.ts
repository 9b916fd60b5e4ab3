/** What tests of `exec` ask of a ledger when it is over. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerEvent, SessionRecord } from "../../src/index.js";

export async function reading<Result>(file: string, read: (ledger: Ledger) => Promise<Result>): Promise<Result> {
  const ledger = await openLedger(file, { readOnly: true });
  try {
    return await read(ledger);
  } finally {
    await ledger.close();
  }
}

export async function writing<Result>(file: string, write: (ledger: Ledger) => Promise<Result>): Promise<Result> {
  const ledger = await openLedger(file, { create: false });
  try {
    return await write(ledger);
  } finally {
    await ledger.close();
  }
}

/** A run of a ledger, by default the newest, its attempts, captures and queue item. */
export async function storyOf(file: string, runId?: string) {
  return reading(file, async (ledger) => {
    const { runs } = await ledger.runs.list();
    const run = runs.find((each) => runId === undefined || each.runId === runId)!;
    const { attempts } = await ledger.attempts.list(run.runId);
    const { captures } = await ledger.sessions.list(run.runId);
    const item = await ledger.queue.get(run.runId);
    const events: LedgerEvent[] = [];
    for await (const event of ledger.read()) events.push(event);
    return { run, attempts, captures, item, events, types: events.map(({ type }) => type) };
  });
}

export interface Recorded {
  readonly type: string;
  readonly bytes: Buffer;
  readonly media: string;
  readonly partial: boolean;
}

/** What a capture has, record by record. */
export async function recordsOf(file: string, runId: string, attemptId = "command.1"): Promise<Recorded[]> {
  return reading(file, async (ledger) => {
    const records: Recorded[] = [];
    for await (const record of ledger.sessions.events(runId, attemptId)) records.push(recordedOf(record));
    return records;
  });
}

/** One output as it was, to the byte. */
export function outputOf(records: readonly Recorded[], type: "stdout" | "stderr"): Buffer {
  return Buffer.concat(
    records
      .filter((record) => record.type === type)
      .flatMap(({ bytes, partial }) => (partial ? [bytes] : [bytes, Buffer.from("\n")])),
  );
}

export async function expectInOrder(file: string): Promise<void> {
  const report = await reading(file, (ledger) => ledger.verify({ level: "deep" }));
  expect([report.verdict, report.findings]).toEqual(["OK", []]);
}

export async function waitFor(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await what()); await sleep(20))
    if (performance.now() > end) throw new Error(`nothing came of ${String(what)}`);
}

export function waitForFile(file: string): Promise<void> {
  return waitFor(() => existsSync(file));
}

function recordedOf({ type, content, partial }: SessionRecord): Recorded {
  if (type === null || content === null) throw new Error("a record that cannot be read");
  return { type, bytes: Buffer.from(content.bytes), media: content.media, partial };
}
