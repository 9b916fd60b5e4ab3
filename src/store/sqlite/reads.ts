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
import type { DocumentStatements } from "./document-statements.js";
import { readByIndex, readByKey, readDocument } from "./documents.js";
import { sqliteCode, storeError } from "./errors.js";
import { toFolded, toProjection } from "../projection-row.js";
import type { FoldedColumns, ProjectionColumns } from "../projection-row.js";
import type { ReadStatements } from "./statements.js";
import { streamPositions } from "./stream-positions.js";
import type { StreamRow } from "./stream-positions.js";

/** Where reads come from: the statements of the connection, or an error when the reads were given back. */
export type StatementSource = () => ReadStatements;

/** Reads of one connection, inside the transaction that the connection holds. */
export class SqliteReads implements StoreReads {
  protected readonly path: string;
  private readonly source: StatementSource;
  private readonly tables: DocumentStatements;

  constructor(path: string, tables: DocumentStatements, source: StatementSource) {
    this.path = path;
    this.tables = tables;
    this.source = source;
  }

  async head(): Promise<StoreHead | null> {
    return this.read((statements) => readHead(statements));
  }

  async streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    return this.read((statements) =>
      streams.map((name) => {
        const row = readStream(statements, name);
        return row === null ? null : { rev: row.rev, seq: row.seq };
      }),
    );
  }

  async entries(from: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    return this.read((statements) => {
      const rows = (reverse ? statements.entriesReverse : statements.entries).all(from, limit) as EntryColumns[];
      return rows.map((row) => toEntry(statements, row));
    });
  }

  async entriesAt(positions: readonly number[]): Promise<readonly (StoredEntry | null)[]> {
    return this.read((statements) => positions.map((position) => readEntry(statements, position)));
  }

  async ids(from: number, limit: number): Promise<readonly string[]> {
    return this.read((statements) => statements.ids.all(from, limit) as unknown[] as string[]); // plucked
  }

  async streamEntries(name: string, fromRev: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    return this.read((statements) => {
      const stream = readStream(statements, name);
      if (stream === null) return [];
      const first = reverse ? Math.max(Math.min(fromRev, stream.rev) - limit + 1, 1) : Math.max(fromRev, 1);
      const last = reverse ? Math.min(fromRev, stream.rev) : Math.min(first + limit - 1, stream.rev);
      const positions = streamPositions(statements, stream, first, last, this.path);
      if (reverse) positions.reverse();
      return positions.map((position) => {
        const entry = readEntry(statements, position);
        if (entry === null)
          throw damaged(this.path, `stream ${name} names position ${position}, where no entry stands`);
        return entry;
      });
    });
  }

  async contents(numbers: readonly number[]): Promise<readonly (StoredContent | null)[]> {
    return this.read((statements) =>
      numbers.map((n) => {
        const row = statements.content.get(n) as ContentColumns | undefined;
        return row === undefined ? null : toContent(row, this.path);
      }),
    );
  }

  async contentFacts(numbers: readonly number[]): Promise<readonly (StoredFacts | null)[]> {
    return this.read((statements) =>
      numbers.map((n) => {
        const row = statements.contentFacts.get(n) as ContentColumns | undefined;
        return row === undefined ? null : toFacts(row, this.path);
      }),
    );
  }

  async contentsByPlain(hashes: readonly string[]): Promise<readonly (ContentFacts | null)[]> {
    return this.read((statements) =>
      hashes.map((hash) => {
        const row = statements.contentByPlain.get(hash) as ContentColumns | undefined;
        const found = row === undefined ? null : toFacts(row, this.path);
        return found !== null && "size" in found ? found : null;
      }),
    );
  }

  async nodes(level: number, from: number, limit: number): Promise<readonly string[]> {
    return this.read((statements) => statements.nodes.all(level, from, limit) as unknown[] as string[]); // plucked
  }

  async checkpoints(sizeMax: number | null, limit: number): Promise<readonly StoredCheckpoint[]> {
    return this.read((statements) => {
      const rows = statements.checkpoints.all(sizeMax ?? Number.MAX_SAFE_INTEGER, limit) as [number, unknown][];
      return rows.map(([size, note]) => {
        if (typeof note !== "string") throw damaged(this.path, `checkpoint ${size} has no note`);
        return { size, note };
      });
    });
  }

  async consumers(): Promise<readonly ConsumerRow[]> {
    return this.read((statements) =>
      (statements.consumers.all() as ConsumerColumns[]).map((row) => toConsumer(row, this.path)),
    );
  }

  async consumer(name: string): Promise<ConsumerRow | null> {
    return this.read((statements) => {
      const row = statements.consumer.get(name) as ConsumerColumns | undefined;
      return row === undefined ? null : toConsumer(row, this.path);
    });
  }

  async projections(): Promise<readonly ProjectionRow[]> {
    return this.read((statements) =>
      (statements.projections.all() as unknown as ProjectionColumns[]).map((row) => toProjection(row, this.path)),
    );
  }

  async folded(): Promise<FoldedMark | null> {
    return this.read((statements) => {
      const row = statements.folded.get() as FoldedColumns | undefined;
      return row === undefined ? null : toFolded(row, this.path);
    });
  }

  async documents(table: number, keys: readonly string[]): Promise<readonly (StoredDocument | null)[]> {
    return this.ofTable(table, () => keys.map((key) => readDocument(this.tables, this.path, table, key)));
  }

  async documentsByKey(
    table: number,
    after: string | null,
    limit: number,
    reverse = false,
  ): Promise<readonly StoredDocument[]> {
    return this.ofTable(table, () => readByKey(this.tables, this.path, table, after, limit, reverse));
  }

  async documentsByIndex(table: number, range: DocumentRange): Promise<readonly FoundDocument[]> {
    return this.ofTable(table, () => readByIndex(this.tables, this.path, table, range), range.index + 1);
  }

  /** Reads of one table; SQLite has no code of its own for a table, or an index of it, that is not there. */
  private ofTable<T>(table: number, act: () => T, indexesMin = 0): T {
    return this.read((statements) => {
      try {
        return act();
      } catch (cause) {
        if (sqliteCode(cause) !== "SQLITE_ERROR") throw cause;
        const [indexes = null] = (statements.projection.get(table) ?? []) as [number?];
        invariant(indexes !== null, `table ${table} must be there`);
        invariant(indexes >= indexesMin, `table ${table} must have an index ${indexesMin - 1}, found ${indexes}`);
        throw cause;
      }
    });
  }

  protected read<T>(act: (statements: ReadStatements) => T): T {
    const statements = this.source();
    try {
      return act(statements);
    } catch (cause) {
      throw storeError(cause, this.path, "reading");
    }
  }
}

// Rows as the statements select them. The tables are STRICT and their shape was checked, so the classes hold.
type HeadColumns = [seq: number, id: string, at: number, skew: number, contents: number | null];
// But one changed byte of a row's header turns a value into NULL or into one of another class, whatever the table says of
// it: SQLite does not look again when it reads.
type EntryColumns = [seq: number, id: string, entry: unknown];
type ContentColumns = [
  n: number,
  digest: string,
  media: unknown,
  salt: unknown,
  plain: string | null,
  erased: unknown,
  /** The bytes, or how many they are. */
  last: unknown,
];

/** The head as the connection sees it. */
export function readHead(statements: ReadStatements): StoreHead | null {
  const row = statements.head.get() as HeadColumns | undefined;
  if (row === undefined) return null;
  const [seq, id, at, skew, contents] = row;
  return { seq, id, at, skew, contents: contents ?? 0 };
}

export function readContentCount(statements: ReadStatements): number {
  const [count] = statements.contentCount.get() as [number | null];
  return count ?? 0;
}

export function readStream(statements: ReadStatements, name: string): StreamRow | null {
  const row = statements.streamHead.get(name) as [id: number, rev: number, seq: number] | undefined;
  return row === undefined ? null : { id: row[0], rev: row[1], seq: row[2] };
}

function readEntry(statements: ReadStatements, position: number): StoredEntry | null {
  const row = statements.entry.get(position) as EntryColumns | undefined;
  return row === undefined ? null : toEntry(statements, row);
}

function toEntry(statements: ReadStatements, [seq, id, entry]: EntryColumns): StoredEntry {
  if (typeof entry !== "string")
    throw new LedgerError(
      "STORE_DAMAGED",
      `event #${seq} is damaged: it must have an entry, found ${describe(entry)}`,
      {
        details: { position: seq, field: "entry" },
        hint: "run `runledger verify` on it",
      },
    );
  if (!entry.includes("\ufffd")) return { seq, id, entry };
  const row = statements.entryBytes.get(seq) as [Buffer] | undefined;
  if (row !== undefined) return { seq, id, entry: row[0] };
  throw new LedgerError("STORE_DAMAGED", `event #${seq} must be found by its position, found only by reading on`, {
    details: { position: seq, field: "seq" },
    hint: "run `runledger verify` on it",
  });
}

function toContent([n, digest, media, salt, plain, erased, bytes]: ContentColumns, path: string): StoredContent {
  if (typeof erased === "number") return { n, digest, erased };
  if (erased !== null || typeof media !== "string" || !Buffer.isBuffer(salt) || !Buffer.isBuffer(bytes))
    throw damaged(path, `content ${n} is neither whole nor erased`);
  return { n, digest, media, salt, bytes, plain: plain === "" ? null : plain };
}

function toFacts([n, digest, media, salt, , erased, size]: ContentColumns, path: string): StoredFacts {
  if (typeof erased === "number") return { n, digest, erased };
  if (erased !== null || typeof media !== "string" || !Buffer.isBuffer(salt) || typeof size !== "number")
    throw damaged(path, `content ${n} is neither whole nor erased`);
  return { n, digest, media, salt, size };
}

export function damaged(path: string, found: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `${path} does not hold together: ${found}`, {
    details: { path, found },
    hint: "run verify",
  });
}
