/** Journals made row by row, without an engine and without a store: for attacks that no engine would write.
 *  Invariant: what `append` makes is a valid journal; each later change is the caller's own. */
import { contentDigest, plainHash } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { encodeEntry, entryId, entryTemplate, zeroId } from "../journal/entry.js";
import type { EntryFields, EntryLabels } from "../journal/entry.js";
import { journalOpened, journalStream } from "../journal/events/journal.js";
import { canonicalize } from "../kernel/canonical.js";
import { dedupeBytesMin } from "../kernel/limits.js";
import type { RawEntry } from "../journal/raw-reader.js";
import { emptyRows } from "./array-raw-reader.js";
import type { RawRows } from "./array-raw-reader.js";

/** An event for a raw journal. @public */
export interface RawEvent extends EntryLabels {
  readonly stream: string;
  readonly type: string;
  readonly tv?: number;
  readonly data?: object;
}

const revisionsPerPage = 256;

/** A journal in rows, with its first entry. @public */
export class RawJournal {
  readonly rows: RawRows = emptyRows();
  private readonly positions = new Map<string, number[]>();

  /** `key` is the verifier key of its checkpoints. */
  constructor(at: number, origin = "testing/raw", key?: string) {
    const zeros = (size: number): Uint8Array => new Uint8Array(size);
    this.append(at, [{ stream: journalStream, type: "journal.opened", data: journalOpened(origin, zeros, key) }]);
  }

  /** The position that the next entry will have. */
  get next(): number {
    return this.rows.entries.length;
  }

  /** The id of the entry at a position. */
  idAt(position: number): string {
    return String(this.rows.entries[position]?.id);
  }

  /** Appends events as one tx and answers the position of the first. */
  append(at: number, events: readonly RawEvent[]): number {
    const first = this.next;
    for (const { stream, type, tv = 1, data = {}, ...labels } of events) {
      const seq = this.next;
      const prev = seq === 0 ? zeroId : this.idAt(seq - 1);
      const positions = this.positions.get(stream) ?? [];
      const before = positions.at(-1) ?? null;
      this.positions.set(stream, positions);
      positions.push(seq);
      const rev = positions.length;
      const place = { seq, prev, txFirst: first, txCount: events.length, rev, at };
      const entry = encodeEntry(entryTemplate(stream, type, tv, labels), canonicalize(data), place);
      const number = this.streamNumber(stream, rev, seq);
      this.rows.entries.push({
        seq,
        id: entryId(entry),
        stream: number,
        rev,
        before,
        type: this.typeNumber(type),
        at,
        skew: 0,
        entry,
      });
      if (rev % revisionsPerPage === 0)
        this.rows.streamPages.push({
          stream: number,
          page: rev / revisionsPerPage - 1,
          seqs: positions.slice(-revisionsPerPage),
        });
    }
    this.rows.streamPages.sort(
      (left, right) => Number(left.stream) - Number(right.stream) || Number(left.page) - Number(right.page),
    );
    return first;
  }

  /** Stores a content and answers how the event that comes next names it. */
  content(text: string, media = "text/plain;charset=utf-8"): ContentReference {
    const n = this.rows.contents.length + 1;
    const bytes = Buffer.from(text);
    const salt = Buffer.alloc(32, n);
    const digest = contentDigest(media, salt, bytes);
    const plain = bytes.length >= dedupeBytesMin ? plainHash(media, bytes) : null;
    this.rows.contents.push({ n, digest, media, salt, bytes, plain, erased: null });
    return { $content: digest, bytes: bytes.length, n };
  }

  private streamNumber(name: string, rev: number, seq: number): number {
    const index = this.rows.streams.findIndex((row) => row.name === name);
    const id = index < 0 ? this.rows.streams.length + 1 : index + 1;
    this.rows.streams[id - 1] = { id, name, rev, seq };
    return id;
  }

  private typeNumber(name: string): number {
    const index = this.rows.types.findIndex((row) => row.name === name);
    return index < 0 ? this.rows.types.push({ id: this.rows.types.length + 1, name }) : index + 1;
  }
}

/** The fields of the entry in a row, whatever they are. @public */
export function fieldsOf(row: RawEntry | undefined): EntryFields {
  return JSON.parse(String(row?.entry)) as EntryFields;
}

/** The row with other entry text and the id that belongs to it. @public */
export function sealed(row: RawEntry, entry: string | Uint8Array): RawEntry {
  return { ...row, entry, id: entryId(entry) };
}

/** Hashes all entries behind a position afresh, each naming the one before and its cause by their new ids: what an attacker
 *  does who covers the traces. @public */
export function resealAfter(rows: RawRows, position: number, idBefore: unknown): void {
  const renamed = new Map<string, string>([[String(idBefore), String(rows.entries[position]?.id)]]);
  for (let at = position + 1; at < rows.entries.length; at++) {
    const row = rows.entries[at];
    const before = rows.entries[at - 1];
    if (row === undefined || before === undefined) return;
    const entry = String(row.entry)
      .replace(/"prev":"[0-9a-f]{64}"(?=,"rev":)/, `"prev":"${String(before.id)}"`)
      .replace(/"cause":"([0-9a-f]{64})"/, (_, id: string) => `"cause":"${renamed.get(id) ?? id}"`);
    const changed = sealed(row, entry);
    rows.entries[at] = changed;
    renamed.set(String(row.id), String(changed.id));
  }
}
