/** What checkers judge: the journal as it is stored, and what callers asked and were told. Nothing of the engine's own opinion. */
import type { FenceMark } from "../../journal/entry.js";
import type { Store } from "../../journal/store.js";
import type { Call } from "../model/call.js";
import type { Told } from "./send.js";

/** An entry of the journal, as its text says. */
export interface JournalEntry {
  readonly id: string;
  readonly seq: number;
  readonly prev: string;
  readonly tx: readonly [first: number, count: number];
  readonly stream: string;
  readonly rev: number;
  readonly type: string;
  readonly at: number;
  readonly corr?: string;
  readonly command?: string;
  readonly fence?: FenceMark;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A call that was sent, once. */
export interface Attempt {
  /** Marks its events. */
  readonly mark: string;
  readonly by: string;
  readonly call: Call;
  /** The head before it was sent, the clock of its process then, and the moment of the world. */
  readonly from: number;
  told: Told | null;
  /** Did the caller hear of it? */
  isHeard: boolean;
  /** The head when it had an answer, and the latest that its process can have taken for the time. */
  to: number;
  clock: number;
}

/** What was listed while the journal stood still. */
export interface Listing {
  readonly position: number;
  readonly by: string;
  readonly items: readonly object[];
}

/** A stretch of the run in which the clocks of all processes were known. */
export interface Stretch {
  /** The head at its end. */
  readonly to: number;
  readonly startedAt: number;
  readonly lowestClock: number;
}

/** All that is known of a run when it is over. */
export interface Evidence {
  readonly entries: readonly JournalEntry[];
  readonly attempts: readonly Attempt[];
  readonly listings: readonly Listing[];
  /** What `verify({ level: "deep" })` said at the end. */
  readonly verified: { readonly verdict: string; readonly findings: readonly unknown[] };
  /** The runs that were still open when the run had been given every chance to end. */
  readonly open: readonly string[];
  /** Steps that were begun, and that ended. */
  readonly begun: number;
  readonly ended: number;
  /** Entries that came when all had ended. */
  readonly late: number;
}

/** What a checker found. @public */
export interface Violation {
  /** The checker. */
  readonly checker: string;
  /** What was expected, and what was found. */
  readonly message: string;
  /** The run that it is about; null when it is about no single one. */
  readonly runId: string | null;
}

/** Judges a run by its evidence. */
export interface Checker {
  readonly name: string;
  check(evidence: Evidence, report: (message: string, runId?: string | null) => void): void;
}

/** Reads the whole journal of a store. */
export async function readEntries(store: Store): Promise<readonly JournalEntry[]> {
  const snapshot = await store.snapshot();
  try {
    const entries: JournalEntry[] = [];
    for (;;) {
      const page = await snapshot.entries(entries.length, 1_000);
      if (page.length === 0) return entries;
      for (const { id, entry } of page) {
        const text = typeof entry === "string" ? entry : Buffer.from(entry).toString();
        entries.push({ ...(JSON.parse(text) as Omit<JournalEntry, "id">), id }); // as FORMAT.md says
      }
    }
  } finally {
    await snapshot.release();
  }
}

/** The events of each atomic unit, in order, without the journal's own. */
export function txsOf(entries: readonly JournalEntry[]): readonly (readonly JournalEntry[])[] {
  const txs = new Map<number, JournalEntry[]>();
  for (const entry of entries) {
    if (entry.stream === "journal/main") continue;
    const tx = txs.get(entry.tx[0]);
    if (tx === undefined) txs.set(entry.tx[0], [entry]);
    else tx.push(entry);
  }
  return [...txs.values()];
}

/** The run of a claim key, or of a stream of a run. */
export function runOfStream(stream: string): string | null {
  return stream.startsWith("queue/") ? stream.slice("queue/".length) : null;
}
