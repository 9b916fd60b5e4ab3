/** What is known of each stream while the entries go by, and the tables that copy it: `streams`, `stream_pages`.
 *  Invariant: the entries are the authority and a row is only compared with them. Memory grows with the number of
 *  streams (about 400 bytes each) and not with the number of entries. */
import { hash } from "node:crypto";
import { decodeUtf8 } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import { parseStream } from "../kernel/names.js";
import { journalStream } from "../journal/events/journal.js";
import type { RawReader, RawStream } from "../journal/raw-reader.js";
import type { Findings } from "./findings.js";

/** Page p of a stream holds the positions of the revisions 256p + 1 to 256p + 256, once all of them are there. */
const revisionsPerPage = 256;
const rowsPerRead = 1_000;
const pagesPerRead = 100;

export interface StreamState {
  /** How its entries go on behind `seq`: the one text that is kept of its name. */
  readonly middle: string;
  /** The stream's number in the store; null when no row has the name. */
  readonly number: number | null;
  /** The name shows U+FFFD, or the stream belongs to the journal itself: its entries are looked at one by one. */
  readonly special: boolean;
  readonly rowRev: unknown;
  readonly rowSeq: unknown;
  /** Revision and position of the last entry seen; 0 and null before the first. */
  revision: number;
  last: number | null;
  /** The positions of the page that fills now; null when the stream has no full page, or some positions are unknown. */
  positions: Float64Array | null;
  /** A hash of each full page. */
  pages: string[] | null;
}

export class StreamTable {
  private readonly byNumber = new Map<unknown, StreamState>();
  private readonly byName = new Map<string, StreamState>();
  private readonly reader: RawReader;
  private readonly findings: Findings;
  /** Did it read every row, or only those that were asked for? */
  private complete = false;
  rows = 0;
  pageRows = 0;

  constructor(reader: RawReader, findings: Findings) {
    this.reader = reader;
    this.findings = findings;
  }

  /** Reads all rows. */
  async load(): Promise<void> {
    this.complete = true;
    for (let after: number | null = null; ;) {
      const rows: readonly RawStream[] = await this.reader.streams(after, rowsPerRead);
      for (const row of rows) this.take(row);
      const last = rows.at(-1)?.id;
      if (rows.length < rowsPerRead || typeof last !== "number" || (after !== null && last <= after)) return;
      after = last;
    }
  }

  /** The stream with a number; undefined when no row has it. */
  numbered(number: unknown): StreamState | undefined {
    return this.byNumber.get(number);
  }

  /** The same, from the store when not all rows were read. */
  async find(number: unknown): Promise<StreamState | undefined> {
    const known = this.byNumber.get(number);
    if (known !== undefined || this.complete || typeof number !== "number" || !Number.isSafeInteger(number))
      return known;
    const [row] = await this.reader.streams(number - 1, 1);
    if (row?.id === number) this.take(row);
    return this.byNumber.get(number);
  }

  /** The stream with a name, if anything said so far has it. */
  known(name: string): StreamState | undefined {
    return this.byName.get(middleOf(name));
  }

  /** The stream with a name, with a row or without. */
  named(name: string): StreamState {
    const known = this.known(name);
    if (known !== undefined) return known;
    const state = newState(name, null, 0, null);
    this.byName.set(state.middle, state);
    return state;
  }

  /** Moves a stream on to its next entry. */
  advance(state: StreamState, revision: number, position: number): void {
    const { positions } = state;
    if (positions !== null) {
      if (revision === state.revision + 1) {
        positions[state.revision % revisionsPerPage] = position;
        if (revision % revisionsPerPage === 0) (state.pages ??= []).push(pageHash(positions));
      } else state.positions = null;
    }
    state.revision = revision;
    state.last = position;
  }

  /** Compares the rows of both tables with what the entries said. `unread`: could this position not be read? */
  async compare(unread: (position: unknown) => boolean): Promise<void> {
    for (const state of this.byName.values()) this.compareRow(state, unread);
    if (this.complete) await this.comparePages();
  }

  private compareRow(state: StreamState, unread: (position: unknown) => boolean): void {
    const { number, revision, last, rowRev, rowSeq } = state;
    const name = nameOf(state);
    if (number === null) {
      this.findings.add("E_COLUMN", {
        stream: name,
        where: "streams",
        message: "the stream has entries and no row in streams",
        want: name,
      });
    } else if (revision === 0) {
      if (!unread(rowSeq))
        this.findings.add("E_COLUMN", {
          where: `streams ${number}`,
          message: "the row names a stream without entries",
          have: name,
        });
    } else if ((rowRev !== revision || rowSeq !== last) && !unread(rowSeq)) {
      const message = "revision and position of the stream's last entry differ from its row in streams";
      this.findings.add("E_COLUMN", {
        stream: name,
        where: `streams ${number}`,
        message,
        want: `${revision} at ${last}`,
        have: `${String(rowRev)} at ${String(rowSeq)}`,
      });
    }
  }

  private async comparePages(): Promise<void> {
    const seen = new Map<number, number>();
    for (let after: { stream: number; page: number } | null = null; ;) {
      const rows = await this.reader.streamPages(after, pagesPerRead);
      for (const row of rows) {
        this.pageRows++;
        const state = this.byNumber.get(row.stream);
        const number = state?.number ?? null;
        const page = number === null ? -1 : (seen.get(number) ?? 0);
        const hashed = state?.pages?.[page];
        if (number !== null) seen.set(number, page + 1);
        if (state !== undefined && state.positions === null && state.revision >= revisionsPerPage) continue; // said already: entries are missing
        if (row.page !== page || hashed === undefined)
          this.reportPage(row.stream, row.page, state, "the page belongs to no stream, or is not full yet");
        else if (row.seqs === null || pageHash(Float64Array.from(row.seqs)) !== hashed)
          this.reportPage(row.stream, row.page, state, "the page's positions differ from those of the entries");
      }
      const last = rows.at(-1);
      if (rows.length < pagesPerRead || typeof last?.stream !== "number" || typeof last.page !== "number") break;
      if (after !== null && (last.stream < after.stream || (last.stream === after.stream && last.page <= after.page)))
        break;
      after = { stream: last.stream, page: last.page };
    }
    for (const state of this.byNumber.values()) {
      const found = seen.get(state.number!) ?? 0;
      if (state.positions !== null && state.pages !== null && found < state.pages.length)
        this.reportPage(state.number, found, state, "the page is missing");
    }
  }

  private reportPage(stream: unknown, page: unknown, state: StreamState | undefined, message: string): void {
    this.findings.add("E_COLUMN", {
      stream: state === undefined ? null : nameOf(state),
      where: `stream_pages ${String(stream)}/${String(page)}`,
      message,
    });
  }

  private take(row: RawStream): void {
    this.rows++;
    const { id, rev, seq } = row;
    const where = `streams ${String(id)}`;
    let name: string;
    try {
      name = parseStream(row.name instanceof Uint8Array ? decodeUtf8(row.name, "name") : row.name, "name");
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      this.findings.add("E_COLUMN", { where, message: error.message, have: row.name });
      return;
    }
    for (const [column, value] of [
      ["id", id],
      ["rev", rev],
      ["last_seq", seq],
    ] as const) {
      if (!Number.isSafeInteger(value))
        this.findings.add("E_TYPE", { where, message: `${column} must be an integer`, have: value });
    }
    if (typeof id !== "number") return;
    const state = newState(name, id, rev, seq);
    const twin = this.byName.get(state.middle);
    if (twin !== undefined)
      this.findings.add("E_COLUMN", { where, message: "two rows have the same name", have: name });
    else this.byName.set(state.middle, state);
    this.byNumber.set(id, twin ?? state);
  }
}

/** The name of a stream, in the clear. */
export function nameOf({ middle }: StreamState): string {
  return JSON.parse(middle.slice(middleStart.length, -middleEnd.length)) as string; // written by JSON.stringify
}

const middleStart = ',"stream":';
const middleEnd = ',"tv":';

function middleOf(name: string): string {
  // Joined, not added: a sum of strings keeps its parts.
  return [middleStart, JSON.stringify(name), middleEnd].join("");
}

/** A stream without entries so far. */
export function newState(name: string, number: number | null, rowRev: unknown, rowSeq: unknown): StreamState {
  const positions =
    typeof rowRev === "number" && rowRev >= revisionsPerPage ? new Float64Array(revisionsPerPage) : null;
  const special = name === journalStream || name.startsWith("journal/") || name.includes("\ufffd");
  return { middle: middleOf(name), number, special, rowRev, rowSeq, revision: 0, last: null, positions, pages: null };
}

function pageHash(positions: Float64Array): string {
  return hash("sha256", new Uint8Array(positions.buffer, positions.byteOffset, positions.byteLength), "base64");
}
