/** The SQLite store: one journal in one file.
 *  Invariants: a file is looked at, and found to be ours, before a byte of it or beside it changes; a commit that was
 *  acknowledged survives power loss; a store that was closed by its last user is one file. */
import { LedgerError } from "../../kernel/errors.js";
import { busyTimeoutMsDefault } from "../../kernel/limits.js";
import type { RawReader } from "../../journal/raw-reader.js";
import type { FaultSeam, Store, StoreHealth, StoreSnapshot, StoreTransaction } from "../../journal/store.js";
import { Checkpoints } from "./checkpoints.js";
import type { OnDiagnostic } from "./diagnostic.js";
import { storeError } from "./errors.js";
import { FileGuard } from "./file-guard.js";
import { filesystemKind, isNetwork, refuseNetwork } from "./filesystem.js";
import { nothingThere } from "./header.js";
import { parseLocation } from "./location.js";
import { findOrCreate, openLedgerFile } from "./opening.js";
import { openRawReader } from "./raw-reader.js";
import type { Readable } from "./readable.js";
import { scrubMark } from "./scrub.js";
import { SnapshotPool } from "./snapshots.js";
import { Writer } from "./writer.js";

export interface SqliteStoreOptions {
  /** Never creates, changes or migrates anything; default false. */
  readonly readOnly?: boolean;
  /** Makes the file when there is none; default true. */
  readonly create?: boolean;
  readonly busyTimeoutMs?: number;
  readonly allowNetworkFilesystem?: boolean;
  readonly faults?: FaultSeam;
  /** Replaces the probe for the kind of file system. */
  readonly filesystemKind?: (path: string) => string;
  readonly onDiagnostic?: OnDiagnostic;
  /** The size of the write-ahead log above which it is truncated although it is live; default 64 MiB. */
  readonly walCapBytes?: number;
}

const walCapBytesDefault = 64 * 1024 * 1024;

/** Opens the ledger file at a path, or makes it. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const location = parseLocation(path);
  try {
    const kind = (options.filesystemKind ?? filesystemKind)(location);
    if (options.allowNetworkFilesystem !== true) refuseNetwork(location, kind);
    return options.readOnly === true
      ? await openForReading(location, kind, options)
      : await openForWriting(location, options);
  } catch (cause) {
    throw storeError(cause, location, "opening");
  }
}

async function openForReading(location: string, kind: string, options: SqliteStoreOptions): Promise<Store> {
  const busyTimeoutMs = options.busyTimeoutMs ?? busyTimeoutMsDefault;
  const mustCopy = isNetwork(kind);
  const readable = await openLedgerFile(location, mustCopy, busyTimeoutMs);
  if (readable.empty) {
    readable.close();
    throw nothingThere(location);
  }
  if (readable.copied) options.onDiagnostic?.({ type: "copied", location });
  const check = (): void => {
    if (readable.current()) return;
    throw new LedgerError("STORE_UNAVAILABLE", `${location} can no longer be read in place: its files changed`, {
      details: { path: location },
      hint: "open it again",
    });
  };
  const pool = new SnapshotPool(readable.path, busyTimeoutMs, check);
  return new SqliteStore({ location, pool, writer: null, checkpoints: null, readable, mustCopy });
}

async function openForWriting(location: string, options: SqliteStoreOptions): Promise<Store> {
  const busyTimeoutMs = options.busyTimeoutMs ?? busyTimeoutMsDefault;
  const { isNew, main } = await findOrCreate(location, options, busyTimeoutMs);
  const guard = new FileGuard(location, main);
  const checkpoints = new Checkpoints(
    location,
    options.walCapBytes ?? walCapBytesDefault,
    options.faults,
    options.onDiagnostic ?? (() => {}),
  );
  const writer = new Writer({ path: location, busyTimeoutMs, faults: options.faults, guard, checkpoints });
  await writer.connect(isNew);
  const pool = new SnapshotPool(location, busyTimeoutMs, () => guard.checkAll());
  return new SqliteStore({ location, pool, writer, checkpoints, readable: null, mustCopy: false });
}

interface StoreParts {
  readonly location: string;
  readonly pool: SnapshotPool;
  readonly writer: Writer | null;
  readonly checkpoints: Checkpoints | null;
  readonly readable: Readable | null;
  /** The raw rows must not be read in place. */
  readonly mustCopy: boolean;
}

class SqliteStore implements Store {
  readonly kind = "sqlite";
  readonly clock = null;
  readonly remote = false;
  readonly location: string;
  readonly readOnly: boolean;
  private readonly parts: StoreParts;
  private closing: Promise<void> | null = null;

  constructor(parts: StoreParts) {
    this.location = parts.location;
    this.readOnly = parts.writer === null;
    this.parts = parts;
  }

  async begin(): Promise<StoreTransaction> {
    this.check();
    if (this.parts.writer === null)
      throw new LedgerError("READ_ONLY", `${this.location} was opened for reading only`, {
        details: { path: this.location },
      });
    return this.parts.writer.begin();
  }

  async snapshot(waitMs?: number): Promise<StoreSnapshot> {
    this.check();
    return this.parts.pool.take(waitMs);
  }

  async reset(): Promise<void> {
    this.check();
    this.parts.pool.reset();
    await this.parts.writer?.reset();
  }

  listen(): () => void {
    return () => {};
  }

  async maintain(): Promise<void> {
    if (this.closing === null) await this.parts.writer?.maintain();
  }

  async scrub(): Promise<boolean> {
    return this.closing === null && ((await this.parts.writer?.scrub()) ?? false);
  }

  async health(): Promise<StoreHealth> {
    this.check();
    const { pool, writer, checkpoints, readable } = this.parts;
    const scrubOwed = writer?.scrubOwed ?? (await pool.ask((reads) => scrubMark(reads) !== null));
    const copied = readable?.copied ?? false;
    return { kind: this.kind, durability: "power loss", copied, scrubOwed, wal: checkpoints?.health() ?? null };
  }

  async raw(): Promise<RawReader> {
    this.check();
    return openRawReader(this.location, this.parts.mustCopy);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    this.parts.pool.close();
    await this.parts.writer?.close();
    this.parts.readable?.close();
  }

  private check(): void {
    if (this.closing !== null) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}
