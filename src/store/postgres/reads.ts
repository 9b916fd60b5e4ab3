import { describe, invariant, LedgerError } from "../../kernel/errors.js";
import type {
  DocumentRange,
  FoldedMark,
  FoundDocument,
  ProjectionRow,
  StoredDocument,
} from "../../journal/documents.js";
import type {
  ConsumerRow,
  ContentFacts,
  StoredCheckpoint,
  StoredContent,
  StoredFacts,
  StoredEntry,
  StoreHead,
  StoreReads,
  StreamHead,
} from "../../journal/store.js";
import { toConsumer } from "../consumer-row.js";
import type { ConsumerColumns } from "../consumer-row.js";
import { toFolded, toProjection } from "../projection-row.js";
import type { FoldedColumns, ProjectionColumns } from "../projection-row.js";
import { decodePage, revisionsPerPage } from "../stream-page.js";
import type { Ask } from "./ask.js";
import type { Connection } from "./connection.js";
import { byIndex, byKey, byKeys, toDocument, toFound } from "./documents.js";
import type { DocumentColumns, FoundColumns } from "./documents.js";
import { storeError } from "./errors.js";
import type { JournalIdentity } from "./identity.js";
import type { StatementName, Statements } from "./statements.js";

/** Which journal is meant. */
export interface Journal {
  /** How messages name it. */
  readonly shown: string;
  readonly schema: string;
  readonly statements: Statements;
  readonly identity: JournalIdentity;
}

/** What a transaction, or a snapshot, starts from. */
export interface Ground {
  /** The id of the first entry. */
  readonly first: string | null;
  readonly head: StoreHead | null;
  /** The database's clock, ms since the epoch. */
  readonly now: number;
  /** How many indexes each table of documents has. */
  readonly tables: Map<number, number>;
  /** The number of contents that were ever named. */
  readonly contents: number;
  /** The number of the last stream; 0 when there is none. */
  readonly lastStream: number;
  /** Who last looked up a commit that gave no answer, so that what is on its way from before comes too late; null: nobody ever. */
  readonly turn: string | null;
  /** The mark as it is stored: who asks for it is told when it is damaged. Null when nothing was ever folded. */
  readonly folded: FoldedColumns | null;
}

/** A stream as it is stored. */
export interface StreamRow {
  readonly id: number;
  readonly rev: number;
  /** Position of its last entry. */
  readonly seq: number;
}

/** Where reads go. */
export interface Source {
  readonly connection: Connection;
  readonly ground: Ground;
  /** Before each read: throws when they were given back; what was held back is written. */
  prepare(): Promise<void> | undefined;
  /** What to throw for what failed. */
  blame?(cause: unknown): unknown;
}

/** Reads of one connection, inside the transaction that it holds. */
export class PostgresReads implements StoreReads {
  protected readonly journal: Journal;
  private readonly source: Source;

  constructor(journal: Journal, source: Source) {
    this.journal = journal;
    this.source = source;
  }

  async head(): Promise<StoreHead | null> {
    await this.source.prepare();
    return this.source.ground.head;
  }

  async streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    const found = await this.streamRows(streams);
    return streams.map((name) => {
      const row = found.get(name);
      return row === undefined ? null : { rev: row.rev, seq: row.seq };
    });
  }

  async entries(from: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    const rows = await this.read<EntryColumns>(reverse ? "entriesReverse" : "entries", [within(from), limit]);
    return rows.map(toEntry);
  }

  async entriesAt(positions: readonly number[]): Promise<readonly (StoredEntry | null)[]> {
    const asked = positions.filter((position) => Number.isSafeInteger(position));
    const rows = await this.read<EntryColumns>("entriesAt", [asked]);
    const found = new Map(rows.map((row) => [row[0], row]));
    return positions.map((position) => {
      const row = found.get(position);
      return row === undefined ? null : toEntry(row);
    });
  }

  async ids(from: number, limit: number): Promise<readonly string[]> {
    return (await this.read<[string]>("ids", [within(from), limit])).map(([id]) => id);
  }

  async streamEntries(name: string, fromRev: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    const stream = (await this.streamRows([name])).get(name);
    if (stream === undefined) return [];
    const first = reverse ? Math.max(Math.min(fromRev, stream.rev) - limit + 1, 1) : Math.max(fromRev, 1);
    const last = reverse ? Math.min(fromRev, stream.rev) : Math.min(first + limit - 1, stream.rev);
    if (last < first) return [];
    const positions = await this.streamPositions(stream, first, last);
    if (reverse) positions.reverse();
    const entries = await this.entriesAt(positions);
    return entries.map((entry, index) => {
      if (entry !== null) return entry;
      throw damaged(this.journal.shown, `stream ${name} names position ${positions[index]}, where no entry stands`);
    });
  }

  async contents(numbers: readonly number[]): Promise<readonly (StoredContent | null)[]> {
    const rows = await this.read<ContentColumns>("contents", [numbers.filter((n) => Number.isSafeInteger(n))]);
    const found = new Map(rows.map((row) => [row[0], row]));
    return numbers.map((n) => {
      const row = found.get(n);
      return row === undefined ? null : toContent(row, this.journal.shown);
    });
  }

  async contentFacts(numbers: readonly number[]): Promise<readonly (StoredFacts | null)[]> {
    const rows = await this.read<FactColumns>("contentFacts", [numbers.filter((n) => Number.isSafeInteger(n))]);
    const found = new Map(rows.map((row) => [row[0], row]));
    return numbers.map((n) => {
      const row = found.get(n);
      return row === undefined ? null : toFacts(row, this.journal.shown);
    });
  }

  async contentsByPlain(hashes: readonly string[]): Promise<readonly (ContentFacts | null)[]> {
    const rows = await this.read<FactColumns>("contentsByPlain", [hashes]);
    const found = new Map(rows.map((row) => [row[4], toFacts(row, this.journal.shown)]));
    return hashes.map((hash) => {
      const content = found.get(hash);
      return content !== undefined && "size" in content ? content : null;
    });
  }

  async nodes(level: number, from: number, limit: number): Promise<readonly string[]> {
    return (await this.read<[string]>("nodes", [level, within(from), limit])).map(([hash]) => hash);
  }

  async checkpoints(sizeMax: number | null, limit: number): Promise<readonly StoredCheckpoint[]> {
    const rows = await this.read<[number, string]>("checkpoints", [sizeMax ?? Number.MAX_SAFE_INTEGER, limit]);
    return rows.map(([size, note]) => ({ size, note }));
  }

  async consumers(): Promise<readonly ConsumerRow[]> {
    const rows = await this.read<ConsumerColumns>("consumers", []);
    return rows.map((row) => toConsumer(row, this.journal.shown));
  }

  async consumer(name: string): Promise<ConsumerRow | null> {
    const [row] = await this.read<ConsumerColumns>("consumer", [name]);
    return row === undefined ? null : toConsumer(row, this.journal.shown);
  }

  async projections(): Promise<readonly ProjectionRow[]> {
    const rows = await this.read<ProjectionColumns>("projections", []);
    return rows.map((row) => toProjection(row, this.journal.shown));
  }

  async folded(): Promise<FoldedMark | null> {
    await this.source.prepare();
    const { folded } = this.source.ground;
    return folded === null ? null : toFolded(folded, this.journal.shown);
  }

  async documents(table: number, keys: readonly string[]): Promise<readonly (StoredDocument | null)[]> {
    const { schema, shown } = this.journal;
    const rows = await this.ofTable<DocumentColumns>(table, byKeys(schema, table, keys));
    const found = new Map(rows.map((row) => [row[0], row]));
    return keys.map((key) => {
      const row = found.get(key);
      return row === undefined ? null : toDocument(row, shown, table);
    });
  }

  async documentsByKey(
    table: number,
    after: string | null,
    limit: number,
    reverse = false,
  ): Promise<readonly StoredDocument[]> {
    const { schema, shown } = this.journal;
    const rows = await this.ofTable<DocumentColumns>(table, byKey(schema, table, after, limit, reverse));
    return rows.map((row) => toDocument(row, shown, table));
  }

  async documentsByIndex(table: number, range: DocumentRange): Promise<readonly FoundDocument[]> {
    const { schema, shown } = this.journal;
    const rows = await this.ofTable<FoundColumns>(table, byIndex(schema, table, range), range.index + 1);
    return rows.map((row) => toFound(row, shown, table));
  }

  protected async streamRows(names: readonly string[]): Promise<ReadonlyMap<string, StreamRow>> {
    return toStreams(await this.read<StreamColumns>("streams", [names]));
  }

  /** The positions of the `count` last entries of a stream that ends at `seq`, ascending. */
  protected async walkBack(seq: number, count: number): Promise<number[]> {
    if (count === 0) return [];
    const rows = await this.read<[number]>("walkBack", [seq, count]);
    if (rows.length === count) return rows.map(([position]) => position);
    throw damaged(
      this.journal.shown,
      `entry ${rows[0]?.[0] ?? seq} does not point back to an earlier one of its stream`,
    );
  }

  protected async read<Row>(name: StatementName, values: readonly unknown[]): Promise<Row[]> {
    return this.ask<Row>({ statement: this.journal.statements[name], values });
  }

  /** Where the revisions `first` to `last` of a stream stand: from full pages, and from the back pointers of the last one. */
  private async streamPositions(stream: StreamRow, first: number, last: number): Promise<number[]> {
    const paged = stream.rev - (stream.rev % revisionsPerPage);
    const positions: number[] = [];
    if (first <= paged) {
      const from = Math.floor((first - 1) / revisionsPerPage);
      const to = Math.floor((Math.min(last, paged) - 1) / revisionsPerPage);
      const pages = await this.read<[Uint8Array]>("streamPages", [stream.id, from, to]);
      const found = pages.flatMap(([seqs]) => decodePage(seqs) ?? []);
      if (found.length !== (to - from + 1) * revisionsPerPage)
        throw damaged(this.journal.shown, `a page from ${from} to ${to} of stream ${stream.id} is missing or broken`);
      positions.push(...found.slice(first - 1 - from * revisionsPerPage, last - from * revisionsPerPage));
    }
    const tailFirst = Math.max(first, paged + 1);
    if (last < tailFirst) return positions;
    const tail = await this.walkBack(stream.seq, stream.rev - tailFirst + 1);
    return positions.concat(tail.slice(0, last - tailFirst + 1));
  }

  /** Asking for a table that is not there would end the transaction: a statement that fails does. */
  private async ofTable<Row>(table: number, ask: Ask, indexesMin = 0): Promise<Row[]> {
    await this.source.prepare();
    const indexes = this.source.ground.tables.get(table);
    invariant(indexes !== undefined, `table ${table} must be there`);
    invariant(indexes >= indexesMin, `table ${table} must have an index ${indexesMin - 1}, found ${indexes}`);
    return this.ask<Row>(ask);
  }

  private async ask<Row>({ statement, values }: Ask): Promise<Row[]> {
    const { source, journal } = this;
    try {
      const preparing = source.prepare();
      if (preparing !== undefined) await preparing;
      return await source.connection.rows<Row>(statement, values);
    } catch (cause) {
      throw source.blame?.(cause) ?? storeError(cause, journal.shown, "reading");
    }
  }
}

type EntryColumns = readonly [seq: number, id: string, entry: string];
type OfContent<Last> = readonly [
  n: number,
  digest: string,
  media: string | null,
  salt: Uint8Array | null,
  plain: string | null,
  erased: unknown,
  last: Last | null,
];
type ContentColumns = OfContent<Uint8Array>;
type FactColumns = OfContent<number>;
export type GroundColumns = readonly [
  seq: number | null,
  id: string,
  at: number,
  skew: number,
  contents: number | null,
  now: number,
  tables: readonly string[] | null,
  lastStream: number,
  first: string | null,
  turn: string | null,
  isFolded: number | null,
  ...folded: FoldedColumns,
];

export type StreamColumns = readonly [name: string, id: number, rev: number, seq: number];

export function toStreams(rows: readonly StreamColumns[]): ReadonlyMap<string, StreamRow> {
  return new Map(rows.map(([name, id, rev, seq]) => [name, { id, rev, seq }]));
}

export function toGround([
  seq,
  id,
  at,
  skew,
  count,
  now,
  tables,
  lastStream,
  first,
  turn,
  isFolded,
  ...folded
]: GroundColumns): Ground {
  const contents = count ?? 0;
  const counts = (tables ?? []).map((each) => each.split(":").map(Number) as [number, number]);
  return {
    first,
    head: seq === null ? null : { seq, id, at, skew, contents },
    now,
    tables: new Map(counts),
    contents,
    lastStream,
    turn,
    folded: isFolded === null ? null : folded,
  };
}

/** Text that shows U+FFFD is handed on as bytes, as on every store; here they are what the text says, for the server keeps
 *  nothing that is not UTF-8. */
function toEntry([seq, id, entry]: EntryColumns): StoredEntry {
  if (typeof seq !== "number")
    throw new LedgerError("STORE_DAMAGED", `a position must be a number below 2^53, found ${describe(seq)}`, {
      details: { field: "seq" },
      hint: "run `runledger verify` on it",
    });
  return { seq, id, entry: entry.includes("\ufffd") ? Buffer.from(entry) : entry };
}

function toContent([n, digest, media, salt, plain, erased, bytes]: ContentColumns, shown: string): StoredContent {
  if (typeof erased === "number") return { n, digest, erased };
  if (erased !== null || media === null || salt === null || bytes === null)
    throw damaged(shown, `content ${n} is neither whole nor erased`);
  return { n, digest, media, salt, bytes, plain };
}

function toFacts([n, digest, media, salt, , erased, size]: FactColumns, shown: string): StoredFacts {
  if (typeof erased === "number") return { n, digest, erased };
  if (erased !== null || media === null || salt === null || size === null)
    throw damaged(shown, `content ${n} is neither whole nor erased`);
  return { n, digest, media, salt, size };
}

/** Positions beyond all that there can be are like the last one. */
function within(position: number): number {
  return Math.max(Math.min(position, Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
}

export function damaged(shown: string, found: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `${shown} does not hold together: ${found}`, {
    details: { path: shown, found },
    hint: "run verify",
  });
}
