/** The raw reader of a journal in PostgreSQL: rows as they are, at one position.
 *  Invariants: it changes nothing; it decodes nothing and hides nothing; what is wrong with the tables is told by `problems`, or
 *  thrown by the call that met it. There are no files here whose hashes could be told: those of the server are the server's. */
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
import type { ConnectionOptions } from "./connection.js";
import { storeError } from "./errors.js";
import { parsePostgresLocation } from "./location.js";
import type { PostgresLocation } from "./location.js";
import { findProblems } from "./problems.js";
import { RawSession } from "./raw-session.js";
import { documentsQuery, rawStatementsOn } from "./raw-statements.js";
import type { RawStatements } from "./raw-statements.js";

/** Opens the rows of the journal at an address for the verifier. @public */
export async function openPostgresRawReader(url: string): Promise<RawReader> {
  const place = parsePostgresLocation(url);
  return openRawReaderAt(place, { config: place.config, timeoutMs: busyTimeoutMsDefault });
}

/** The same for an address that was parsed. */
export async function openRawReaderAt(place: PostgresLocation, connecting: ConnectionOptions): Promise<RawReader> {
  try {
    return new PostgresRawReader(place, await RawSession.open(place, connecting));
  } catch (cause) {
    throw storeError(cause, place.shown, "reading");
  }
}

type EntryColumns = readonly [
  seq: unknown,
  id: unknown,
  stream: unknown,
  rev: unknown,
  before: unknown,
  type: unknown,
  at: unknown,
  skew: unknown,
  entry: unknown,
];

/** A page that is asked for before it is wanted. */
interface Ahead {
  readonly after: unknown;
  readonly limit: number;
  readonly asBytes: boolean;
  readonly rows: Promise<readonly RawEntry[]>;
}

class PostgresRawReader implements RawReader {
  readonly location: string;
  readonly copied: boolean = false;
  private readonly schema: string;
  private readonly session: RawSession;
  private readonly statements: RawStatements;
  private ahead: Ahead | null = null;
  private closed = false;

  constructor({ shown, schema }: PostgresLocation, session: RawSession) {
    this.location = shown;
    this.schema = schema;
    this.session = session;
    this.statements = rawStatementsOn(schema);
  }

  async evidence(): Promise<readonly EvidenceFile[]> {
    this.check();
    return [];
  }

  async unchanged(): Promise<boolean> {
    this.check();
    return true;
  }

  async problems(part: RawProblemPart = "all"): Promise<readonly RawProblem[]> {
    this.check();
    return findProblems(this.session, this.schema, part);
  }

  async entryCount(): Promise<number> {
    const [row] = await this.rows<[number]>("entryCount");
    return row![0];
  }

  /** The page behind a full one is on its way while the verifier works on this one. */
  async entries(after: number | null, limit: number, asBytes = false): Promise<readonly RawEntry[]> {
    this.check();
    const { ahead } = this;
    this.ahead = null;
    const fits = ahead !== null && ahead.after === after && ahead.limit === limit && ahead.asBytes === asBytes;
    const rows = await (fits ? ahead.rows : this.page(after, limit, asBytes));
    const last = rows.at(-1)?.seq;
    if (limit > 1 && rows.length === limit && typeof last === "number" && !this.closed) {
      const behind = this.page(last, limit, asBytes);
      behind.catch(() => {}); // told to whoever comes for it
      this.ahead = { after: last, limit, asBytes, rows: behind };
    }
    return rows;
  }

  async streams(after: number | null, limit: number): Promise<readonly RawStream[]> {
    const rows = await this.rows<unknown[]>("streams", [after ?? beforeAll, limit]);
    return rows.map(([id, name, rev, seq]) => ({ id, name, rev, seq }));
  }

  async types(): Promise<readonly RawType[]> {
    return (await this.rows<unknown[]>("types")).map(([id, name]) => ({ id, name }));
  }

  async streamPages(
    after: { readonly stream: number; readonly page: number } | null,
    limit: number,
  ): Promise<readonly RawStreamPage[]> {
    const rows = await this.rows<unknown[]>("streamPages", [
      after?.stream ?? beforeAll,
      after?.page ?? beforeAll,
      limit,
    ]);
    return rows.map(([stream, page, seqs]) => ({ stream, page, seqs: decodePage(seqs) }));
  }

  async contents(after: number | null, limit: number): Promise<readonly RawContent[]> {
    const rows = await this.rows<unknown[]>("contents", [after ?? beforeAll, limit]);
    return rows.map(([n, digest, media, salt, bytes, plain, erased]) => ({
      n,
      digest,
      media,
      salt,
      bytes,
      plain,
      erased,
    }));
  }

  async nodes(
    after: { readonly level: number; readonly n: number } | null,
    limit: number,
  ): Promise<readonly RawNode[]> {
    const rows = await this.rows<unknown[]>("nodes", [after?.level ?? beforeAll, after?.n ?? beforeAll, limit]);
    return rows.map(([level, n, hash]) => ({ level, n, hash }));
  }

  async checkpoints(after: number | null, limit: number): Promise<readonly RawCheckpoint[]> {
    const rows = await this.rows<unknown[]>("checkpoints", [after ?? beforeAll, limit]);
    return rows.map(([size, note]) => ({ size, note }));
  }

  async projections(): Promise<readonly RawProjection[]> {
    const rows = await this.rows<unknown[]>("projections");
    return rows.map(([id, name, version, indexes, status, position, entryId, error]) => ({
      id,
      name,
      version,
      indexes,
      status,
      position,
      entryId,
      error,
    }));
  }

  async folded(): Promise<RawFolded | null> {
    const [row] = await this.rows<unknown[]>("folded");
    return row === undefined ? null : { position: row[0], entryId: row[1], tables: row[2] };
  }

  async documents(table: number, after: string | Uint8Array | null, limit: number): Promise<readonly RawDocument[]> {
    this.check();
    const values = after === null ? [limit] : [limit, after];
    const ask = (bytes: boolean): Promise<unknown[][]> =>
      this.session.rows(documentsQuery(this.schema, table, after, bytes), values);
    try {
      // What a row said that somebody changed is no name of a table.
      if (!Number.isSafeInteger(table) || table < 1) throw none(this.location, table);
      const rows = await ask(false);
      const bytes = rows.some(([key, ...columns]) => isUnsure(key) || isUnsure(columns.at(-1))) ? await ask(true) : [];
      return rows.map(([key, seq, ...columns], index) => {
        const text = columns.pop();
        return { key: exact(key, bytes[index]?.[0]), seq, text: exact(text, bytes[index]?.[1]), indexes: columns };
      });
    } catch (cause) {
      throw cause instanceof LedgerError && cause.code === "SCHEMA_UNKNOWN" ? none(this.location, table) : cause;
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.ahead = null;
    await this.session.close();
  }

  private async page(after: number | null, limit: number, asBytes: boolean): Promise<readonly RawEntry[]> {
    const from = after ?? beforeAll;
    const rows = await this.rows<EntryColumns>(asBytes ? "entryBytes" : "entries", [from, limit]);
    const unsure = rows.some(([, , , , , , , , entry]) => isUnsure(entry));
    const bytes = unsure ? await this.rows<EntryColumns>("entryBytes", [from, limit]) : [];
    return rows.map((row, index) => entryOf(row, bytes[index]?.[8]));
  }

  private rows<Row>(name: keyof RawStatements, values: readonly unknown[] = []): Promise<Row[]> {
    this.check();
    return this.session.rows<Row>(this.statements[name], values);
  }

  private check(): void {
    if (this.closed) throw new LedgerError("CLOSED", "this reader is closed");
  }
}

/** Below every key that a number can hold. */
const beforeAll = -Number.MAX_SAFE_INTEGER - 1;

const numberColumns = ["stream", "rev", "before", "type", "at", "skew"] as const;

function entryOf(columns: EntryColumns, bytes: unknown): RawEntry {
  const [seq, id, stream, rev, before, type, at, skew, entry] = columns;
  const row = { seq, id, stream, rev, before, type, at, skew, entry: isUnsure(entry) ? bytes : entry };
  const misfits = numberColumns.filter((column) => typeof row[column] === "bigint");
  return misfits.length === 0 ? row : { ...row, misfits: misfits.join(", ") };
}

/** Decoding hides what stood where text shows U+FFFD. */
function isUnsure(value: unknown): boolean {
  return typeof value === "string" && value.includes("\ufffd");
}

/** The text when it is what the bytes say, else the bytes. */
function exact(value: unknown, bytes: unknown): unknown {
  if (typeof value !== "string" || !(bytes instanceof Uint8Array)) return value;
  return Buffer.from(value).equals(bytes) ? value : bytes;
}

function none(shown: string, table: number): LedgerError {
  return new LedgerError("STORE_DAMAGED", `there is no table of documents ${table} as it must be in ${shown}`, {
    details: { location: shown, table },
    hint: "run verify",
  });
}
