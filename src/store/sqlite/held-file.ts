/** Reading a ledger file's own bytes.
 *  Invariant: no descriptor of the main file is closed but by SQLite. A process that closes any descriptor of a file loses
 *  all its locks on it (POSIX), those of its other connections included; SQLite knows that and waits. So a connection that
 *  reads nothing holds the file, and its descriptor is borrowed. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, writeFileSync } from "node:fs";
import { LedgerError } from "../../kernel/errors.js";
import { hold } from "./connection.js";
import type { Connection } from "./connection.js";
import { systemCode } from "./errors.js";
import { sameFile } from "./location.js";
import type { Identity } from "./location.js";

const chunkBytes = 2 * 1024 * 1024;

/** A ledger file held open for reading its bytes. */
export class HeldFile {
  readonly path: string;
  private readonly identity: Identity;
  private readonly connection: Connection;
  private descriptor: number;
  /** The descriptor is ours to close, not borrowed. */
  private readonly owned: boolean;

  /** Opens the file that was found at the path; refuses when another stands there by now. */
  constructor(path: string, identity: Identity) {
    this.path = path;
    this.identity = identity;
    const before = new Set(openDescriptors());
    const connection = hold(path);
    try {
      const opened = descriptorsOf(identity);
      // The new one first: an older one belongs to a connection that may be closed before us. There is none when SQLite gave
      // this connection the descriptor of one that was closed.
      const found = opened.find((descriptor) => !before.has(descriptor)) ?? opened[0];
      if (found === undefined && before.size > 0) throw replaced(path);
      // Without a list of descriptors it is not a POSIX system, and closing one costs no locks.
      this.owned = found === undefined;
      this.descriptor = found ?? openSync(path, constants.O_RDONLY);
      if (!isFile(this.descriptor, identity)) throw replaced(path);
      this.connection = connection;
    } catch (cause) {
      connection.close();
      throw cause;
    }
  }

  /** Up to `length` bytes from an offset. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, this.fill(bytes, offset));
  }

  /** All bytes in chunks, with a pause for others after each. A chunk is good until the next one is asked for. */
  async *chunks(): AsyncGenerator<Buffer> {
    const bytes = Buffer.allocUnsafe(chunkBytes);
    for (let offset = 0; ;) {
      const count = this.fill(bytes, offset);
      if (count === 0) return;
      yield bytes.subarray(0, count);
      offset += count;
      await new Promise(setImmediate);
    }
  }

  /** Reads what stands at an offset. A borrowed descriptor may be closed by its owner, and even be another file's by now; then
   *  it borrows one that is open: there is that of its own connection. */
  private fill(bytes: Buffer, offset: number): number {
    for (;;) {
      const count = readWhereOpen(this.descriptor, bytes, offset);
      if (count !== null && isFile(this.descriptor, this.identity)) return count;
      const [other] = this.owned ? [] : descriptorsOf(this.identity);
      if (other === undefined) throw replaced(this.path);
      this.descriptor = other;
    }
  }

  close(): void {
    if (this.owned) closeSync(this.descriptor);
    this.connection.close();
  }
}

/** A sidecar that takes no locks (`-wal`, `-journal`), in chunks. */
export async function* sidecarChunks(path: string, identity: Identity): AsyncGenerator<Buffer> {
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    if (!isFile(descriptor, identity)) throw replaced(path);
    for (;;) {
      const bytes = Buffer.alloc(chunkBytes);
      const count = readSync(descriptor, bytes, 0, chunkBytes, null);
      if (count === 0) return;
      yield bytes.subarray(0, count);
      await new Promise(setImmediate);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Reads chunks to the end: their SHA-256 and how many bytes there were; written to `copyTo` on the way, if given. */
export async function consume(
  chunks: AsyncIterable<Buffer>,
  copyTo?: string,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const digest = createHash("sha256");
  let bytes = 0;
  const copy = copyTo === undefined ? null : openSync(copyTo, "wx", 0o600);
  try {
    for await (const chunk of chunks) {
      digest.update(chunk);
      bytes += chunk.length;
      if (copy !== null) writeFileSync(copy, chunk);
    }
  } finally {
    if (copy !== null) closeSync(copy);
  }
  return { sha256: digest.digest("hex"), bytes };
}

function openDescriptors(): number[] {
  const directory = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  try {
    return readdirSync(directory).map(Number);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return [];
    throw cause;
  }
}

/** Those of this process that read the file. */
function descriptorsOf(identity: Identity): number[] {
  return openDescriptors().filter((each) => isFile(each, identity) && readWhereOpen(each, Buffer.alloc(1), 0) !== null);
}

function isFile(descriptor: number, identity: Identity): boolean {
  try {
    return sameFile(fstatSync(descriptor, { bigint: true }), identity);
  } catch {
    return false; // closed meanwhile
  }
}

/** How many bytes were read; null when the descriptor is closed, or only holds the file's name. */
function readWhereOpen(descriptor: number, bytes: Buffer, offset: number): number | null {
  try {
    return readSync(descriptor, bytes, 0, bytes.length, offset);
  } catch (cause) {
    if (systemCode(cause) === "EBADF") return null;
    throw cause;
  }
}

function replaced(path: string): LedgerError {
  return new LedgerError("STORE_UNSAFE_PATH", `${path} was replaced by another file while it was being opened`, {
    details: { path },
  });
}
