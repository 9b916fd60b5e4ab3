/** Finds every entry that names a content, and every erasure, by reading the journal once: no look-up leads from a digest to
 *  its entries, because appends would pay for it and erasures are rare.
 *  Invariants: it goes on from where it was, as often as it is asked, so that under the write lock only what was appended
 *  since is read; entries that are read are remembered only when they count; a receipt is found with the tx that it ends. */
import type { JsonObject } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import { contentReferences } from "../journal/content.js";
import { formatVersion } from "../journal/entry.js";
import { parseContentErased } from "../journal/events/journal.js";
import { parseReceipt, receiptType } from "../journal/events/receipt.js";
import { decodeStored } from "../journal/stored.js";
import type { StoredEntry } from "../journal/store.js";
import type { NamingEntry } from "./types.js";

/** A content that was looked for, and the entries that name it. */
export interface FoundContent {
  readonly n: number;
  readonly digest: string;
  readonly bytes: number;
  /** In order; each once, however often it names the content. */
  readonly entries: NamingEntry[];
  /** Position of the last event that says it was erased; null when none does. */
  erasedAt: number | null;
}

/** The salt of a fingerprint, and the numbers of the contents that the tx of its receipt names. */
export interface FoundSalt extends FoundContent {
  readonly of: ReadonlySet<number>;
}

const pageMax = 1_000;
const digestUnits = 64;
/** How a reference begins in canonical text. Inside a string the quotes would be escaped, so nothing else begins so. */
const referenceMark = '{"$content":"';
/** How an entry ends that says that contents were erased: `type` and `v` are its last members. */
const erasureEnd = `"type":"content.erased","v":${formatVersion}}`;

export class ErasureSearch {
  /** By number. A digest has one number, unless somebody's random bytes came twice. */
  readonly found: Map<number, FoundContent> = new Map();
  /** By number: the salts of the receipts of every tx that names one of them, each under its receipt. */
  readonly salts: Map<number, FoundSalt> = new Map();
  private readonly digests: ReadonlySet<string>;
  /** The last entry of a tx that was seen to name some, and which: it may be a receipt. */
  private txEnd: { readonly position: number; readonly named: Set<number> } | null = null;
  private end: { readonly position: number; readonly id: string } | null = null;

  constructor(digests: Iterable<string>) {
    this.digests = new Set(digests);
  }

  /** Reads on up to the head, one page after the other; `onPage` is awaited between them and may throw to end it. */
  async readOn(
    page: (from: number, limit: number) => Promise<readonly StoredEntry[]>,
    onPage: () => Promise<void>,
  ): Promise<void> {
    for (;;) {
      const entries = await page(this.end === null ? 0 : this.end.position, pageMax);
      if (this.end !== null && entries[0]?.id !== this.end.id) throw replaced(this.end.position);
      // The first of them was seen before, and counts once all the same.
      for (const entry of entries) this.see(entry);
      const last = entries.at(-1);
      if (last !== undefined) this.end = { position: last.seq, id: last.id };
      if (entries.length < pageMax) return;
      await onPage();
    }
  }

  /** What was found under a digest, by number. */
  under(digest: string): FoundContent[] {
    return [...this.found.values()].filter((each) => each.digest === digest);
  }

  /** The position up to which it has read; −1 before the first. */
  get position(): number {
    return this.end?.position ?? -1;
  }

  private see(stored: StoredEntry): void {
    const text = typeof stored.entry === "string" ? stored.entry : Buffer.from(stored.entry).toString("latin1");
    // A cheap look first: of most entries nothing is parsed.
    const erases = text.endsWith(erasureEnd);
    const endsTx = stored.seq === this.txEnd?.position;
    if (!erases && !endsTx && !this.mayName(text)) return;
    const { id, fields } = decodeStored(stored);
    const { seq: position, stream, rev: revision, type, data, tx } = fields;
    const naming = { position, id, stream, revision, type };
    for (const { $content: digest, bytes, n } of contentReferences(data)) {
      if (!this.digests.has(digest)) continue;
      let found = this.found.get(n);
      if (found === undefined) this.found.set(n, (found = { n, digest, bytes, entries: [], erasedAt: null }));
      if (found.entries.at(-1)?.position !== position) found.entries.push(naming);
      this.named(n, tx[0] + tx[1] - 1);
    }
    if (position === this.txEnd?.position && type === receiptType) this.seeReceipt(data, naming, this.txEnd.named);
    if (erases) this.seeErasure(new Set(parseContentErased(data).digests), position);
  }

  private named(n: number, txEnd: number): void {
    if (this.txEnd?.position !== txEnd) this.txEnd = { position: txEnd, named: new Set() };
    this.txEnd.named.add(n);
  }

  private seeReceipt(data: JsonObject, receipt: NamingEntry, of: ReadonlySet<number>): void {
    const { $content: digest, bytes, n } = parseReceipt(data).salt;
    if (!this.salts.has(n)) this.salts.set(n, { n, digest, bytes, entries: [receipt], erasedAt: null, of });
  }

  private seeErasure(digests: ReadonlySet<string>, position: number): void {
    for (const found of [...this.found.values(), ...this.salts.values()])
      if (digests.has(found.digest)) found.erasedAt = position;
  }

  private mayName(text: string): boolean {
    for (let at = text.indexOf(referenceMark); at >= 0; at = text.indexOf(referenceMark, at + 1)) {
      const start = at + referenceMark.length;
      if (this.digests.has(text.slice(start, start + digestUnits))) return true;
    }
    return false;
  }
}

function replaced(position: number): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${position} must be the one that was read before, found another`, {
    details: { position, field: "id" },
    hint: "run `runledger verify` on it",
  });
}
