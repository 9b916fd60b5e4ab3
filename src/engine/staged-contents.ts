/** The contents of one tx: numbered in the order in which they appear, equal ones found again. */
import { LedgerError } from "../kernel/errors.js";
import type { ContentReference } from "../journal/content.js";
import { factsOf } from "../journal/store.js";
import type { ContentFacts, ContentRow, StoredContent, StoredFacts } from "../journal/store.js";
import type { Known } from "./known.js";
import type { PendingContent, PreparedEvent } from "./prepare-event.js";

/** What the batch has staged before this tx. */
export interface ContentsBefore {
  /** The number of contents that were ever named. */
  readonly count: number;
  readonly staged: readonly ContentRow[];
  readonly byPlain: ReadonlyMap<string, ContentRow>;
}

export class StagedContents {
  readonly rows: ContentRow[] = [];
  /** A tx may have ten thousand of them. */
  private readonly byPlain = new Map<string, ContentRow>();
  private readonly known: Known;
  private readonly before: ContentsBefore;

  constructor(known: Known, before: ContentsBefore) {
    this.known = known;
    this.before = before;
  }

  /** The references to an event's contents, in their order. */
  place(event: PreparedEvent): readonly ContentReference[] {
    for (const reference of event.references) this.checkReference(reference, event.path);
    return event.contents.map((content) => this.put(content));
  }

  /** The facts of a content; what is stored must be known. */
  find(n: number): StoredFacts | null {
    const row = this.staged(n);
    return row === null ? this.known.content(n) : factsOf(row);
  }

  /** A content with its bytes. */
  async whole(n: number): Promise<StoredContent | null> {
    return this.staged(n) ?? this.known.wholeContent(n);
  }

  private staged(n: number): ContentRow | null {
    const { count, staged } = this.before;
    return (n > count ? this.rows[n - count - 1] : staged[n - (count - staged.length) - 1]) ?? null;
  }

  private put(content: PendingContent): ContentReference {
    const { plain, digest, media, salt, bytes } = content;
    const equal = plain === null ? null : this.equalTo(plain);
    if (equal !== null) return { $content: equal.digest, bytes: equal.size, n: equal.n };
    const row: ContentRow = { n: this.before.count + this.rows.length + 1, digest, media, salt, bytes, plain };
    this.rows.push(row);
    if (plain !== null) this.byPlain.set(plain, row);
    return { $content: digest, bytes: bytes.length, n: row.n };
  }

  private equalTo(plain: string): ContentFacts | null {
    const staged = this.before.byPlain.get(plain) ?? this.byPlain.get(plain);
    return this.known.contentByPlain(plain) ?? (staged === undefined ? null : factsOf(staged));
  }

  /** A reference given by the caller must name a content of this journal as it is. */
  private checkReference(reference: ContentReference, path: string): void {
    const details = { ...reference };
    const stored = this.find(reference.n);
    if (stored === null || stored.digest !== reference.$content) {
      throw new LedgerError(
        "CONTENT_MISSING",
        `${path} names content ${reference.n} ${reference.$content}, which this journal does not have`,
        { details },
      );
    }
    if ("erased" in stored) {
      throw new LedgerError(
        "CONTENT_ERASED",
        `${path} names content ${reference.n}, which was erased by event #${stored.erased}`,
        { details: { ...details, erasedBy: stored.erased } },
      );
    }
    if (stored.size !== reference.bytes) {
      throw new LedgerError(
        "INVALID_ARGUMENT",
        `${path} names content ${reference.n} with ${reference.bytes} bytes, found ${stored.size}`,
        { details },
      );
    }
  }
}
