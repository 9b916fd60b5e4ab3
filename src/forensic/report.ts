/** The outcome of a verification: what was read, what each check found, the verdict.
 *  Invariants: nothing checked is never "OK"; how many entries were checked always stands there, and how many of them
 *  rest on this ledger alone. */
import type { EvidenceFile } from "../journal/raw-reader.js";
import type { CheckName, Finding, FindingCode } from "./findings.js";

/** How much is verified. `quick`: the store, the first entry and the last 256; `full`: all that is evidence; `deep`: that,
 *  receipts, claims and fences, and what is derived from events, which are folded anew. @public */
export type VerifyLevel = "quick" | "full" | "deep";

/** `OK`: everything that was checked is as it must be. `TAMPERED`: stored facts were changed. `CORRUPT`: the store does not
 *  hold together. `DERIVED`: the journal itself is in order, and something that is derived from it and stored beside it is
 *  not; it can be made anew. `UNDECIDED`: nothing to check, a format that this version does not know, or keys were given and
 *  nothing is signed by one of them. `UNANCHORED`: in order, but no checkpoint from outside vouches for it, and one was
 *  required. @public */
export type Verdict = "OK" | "TAMPERED" | "CORRUPT" | "DERIVED" | "UNDECIDED" | "UNANCHORED";

/** One line of the report. @public */
export interface CheckLine {
  readonly status: "ok" | "warn" | "FAIL" | "info";
  readonly check: CheckName | "file" | "anchored" | "signed" | "age" | "erased";
  /** What it is about; empty on a line about the whole journal. */
  readonly where: string;
  readonly code: FindingCode | null;
  readonly message: string;
  /** How many things were checked. */
  readonly checked: number;
}

/** What vouches for a journal from outside. @public */
export interface Anchored {
  /** The last position that a checkpoint given from outside covers, of those that fit; null when there is none. */
  readonly to: number | null;
  /** How many entries come behind it, and rest on the ledger alone. */
  readonly unanchored: number;
  /** The time of the entry at `to`. */
  readonly at: number | null;
  /** Of that checkpoint: `verified` under a key that was given; `unchecked`, for no key was given; `none`: unsigned. */
  readonly signatures: "verified" | "unchecked" | "none" | null;
}

/** What `verify` found. @public */
export interface VerifyReport {
  readonly level: VerifyLevel;
  readonly location: string;
  /** True when a private copy was read because the original could not be read in place. */
  readonly copied: boolean;
  /** Who the journal says it is; null when its first entry cannot be read. */
  readonly origin: string | null;
  readonly format: number | null;
  readonly incarnation: number | null;
  /** How many entries there are. */
  readonly size: number;
  readonly head: { readonly position: number; readonly id: string; readonly at: number } | null;
  /** The root of the tree of all entries, computed from their bytes, in hex; null when it was not computed (quick), or when
   *  entries are missing or cannot be read. */
  readonly root: string | null;
  readonly evidence: {
    readonly files: readonly EvidenceFile[];
    /** Are the files as they were when they were opened: the same, of the same size, last changed at the same time? */
    readonly unchanged: boolean;
  };
  readonly checked: {
    readonly entries: number;
    readonly streams: number;
    readonly contents: number;
    readonly causes: number;
    /** Checkpoints, given and stored, that were compared. */
    readonly checkpoints: number;
    /** Level `deep`: receipts in the journal. */
    readonly receipts: number;
    /** Level `deep`: claims that were taken, and events that were written under one. */
    readonly claims: number;
    readonly fencedEvents: number;
    /** Level `deep`: tables, and documents in them, that were held against what the events fold to. */
    readonly tables: number;
    readonly documents: number;
  };
  /** Up to where a checkpoint given from outside vouches for the journal, and how many entries rest on the ledger alone. */
  readonly anchored: Anchored;
  /** Up to which position a checkpoint that fits, given or stored, is signed by a key that was given, and by whom: name and
   *  key id. Whoever has that key can make such a checkpoint of another history; null when there is none. */
  readonly signed: { readonly to: number; readonly by: string } | null;
  readonly lines: readonly CheckLine[];
  readonly findings: readonly Finding[];
  /** Findings beyond `findingsMax`: counted, not listed. */
  readonly findingsOmitted: number;
  /** How many findings fail the verification, those not listed included. */
  readonly failures: number;
  /** The lowest position that failed; null when none did, or when what failed has no position. */
  readonly firstBad: number | null;
  readonly verdict: Verdict;
  /** What the verdict alone does not say: why it is undecided, or what is in order all the same; otherwise empty. */
  readonly reason: string;
  /** 0: verified; 1: something is wrong with the evidence; 3: cannot decide; 4: in order but not anchored, as was required. */
  readonly exitCode: 0 | 1 | 3 | 4;
  /** Commands that may help now. */
  readonly next: readonly string[];
}
