/** Contents: what the entries name, held against what is stored.
 *  Invariant: the entry that names a content first is the authority on its digest and size. Memory grows with the number
 *  of contents (44 bytes each), never with their size: rows are read a few MiB at a time. */
import { contentDigest, plainHash } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import type { JsonObject } from "../kernel/canonical.js";
import { isDigest } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import { entryBytesMax } from "../kernel/limits.js";
import type { RawContent, RawReader } from "../journal/raw-reader.js";
import { counted, grouped } from "./figures.js";
import type { Findings, Sight } from "./findings.js";

/** A reference takes at least this many bytes of an entry, so an unread entry hides at most so many contents. */
const referenceBytesMin = 100;
const namedPerEntryMax: number = Math.floor(entryBytesMax / referenceBytesMin);
/** A gap explains no more than this many entries' worth of numbers. */
const unreadMax = 100;
const perChunk = 4_096;
const bytesPerRead = 8 * 1024 * 1024;
const rowsPerRead = 256;

interface Chunk {
  readonly digests: Buffer;
  readonly sizes: Uint32Array;
  /** One more than the position of the entry that names it first; 0: no entry was seen to name it. */
  readonly places: Float64Array;
}

interface Named {
  readonly digest: string;
  readonly bytes: number;
  readonly position: number;
}

/** An entry that names contents. */
export interface Naming {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
}

/** Says where an entry stands, for findings about contents that it names. */
export type Locate = (position: number) => Promise<Sight>;

export class ContentTable {
  private readonly findings: Findings;
  /** By number, 4,096 to a chunk; sparse, so that a forged number takes no more room than another. */
  private readonly chunks = new Map<number, Chunk>();
  /** The number that the next new content must have. */
  private next: number | null;
  /** Digests that events said to be erased, and the positions of these events: what was put back is erased again. */
  private readonly erasures = new Map<string, number[]>();
  /** Entries that could not be read may have named contents, and erased some. */
  unread = 0;
  rows = 0;
  erased = 0;
  /** Positions of the events that authorised what is erased. */
  readonly authorised: Set<number> = new Set();
  private unauthorised = 0;
  /** How many contents the entries name. */
  count = 0;

  /** `next` is 1, or null when the numbers before are not known. */
  constructor(findings: Findings, next: number | null) {
    this.findings = findings;
    this.next = next;
  }

  /** Takes note of a reference in an entry. */
  name(reference: ContentReference, naming: Naming): void {
    const { n, $content: digest, bytes } = reference;
    if (this.next === null) return;
    if (n < this.next) {
      const earlier = this.named(n);
      // A number that was jumped over, which has been said: its content is named late.
      if (earlier === null) this.keep(reference, naming.position);
      else if (earlier.digest !== digest || earlier.bytes !== bytes) {
        const message = `content ${n} is named with another digest or size than at #${earlier.position}`;
        this.findings.add("E_CONTENT_REFERENCE", {
          ...naming,
          where: `content ${n}`,
          message,
          want: earlier.digest,
          have: digest,
        });
      }
      return;
    }
    if (n > this.next && n - this.next > Math.min(this.unread, unreadMax) * namedPerEntryMax) {
      this.findings.add("E_CONTENT_NUMBER", { ...naming, where: `content ${n}`, want: this.next, have: n });
      if (n - this.next > namedPerEntryMax) return;
    }
    this.keep(reference, naming.position);
    this.next = n + 1;
  }

  /** Takes note of a reference in an entry that is not sound, if it is the one that must come now. */
  follow(reference: ContentReference, naming: Naming): void {
    if (reference.n === this.next) this.name(reference, naming);
    else if (this.next === null || reference.n > this.next) this.unread++;
  }

  /** Takes note of a `content.erased`, as far as its data can be read. */
  erase({ digests }: JsonObject, position: number): void {
    if (!Array.isArray(digests)) return;
    for (const digest of new Set(digests.filter(isDigest))) {
      const known = this.erasures.get(digest);
      if (known === undefined) this.erasures.set(digest, [position]);
      else known.push(position);
    }
  }

  /** Reads every stored content and holds it against the entries. */
  async compare(reader: RawReader, locate: Locate, onRows: (rows: number) => void): Promise<void> {
    let expected = 1;
    for (let after: number | null = null; ;) {
      const limit = this.rowsToRead(expected);
      const rows = await reader.contents(after, limit);
      for (const row of rows) {
        this.rows++;
        if (typeof row.n !== "number" || !Number.isSafeInteger(row.n)) {
          this.findings.add("E_TYPE", {
            where: `contents ${String(row.n)}`,
            message: "n must be an integer",
            have: row.n,
          });
          continue;
        }
        if (row.n < expected) {
          this.findings.add("E_CONTENT_UNKNOWN", {
            where: `content ${row.n}`,
            message: "two contents have the same number, or their rows are out of order",
          });
          continue;
        }
        for (; expected < row.n && expected < this.next!; expected++) await this.reportMissing(expected, locate);
        expected = Math.max(expected, row.n + 1);
        await this.compareRow(row.n, row, locate);
      }
      onRows(this.rows);
      const last = rows.at(-1)?.n;
      if (rows.length < limit || typeof last !== "number" || (after !== null && last <= after)) break;
      after = last;
    }
    for (; expected < this.next!; expected++) await this.reportMissing(expected, locate);
    this.compareErasures();
  }

  private async compareRow(n: number, row: RawContent, locate: Locate): Promise<void> {
    const named = this.named(n);
    const where = `content ${n}`;
    if (named === null) {
      if (this.unread === 0) this.findings.add("E_CONTENT_UNKNOWN", { where, have: row.digest });
      return;
    }
    const report = async (
      code: "E_TYPE" | "E_COLUMN" | "E_CONTENT_DIGEST" | "E_CONTENT_BYTES" | "E_ERASURE" | "W_ERASED_PRESENT",
      sight: Sight,
    ): Promise<void> => this.findings.add(code, { ...(await locate(named.position)), where, ...sight });
    if (row.digest !== named.digest)
      await report("E_COLUMN", {
        message: "the column digest differs from the entry's reference",
        want: named.digest,
        have: row.digest,
      });
    const erasedAt = this.erasures.get(named.digest) ?? [];
    if (row.erased !== null) return this.compareErased(row, named, erasedAt, report);
    const { media, salt, bytes, plain } = row;
    if (typeof media !== "string" || !(salt instanceof Uint8Array) || !(bytes instanceof Uint8Array)) {
      const found =
        typeof media !== "string"
          ? { message: "media must be text", have: media }
          : !(salt instanceof Uint8Array)
            ? { message: "salt must be bytes", have: salt }
            : { message: "bytes must be bytes", have: bytes };
      return report("E_TYPE", found);
    }
    const have = digestOf(media, salt, bytes);
    if (have !== named.digest) await report("E_CONTENT_DIGEST", { want: named.digest, have });
    else if (bytes.length !== named.bytes) await report("E_CONTENT_BYTES", { want: named.bytes, have: bytes.length });
    if (plain !== null && plain !== plainHash(media, bytes)) {
      await report("E_COLUMN", {
        message: "the column plain is not the hash of media type and bytes",
        want: plainHash(media, bytes),
        have: plain,
      });
    }
    if (erasedAt.length > 0)
      await report("W_ERASED_PRESENT", { message: `the content is stored although #${erasedAt.at(-1)} erased it` });
  }

  private async compareErased(
    row: RawContent,
    named: Named,
    erasedAt: readonly number[],
    report: (code: "E_ERASURE", sight: Sight) => Promise<void>,
  ): Promise<void> {
    this.erased++;
    const authorised = erasedAt.find((position) => position === row.erased);
    if (authorised === undefined) this.unauthorised++;
    else this.authorised.add(authorised);
    if (erasedAt.length === 0 && this.unread > 0) return;
    if (erasedAt.length === 0)
      await report("E_ERASURE", { message: "the content was erased and no event says so", have: row.erased });
    else if (authorised === undefined)
      await report("E_ERASURE", {
        message: "the row says another event erased it",
        want: erasedAt.at(-1)!,
        have: row.erased,
      });
    if (row.media !== null || row.salt !== null || row.bytes !== null || row.plain !== null)
      await report("E_ERASURE", { message: "the content is erased and its row holds more than a digest" });
  }

  /** Who authorised what is erased, in words. */
  sayErased(): string {
    const positions = [...this.authorised];
    const shown = positions.slice(0, 3).map((position) => `#${position}`);
    const more = positions.length > shown.length ? ` and ${grouped(positions.length - shown.length)} more` : "";
    const by = positions.length === 0 ? "no event authorised it" : `authorised at ${shown.join(", ")}${more}`;
    const but = this.unauthorised === 0 || positions.length === 0 ? "" : `, but for ${grouped(this.unauthorised)}`;
    return `${counted(this.erased, "content")}, ${by}${but}`;
  }

  private async reportMissing(n: number, locate: Locate): Promise<void> {
    const named = this.named(n);
    if (named !== null)
      this.findings.add("E_CONTENT_MISSING", {
        ...(await locate(named.position)),
        where: `content ${n}`,
        want: named.digest,
      });
    else if (this.unread === 0)
      this.findings.add("E_CONTENT_NUMBER", {
        where: `content ${n}`,
        message: "no entry names a content of this number",
      });
  }

  /** An erasure must name a content that an earlier entry names. */
  private compareErasures(): void {
    if (this.erasures.size === 0 || this.unread > 0) return;
    // Whoever names it before the first of its erasures names it before the others too.
    const open = new Map([...this.erasures].map(([digest, [first]]) => [digest, first!]));
    for (let n = 1; n < this.next!; n++) {
      const named = this.named(n);
      const erasedAt = named === null ? undefined : open.get(named.digest);
      if (named !== null && erasedAt !== undefined && named.position < erasedAt) open.delete(named.digest);
    }
    for (const [digest, position] of open)
      this.findings.add("E_ERASURE", {
        position,
        message: "the event erases a content that no earlier entry names",
        have: digest,
      });
  }

  /** How many rows from number `n` on fit into one read; at least one. */
  private rowsToRead(n: number): number {
    let rows = 0;
    for (let bytes = 0; rows < rowsPerRead; rows++) {
      bytes += this.named(n + rows)?.bytes ?? 0;
      if (bytes > bytesPerRead) break;
    }
    return Math.max(rows, 1);
  }

  private keep({ n, $content, bytes }: ContentReference, position: number): void {
    const index = (n - 1) % perChunk;
    const number = Math.floor((n - 1) / perChunk);
    let chunk = this.chunks.get(number);
    if (chunk === undefined) {
      chunk = {
        digests: Buffer.alloc(perChunk * 32),
        sizes: new Uint32Array(perChunk),
        places: new Float64Array(perChunk),
      };
      this.chunks.set(number, chunk);
    }
    this.count++;
    chunk.digests.write($content, index * 32, "hex");
    chunk.sizes[index] = bytes;
    chunk.places[index] = position + 1;
  }

  private named(n: number): Named | null {
    const chunk = this.chunks.get(Math.floor((n - 1) / perChunk));
    const index = (n - 1) % perChunk;
    const place = chunk?.places[index] ?? 0;
    if (chunk === undefined || place === 0) return null;
    return {
      digest: chunk.digests.toString("hex", index * 32, index * 32 + 32),
      bytes: chunk.sizes[index]!,
      position: place - 1,
    };
  }
}

function digestOf(media: string, salt: Uint8Array, bytes: Uint8Array): string | null {
  try {
    return contentDigest(media, salt, bytes);
  } catch (error) {
    if (error instanceof LedgerError) return null; // a salt of another size
    throw error;
  }
}
