/** Journals of claims made event by event, legal or forged with hashes that fit: what somebody writes who owns the file. */
import { describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import type { VerifyReport } from "../../src/forensic/index.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import { codesOf, start } from "./journal.js";

/** The events of one tx, at a time in ms behind the start. */
export type Tx = readonly [at: number, ...events: readonly RawEvent[]];

/** A journal, and what is found in it: a rule that its last event breaks, or nothing. */
export type Rule = readonly [says: string, code: string | null, ...txs: readonly Tx[]];

/** How long claims are here when nothing is said. */
export const leaseMs = 10_000;
export const hour = 3_600_000;

/** A claim as an event says it, taken at a time behind the start. */
export function claim(generation: number, at: number, more: object = {}): object {
  const tokenHash = "ab".repeat(32);
  return { holder: "A", generation, tokenHash, expiresAt: start + at + leaseMs, superseded: null, ...more };
}

export function enqueued(run: string, data: object = {}): RawEvent {
  const item = { availableAt: start, priority: 0, affinity: null, parent: null, reclaimsMax: 10 };
  return { stream: `queue/${run}`, type: "queue.enqueued", data: { ...item, ...data } };
}

export function claimed(run: string, generation: number, at: number, more: object = {}): RawEvent {
  return queued(run, "claimed", { claim: claim(generation, at, more) });
}

/** An event of an item without a fence. */
export function queued(run: string, what: string, data: object = {}): RawEvent {
  return { stream: `queue/${run}`, type: `queue.${what}`, data };
}

/** The same event under the fence of an item. */
export function under(run: string, generation: number, event: RawEvent, incarnation = 1): RawEvent {
  return { ...event, fence: [`queue/${run}`, incarnation, generation] };
}

export function renewed(run: string, generation: number, until: number): RawEvent {
  return under(run, generation, queued(run, "renewed", { expiresAt: start + until }));
}

export function parked(run: string, generation: number): RawEvent {
  return under(run, generation, queued(run, "parked", { availableAt: start }));
}

/** An event of a host. */
export const noted: RawEvent = { stream: "note/1", type: "note.added" };

export function refused(run: string, generation: number, command: string, reason = "expired"): RawEvent {
  const key = `queue/${run}`;
  return { stream: `fence/${key}`, type: "fence.refused", data: { key, generation, command, reason } };
}

/** The receipt of a refusal, behind the refusal of a fence. */
export function receiptOf(journal: RawJournal, id: string, code = "FENCED"): RawEvent {
  const salt = journal.content("s".repeat(32));
  const refusal = { code, details: {}, message: "no" };
  const data = { id, name: "queue.renew", fingerprint: "ab".repeat(32), salt, outcome: "refused", refusal };
  return { stream: "client/default", type: "receipt.recorded", command: id, data };
}

/** One item, claimed at 0 until 10,000. */
export const one: readonly Tx[] = [
  [0, enqueued("r1")],
  [0, claimed("r1", 1, 0)],
];
/** The same, taken over at 10,000. */
export const two: readonly Tx[] = [...one, [leaseMs, claimed("r1", 2, leaseMs, { superseded: 1 })]];

export function journalOf(txs: readonly Tx[]): RawJournal {
  const journal = new RawJournal(start, "testing/claims");
  for (const [at, ...events] of txs) journal.append(start + at, events);
  return journal;
}

/** Verifies rows at the deep level, with the cheap step and without it: both must see the same. */
export async function verifyClaims(rows: RawRows): Promise<VerifyReport> {
  const quickly = await verify(arrayRawReader(rows), { level: "deep" });
  const slowly = await verify(arrayRawReader({ ...rows, entries: rows.entries.map(twisted) }), { level: "deep" });
  const shown = JSON.stringify([quickly.findings.filter(ofClaims), quickly.checked]);
  const again = JSON.stringify([slowly.findings.filter(ofClaims), slowly.checked]);
  if (shown !== again) throw new Error(`the cheap step and the slow look must see the same:\n${shown}\n${again}`);
  return quickly;
}

/** A row that the cheap step refuses, for its skew alone. */
function twisted(row: RawRows["entries"][number]): RawRows["entries"][number] {
  return { ...row, skew: -1 };
}

function ofClaims({ check }: { readonly check: string }): boolean {
  return check === "claims";
}

/** Tries that each journal is found to be so. */
export function describeRules(title: string, rules: readonly Rule[]): void {
  describe(title, () => {
    test.each(rules.map(([says, code, ...txs]) => ({ says, code, txs })))("$says: $code", async ({ code, txs }) => {
      const journal = journalOf(txs);
      const report = await verifyClaims(journal.rows);

      const last = journal.next - 1;
      const found = report.findings.filter(ofClaims);
      expect(codesOf({ ...report, findings: found })).toEqual(code === null ? [] : [`${code}#${last}`]);
      if (code === null) expect(report).toMatchObject({ verdict: "OK", exitCode: 0 });
      else expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: last });
    });
  });
}
