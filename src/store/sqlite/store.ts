/** The SQLite store: one journal in one file.
 *  Invariants: a file is looked at, and found to be ours, before a byte of it or beside it changes; a commit that was
 *  acknowledged survives power loss; a store that was closed by its last user is one file. */
import { LedgerError } from "../../kernel/errors.js";
import { busyTimeoutMsDefault } from "../../kernel/limits.js";
import type { RawReader } from "../../journal/raw-reader.js";
import type { FaultSeam, Store, StoreHealth, StoreSnapshot, StoreTransaction } from "../../journal/store.js";
import { whenFree } from "./busy.js";
import { Checkpoints } from "./checkpoints.js";
import { connect } from "./connection.js";
import { createFile } from "./create.js";
import type { OnDiagnostic } from "./diagnostic.js";
import { storeError } from "./errors.js";
import { FileGuard } from "./file-guard.js";
import { filesystemKind, isNetwork, refuseNetwork } from "./filesystem.js";
import { checkHeader, nothingThere } from "./header.js";
import { identify, inspectTarget, parseLocation } from "./location.js";
import type { Target } from "./location.js";
import { openRawReader } from "./raw-reader.js";
import { openReadable } from "./readable.js";
import type { Readable } from "./readable.js";
import { checkShape } from "./shape.js";
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
  const isNew = await prepareFile(location, options, busyTimeoutMs);
  const main = identify(location);
  if (main === null)
    throw new LedgerError("STORE_UNSAFE_PATH", `${location} was deleted while it was being opened`, {
      details: { path: location },
    });
  inspectTarget(location);
  const guard = new FileGuard(location, main);
  const checkpoints = new Checkpoints(
    location,
    options.walCapBytes ?? walCapBytesDefault,
    options.faults,
    options.onDiagnostic ?? (() => {}),
  );
  const writer = new Writer({ path: location, busyTimeoutMs, faults: options.faults, guard, checkpoints });
  await writer.connect(isNew);
  const pool = new SnapshotPool(location, busyTimeoutMs, () => guard.check());
  return new SqliteStore({ location, pool, writer, checkpoints, readable: null, mustCopy: false });
}

/** Looks at what stands at the path; makes an empty file when nothing does. True when the schema is still to be made. */
async function prepareFile(location: string, options: SqliteStoreOptions, busyTimeoutMs: number): Promise<boolean> {
  const { main } = inspectForCreation(location);
  if (main !== null && main.bytes > 0) {
    const readable = await openLedgerFile(location, false, busyTimeoutMs);
    readable.close();
    if (!readable.empty) return false;
  }
  if (options.create === false) throw nothingThere(location);
  if (main === null) createFile(location, options.faults);
  return true;
}

/** A log beside a file that is not there belongs to another file, which someone may still need. Case A08. */
function inspectForCreation(location: string): Target {
  for (;;) {
    const target = inspectTarget(location);
    if (target.main !== null) return target;
    const left = (["-wal", "-journal"] as const).find((suffix) => (target.sidecars[suffix]?.bytes ?? 0) > 0);
    if (left === undefined) return target;
    if (identify(location) !== null) continue; // another process made it meanwhile
    throw new LedgerError(
      "STORE_UNSAFE_PATH",
      `${location} must not be made beside ${location}${left}, which belongs to a file that is gone`,
      {
        details: { path: location, found: `${location}${left}` },
        hint: "put that file back, or move what is left of it away",
      },
    );
  }
}

/** Opens for reading what must be a ledger of this version. */
async function openLedgerFile(location: string, mustCopy: boolean, busyTimeoutMs: number): Promise<Readable> {
  const readable = await openReadable(location, mustCopy, busyTimeoutMs);
  try {
    checkHeader(readable.header, location);
    if (readable.empty) return readable;
    await whenFree(location, "opening", busyTimeoutMs, () => {
      const connection = connect(readable.path, "read");
      try {
        checkShape(connection, location);
      } finally {
        connection.close();
      }
    });
    return readable;
  } catch (cause) {
    readable.close();
    throw cause;
  }
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

  async snapshot(): Promise<StoreSnapshot> {
    this.check();
    return this.parts.pool.take();
  }

  async reset(): Promise<void> {
    this.check();
    this.parts.pool.reset();
    await this.parts.writer?.reset();
  }

  async maintain(): Promise<void> {
    if (this.closing === null) await this.parts.writer?.maintain();
  }

  async health(): Promise<StoreHealth> {
    this.check();
    const copied = this.parts.readable?.copied ?? false;
    return { kind: this.kind, durability: "power loss", copied, wal: this.parts.checkpoints?.health() ?? null };
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
