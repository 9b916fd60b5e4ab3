/** The raw reader of a ledger file: rows as they are, at one position.
 *  Invariants: it changes nothing, in the file or beside it; it decodes nothing and hides nothing; what is wrong with the
 *  pages or the schema is told by `problems`, or thrown as `STORE_DAMAGED` by the call that met it. */
import { LedgerError } from "../../kernel/errors.js";
import { busyTimeoutMsDefault } from "../../kernel/limits.js";
import type {
  EvidenceFile,
  RawCheckpoint,
  RawContent,
  RawDocument,
  RawEntry,
  RawFolded,
  RawNode,
  RawProblem,
  RawProblemPart,
  RawProjection,
  RawReader,
  RawStream,
  RawStreamPage,
  RawType,
} from "../../journal/raw-reader.js";
import { decodePage } from "../stream-page.js";
import { whenFree } from "./busy.js";
import { connect } from "./connection.js";
import type { Connection } from "./connection.js";
import { DocumentStatements } from "./document-statements.js";
import { sqliteCode, storeError } from "./errors.js";
import { filesystemKind, isNetwork } from "./filesystem.js";
import { nothingThere, unknownSchema } from "./header.js";
import { parseLocation } from "./location.js";
import { findProblems } from "./problems.js";
import { rawDocuments } from "./raw-documents.js";
import { plainPage, soundPage } from "./raw-page.js";
import { damaged } from "./reads.js";
import { openReadable } from "./readable.js";
import type { Readable } from "./readable.js";
import { layoutVersion } from "./schema.js";
import { prepare, rawStatements } from "./statements.js";
import type { RawStatements } from "./statements.js";

/** Opens the rows of the file at a path for the verifier. A file on a network file system is copied first. */
export async function openSqliteRawReader(path: string): Promise<RawReader> {
  const location = parseLocation(path);
  try {
    return await openRawReader(location, isNetwork(filesystemKind(location)));
  } catch (cause) {
    throw storeError(cause, location, "reading");
  }
}

/** The same for a path that was parsed. */
export async function openRawReader(location: string, mustCopy: boolean): Promise<RawReader> {
  const readable = await openReadable(location, mustCopy, busyTimeoutMsDefault);
  try {
    if (readable.empty) throw nothingThere(location, "an unfinished creation");
    const found = readable.header.userVersion;
    if (found > layoutVersion) throw unknownSchema(location, `layout version ${layoutVersion} at most`, String(found));
    const connection = await whenFree(location, "reading", busyTimeoutMsDefault, () => pin(readable.path));
    return new SqliteRawReader(location, readable, connection);
  } catch (cause) {
    readable.close();
    throw cause;
  }
}

/** A connection inside a transaction that has read, so that all rows are of one position. */
function pin(path: string): Connection {
  const connection = connect(path, "read");
  try {
    try {
      connection.exec("BEGIN");
      connection.pragma("schema_version");
    } catch (cause) {
      if (sqliteCode(cause) !== "SQLITE_CORRUPT") throw cause;
      // SQLite will not begin to read a file that is shorter than it says, unless it is told to: what is left of it is evidence.
      connection.unsafeMode(true);
      connection.pragma("writable_schema = ON");
      connection.pragma("schema_version");
    }
    return connection;
  } catch (cause) {
    connection.close();
    throw cause;
  }
}

class SqliteRawReader implements RawReader {
  readonly location: string;
  readonly copied: boolean;
  private readonly readable: Readable;
  private readonly connection: Connection;
  private readonly tables: DocumentStatements;
  private prepared: RawStatements | null = null;
  /** The schema was checked and found as it must be. */
  private sound = false;
  private closed = false;

  constructor(location: string, readable: Readable, connection: Connection) {
    this.location = location;
    this.copied = readable.copied;
    this.readable = readable;
    this.connection = connection;
    this.tables = new DocumentStatements(connection);
  }

  evidence(): Promise<readonly EvidenceFile[]> {
    this.check();
    return this.readable.evidence();
  }

  async unchanged(): Promise<boolean> {
    this.check();
    return this.readable.unchanged();
  }

  async problems(part: RawProblemPart = "all"): Promise<readonly RawProblem[]> {
    this.check();
    const problems = findProblems(this.connection, this.readable.header, part);
    this.sound = problems.length === 0;
    return problems;
  }

  async entryCount(): Promise<number> {
    return this.read((statements) => (statements.entryCount.get() as [number])[0]);
  }

  async entries(after: number | null, limit: number, asBytes = false): Promise<readonly RawEntry[]> {
    // A verification reads thousands of pages; the host's event loop gets a turn before each.
    await new Promise((resolve) => setImmediate(resolve));
    return this.read((statements) => {
      const from = after ?? beforeFirst(statements);
      const page = this.sound && !asBytes ? soundPage(statements, from, limit) : null;
      return page ?? plainPage(statements, from, limit, asBytes);
    });
  }

  async streams(after: number | null, limit: number): Promise<readonly RawStream[]> {
    return this.read((statements) =>
      statements.streams.all(after ?? beforeAll, limit).map(([id, name, rev, seq]) => ({ id, name, rev, seq })),
    );
  }

  async types(): Promise<readonly RawType[]> {
    return this.read((statements) => statements.types.all(beforeAll).map(([id, name]) => ({ id, name })));
  }

  async streamPages(
    after: { readonly stream: number; readonly page: number } | null,
    limit: number,
  ): Promise<readonly RawStreamPage[]> {
    return this.read((statements) => {
      const rows = statements.streamPages.all(after?.stream ?? beforeAll, after?.page ?? beforeAll, limit);
      return rows.map(([stream, page, seqs]) => ({ stream, page, seqs: decodePage(seqs) }));
    });
  }

  async contents(after: number | null, limit: number): Promise<readonly RawContent[]> {
    return this.read((statements) => {
      const rows = statements.contents.all(after ?? beforeAll, limit);
      return rows.map(([n, digest, media, salt, bytes, plain, erased]) => ({
        n,
        digest,
        media,
        salt,
        bytes,
        plain,
        erased,
      }));
    });
  }

  async nodes(
    after: { readonly level: number; readonly n: number } | null,
    limit: number,
  ): Promise<readonly RawNode[]> {
    return this.read((statements) => {
      const rows = statements.nodes.all(after?.level ?? beforeAll, after?.n ?? beforeAll, limit);
      return rows.map(([level, n, hash]) => ({ level, n, hash }));
    });
  }

  async checkpoints(after: number | null, limit: number): Promise<readonly RawCheckpoint[]> {
    return this.read((statements) =>
      statements.checkpoints.all(after ?? -Infinity, limit).map(([size, note]) => ({ size, note })),
    );
  }

  async projections(): Promise<readonly RawProjection[]> {
    return this.read((statements) =>
      statements.projections.all(beforeAll).map(([id, name, version, indexes, status, position, entryId, error]) => ({
        id,
        name,
        version,
        indexes,
        status,
        position,
        entryId,
        error,
      })),
    );
  }

  async folded(): Promise<RawFolded | null> {
    return this.read((statements) => {
      const row = statements.folded.get();
      return row === undefined ? null : { position: row[0], entryId: row[1], tables: row[2] };
    });
  }

  async documents(table: number, after: string | Uint8Array | null, limit: number): Promise<readonly RawDocument[]> {
    return this.read(() => {
      const none = damaged(this.location, `there is no table of documents ${table} as it must be`);
      if (!Number.isSafeInteger(table) || table < 1) throw none; // what a row said that somebody changed
      try {
        return rawDocuments(this.tables, table, after, limit);
      } catch (cause) {
        throw sqliteCode(cause) === "SQLITE_ERROR" ? none : cause;
      }
    });
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.connection.close();
    this.readable.close();
  }

  private read<T>(act: (statements: RawStatements) => T): T {
    this.check();
    try {
      // Prepared late: in a file with another schema they cannot be, and `problems` says why.
      this.prepared ??= prepare(this.connection, rawStatements);
      return act(this.prepared);
    } catch (cause) {
      throw storeError(cause, this.location, "reading");
    }
  }

  private check(): void {
    if (this.closed) throw new LedgerError("CLOSED", "this reader is closed");
  }
}

/** The position before the first row; a key that a number cannot hold is read by nobody. */
function beforeFirst(statements: RawStatements): number {
  const [first] = statements.firstEntry.get() as [number | null];
  return first === null || !Number.isSafeInteger(first) ? beforeAll : first - 1;
}

/** Below every key that a number can hold. */
const beforeAll = -Number.MAX_SAFE_INTEGER - 1;
