/** Every kind of finding, in one table: which check makes it, what it points to, and what it says in a sentence.
 *  Invariant: codes are added freely and renamed never; each kind of fault has one. */

/** What a finding points to. `tampering`: stored facts were changed; `corruption`: the store does not hold together;
 *  `derived`: what is kept beside the journal to find things in it, and can be made anew from it, is not what it must be;
 *  `drift`: code that folds events gives other documents than it gave before;
 *  `anchor`: nothing that was asked for vouches for it; `format`: this version cannot read it; `clock`: times that look wrong in an intact journal. @public */
export type FindingClass = "tampering" | "corruption" | "derived" | "drift" | "anchor" | "format" | "clock";

/** The parts of a verification, in the order of the report. @public */
export type CheckName =
  | "store"
  | "genesis"
  | "bytes"
  | "chain"
  | "tx"
  | "streams"
  | "columns"
  | "causes"
  | "content"
  | "tree"
  | "checkpoint"
  | "receipts"
  | "claims"
  | "documents"
  | "clock";

/** A stable code: `E_…` fails the verification, `W_…` warns. Match on it, not on the text. @public */
export type FindingCode =
  | "E_CORRUPT"
  | "E_SCHEMA"
  | "E_TYPE"
  | "E_GENESIS"
  | "E_JOURNAL_EVENT"
  | "E_FORMAT_VERSION"
  | "E_CANON"
  | "E_FORMAT"
  | "E_ID"
  | "E_SEQ_GAP"
  | "E_SEQ"
  | "E_PREV"
  | "E_TX"
  | "E_TX_INCOMPLETE"
  | "E_REV"
  | "E_COLUMN"
  | "E_CAUSE"
  | "E_CONTENT_REFERENCE"
  | "E_CONTENT_NUMBER"
  | "E_CONTENT_DIGEST"
  | "E_CONTENT_BYTES"
  | "E_CONTENT_MISSING"
  | "E_CONTENT_UNKNOWN"
  | "E_ERASURE"
  | "W_ERASED_PRESENT"
  | "E_CACHE"
  | "E_CHECKPOINT"
  | "E_CHECKPOINT_ORIGIN"
  | "E_CHECKPOINT_SIG"
  | "E_KEY_EPOCH"
  | "E_SHORTER_THAN_CHECKPOINT"
  | "E_ROOT"
  | "E_INCONSISTENT"
  | "W_CHECKPOINT_MISSING"
  | "W_CHECKPOINT_UNSIGNED"
  | "E_COMMAND_CONFLICT"
  | "E_RECEIPT"
  | "E_CLAIM"
  | "E_FENCE"
  | "E_PROJECTION"
  | "E_NONDETERMINISM"
  | "W_PROJECTION_UNKNOWN"
  | "W_PROJECTION_FAILED"
  | "W_CLOCK";

/** What is said of a code. @public */
export interface FindingKind {
  readonly check: CheckName;
  readonly class: FindingClass;
  readonly sentence: string;
}

/** The table: what each code says. @public */
export const findingKinds: Readonly<Record<FindingCode, FindingKind>> = {
  E_CORRUPT: { check: "store", class: "corruption", sentence: "the store does not hold together" },
  E_SCHEMA: {
    check: "store",
    class: "tampering",
    sentence: "tables, triggers or identifiers are not those of a ledger",
  },
  E_TYPE: { check: "store", class: "tampering", sentence: "a stored value has another type than its column" },
  E_GENESIS: { check: "genesis", class: "tampering", sentence: "the first entry does not open a journal" },
  E_JOURNAL_EVENT: {
    check: "genesis",
    class: "tampering",
    sentence: "an event of the journal itself is not one that the engine writes",
  },
  E_FORMAT_VERSION: {
    check: "bytes",
    class: "format",
    sentence: "the entry is of a format that this version does not know",
  },
  E_CANON: { check: "bytes", class: "tampering", sentence: "the entry's bytes are not canonical JSON" },
  E_FORMAT: { check: "bytes", class: "tampering", sentence: "the entry has a field that the format does not allow" },
  E_ID: { check: "bytes", class: "tampering", sentence: "the entry's bytes do not hash to its id" },
  E_SEQ_GAP: { check: "chain", class: "tampering", sentence: "entries are missing" },
  E_SEQ: { check: "chain", class: "tampering", sentence: "the entry stands at another position than it says" },
  E_PREV: { check: "chain", class: "tampering", sentence: "the entry does not name the entry before it" },
  E_TX: { check: "tx", class: "tampering", sentence: "the entry does not fit the tx around it" },
  E_TX_INCOMPLETE: { check: "tx", class: "tampering", sentence: "the journal ends inside a tx" },
  E_REV: {
    check: "streams",
    class: "tampering",
    sentence: "the revision does not follow the one before it in its stream",
  },
  E_COLUMN: { check: "columns", class: "tampering", sentence: "a column differs from what the entries say" },
  E_CAUSE: { check: "causes", class: "tampering", sentence: "the cause is not an entry of an earlier tx" },
  E_CONTENT_REFERENCE: {
    check: "content",
    class: "tampering",
    sentence: "a content reference is malformed, or differs from an earlier one to the same content",
  },
  E_CONTENT_NUMBER: {
    check: "content",
    class: "tampering",
    sentence: "contents are not numbered in the order in which they first appear",
  },
  E_CONTENT_DIGEST: {
    check: "content",
    class: "tampering",
    sentence: "a content does not hash to the digest that the entry names",
  },
  E_CONTENT_BYTES: { check: "content", class: "tampering", sentence: "a content has another size than the entry says" },
  E_CONTENT_MISSING: { check: "content", class: "tampering", sentence: "a content is neither stored nor erased" },
  E_CONTENT_UNKNOWN: { check: "content", class: "tampering", sentence: "a content is stored that no entry names" },
  E_ERASURE: { check: "content", class: "tampering", sentence: "an erasure and what it erased do not fit" },
  W_ERASED_PRESENT: { check: "content", class: "tampering", sentence: "a content is stored although it was erased" },
  E_CACHE: { check: "tree", class: "derived", sentence: "a stored node of the tree is not the root of its entries" },
  E_CHECKPOINT: { check: "checkpoint", class: "tampering", sentence: "a checkpoint is not of its format" },
  E_CHECKPOINT_ORIGIN: {
    check: "checkpoint",
    class: "tampering",
    sentence: "a checkpoint is of another journal, or of another incarnation of this one",
  },
  E_CHECKPOINT_SIG: {
    check: "checkpoint",
    class: "tampering",
    sentence: "a checkpoint does not have the signature of a known key that it claims to have",
  },
  E_KEY_EPOCH: {
    check: "checkpoint",
    class: "tampering",
    sentence: "a checkpoint is not signed by the keys that the journal names for its size",
  },
  E_SHORTER_THAN_CHECKPOINT: {
    check: "checkpoint",
    class: "tampering",
    sentence: "the journal has fewer entries than a checkpoint covers",
  },
  E_ROOT: {
    check: "checkpoint",
    class: "tampering",
    sentence: "a stored checkpoint has another root than the entries",
  },
  E_INCONSISTENT: {
    check: "checkpoint",
    class: "tampering",
    sentence: "the journal is not the one that the checkpoint from outside saw",
  },
  W_CHECKPOINT_MISSING: {
    check: "checkpoint",
    class: "anchor",
    sentence: "no checkpoint, given or stored, is signed by a key that was given",
  },
  W_CHECKPOINT_UNSIGNED: {
    check: "checkpoint",
    class: "anchor",
    sentence: "the checkpoint is signed by none of the keys that were given: it does not anchor",
  },
  E_COMMAND_CONFLICT: {
    check: "receipts",
    class: "tampering",
    sentence: "a command of this client and id has a receipt already",
  },
  E_RECEIPT: {
    check: "receipts",
    class: "derived",
    sentence: "the stored place of a receipt is not that of its entry",
  },
  E_CLAIM: {
    check: "claims",
    class: "tampering",
    sentence: "a claim was taken, kept or ended as nobody may",
  },
  E_FENCE: {
    check: "claims",
    class: "tampering",
    sentence:
      "an event was written under a fence that was not that of a live claim, or the refusal of a fence is forged",
  },
  E_PROJECTION: {
    check: "documents",
    class: "derived",
    sentence: "what is stored of a projection is not what the events fold to",
  },
  E_NONDETERMINISM: {
    check: "documents",
    class: "drift",
    sentence: "a projection folds the same event to another document each time",
  },
  W_PROJECTION_UNKNOWN: {
    check: "documents",
    class: "derived",
    sentence: "a table of documents was not checked: its code is not here",
  },
  W_PROJECTION_FAILED: {
    check: "documents",
    class: "derived",
    sentence: "the projection stopped before an event that it could not fold",
  },
  W_CLOCK: { check: "clock", class: "clock", sentence: "the time does not go forward as a clock does" },
};

/** What is wrong with a table of documents: its row (`table`), the position that it claims (`position`), its reducer
 *  (`reducer`), or one of its documents: another text (`changed`), none where one must be (`missing`), one where none must be
 *  (`extra`), the bytes by which an index finds it (`index`), the position of the event that changed it last (`seq`).
 *  @public */
export type DocumentFault = "table" | "position" | "reducer" | "changed" | "missing" | "extra" | "index" | "seq";

/** Where in what is derived a finding is. @public */
export interface DocumentPlace {
  readonly fault: DocumentFault;
  /** The id of the table; null when it is about none, or about a projection that is not stored. */
  readonly table: number | null;
  readonly projection: string | null;
  readonly version: number | null;
  /** The document; null when it is about none. */
  readonly key: string | null;
  /** A JSON pointer to the first difference in the document; null when it is not in it. */
  readonly path: string | null;
}

/** One thing that is wrong. @public */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: "FAIL" | "warn";
  readonly class: FindingClass;
  readonly check: CheckName;
  /** The entry that it is about; null when it is about none. Where a document differs, the event that explains it: the last
   *  one that changed what differs. That entry itself is in order. */
  readonly position: number | null;
  /** Stream and revision of that entry, as far as they can be read. */
  readonly stream: string | null;
  readonly revision: number | null;
  /** `#48211 run/r17@902`, or the table and row. */
  readonly where: string;
  /** A sentence: what was expected, what was found. */
  readonly message: string;
  readonly want: string | null;
  readonly have: string | null;
  /** Of what is derived from events; null for all other findings. */
  readonly document: DocumentPlace | null;
}

/** Where a finding stands and what it saw. */
export interface Sight {
  readonly position?: number | null;
  readonly stream?: string | null;
  readonly revision?: number | null;
  /** When it is not about an entry, or about more than one: the table and row. */
  readonly where?: string;
  /** What exactly; by default the sentence of the code. */
  readonly message?: string;
  readonly want?: unknown;
  readonly have?: unknown;
  readonly document?: DocumentPlace;
}

/** Collects findings: the first of them in full, the rest as numbers, so that no journal can flood the report. */
export class Findings {
  readonly list: Finding[] = [];
  omitted = 0;
  private readonly max: number;
  private readonly counts = new Map<FindingCode, number>();
  private first: number | null = null;

  constructor(max: number) {
    this.max = max;
  }

  add(code: FindingCode, sight: Sight): void {
    const { check, class: pointsTo, sentence } = findingKinds[code];
    const { position = null, stream = null, revision = null, message = sentence, document = null } = sight;
    const severity = code.startsWith("E_") ? "FAIL" : "warn";
    this.counts.set(code, this.count(code) + 1);
    // The event that explains a document is in order itself.
    if (severity === "FAIL" && document === null && position !== null && (this.first === null || position < this.first))
      this.first = position;
    if (this.list.length >= this.max) {
      this.omitted++;
      return;
    }
    const entry =
      position === null
        ? ""
        : `#${position}${stream === null ? "" : ` ${stream}${revision === null ? "" : `@${revision}`}`}`;
    const where = [entry, sight.where ?? ""].filter((part) => part !== "").join(" ");
    this.list.push({
      code,
      severity,
      class: pointsTo,
      check,
      position,
      stream,
      revision,
      where,
      message,
      want: show(sight.want),
      have: show(sight.have),
      document,
    });
  }

  count(code: FindingCode): number {
    return this.counts.get(code) ?? 0;
  }

  /** The lowest position that failed; null when none did. */
  firstBad(): number | null {
    return this.first;
  }

  /** How many there are of a severity, those that were not kept included. */
  total(severity: "FAIL" | "warn"): number {
    let total = 0;
    for (const [code, count] of this.counts) if (code.startsWith("E_") === (severity === "FAIL")) total += count;
    return total;
  }

  /** How many of a check failed or warned. */
  ofCheck(check: CheckName, severity: "FAIL" | "warn"): number {
    let total = 0;
    for (const [code, count] of this.counts)
      if (findingKinds[code].check === check && code.startsWith("E_") === (severity === "FAIL")) total += count;
    return total;
  }

  /** Does any failure point there? */
  pointsTo(pointsTo: FindingClass): boolean {
    for (const code of this.counts.keys())
      if (code.startsWith("E_") && findingKinds[code].class === pointsTo) return true;
    return false;
  }
}

function show(value: unknown): string | null {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return value;
    case "number":
    case "boolean":
    case "bigint":
      return String(value);
    default:
      return value === null ? "NULL" : value instanceof Uint8Array ? `${value.length} bytes` : typeof value;
  }
}
