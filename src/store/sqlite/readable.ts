/** Opening a ledger file for reading, whoever is alive.
 *  Invariants: nothing beside the file is created, changed or removed; when the file cannot be read where it is without
 *  doing so, a private copy is read, and said to be one. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../kernel/errors.js";
import type { EvidenceFile } from "../../journal/raw-reader.js";
import { whenFree } from "./busy.js";
import { connect, pragma } from "./connection.js";
import { sqliteCode } from "./errors.js";
import { headerBytes, nothingThere, parseHeader, requireHeader } from "./header.js";
import type { Header } from "./header.js";
import { consume, HeldFile, sidecarChunks } from "./held-file.js";
import { inspectTarget, sameFile } from "./location.js";
import type { FoundFile, Target } from "./location.js";
import { makePrivateDirectory } from "./private-directory.js";

/** A ledger file that can be connected to for reading. */
export interface Readable {
  /** What to connect to: the file itself, or its private copy. */
  readonly path: string;
  readonly copied: boolean;
  readonly header: Header;
  /** True when nothing is left after an unfinished creation was rolled back (in the copy). */
  readonly empty: boolean;
  /** The original files with their hashes; taken when first asked for, or when they were copied. */
  evidence(): Promise<readonly EvidenceFile[]>;
  /** Are the original files still those that were found, of the same size and last changed at the same time? */
  unchanged(): boolean;
  /** Does the file still have to be read in the way that was chosen? False when it must be opened again. */
  current(): boolean;
  /** Lets go of the file; removes the copy. */
  close(): void;
}

const attemptsMax = 5;
/** Times of change are kept in ticks of a few ms: a file that changed just now may change again in the same tick. */
const settledMs = 50;

/** Opens the file at an absolute path. `mustCopy`: it must not be read in place, as on a network file system. */
export async function openReadable(path: string, mustCopy: boolean, busyTimeoutMs: number): Promise<Readable> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    // A file that changed while it was copied is looked at again: by now it may be read where it is.
    const readable = await tryToOpen(path, mustCopy, busyTimeoutMs, attempt === attemptsMax);
    if (readable !== null) return readable;
  }
  throw new LedgerError("STORE_BUSY", `${path} changed during each of ${attemptsMax} attempts to copy it`, {
    details: { path },
    hint: "try again when its writer is idle",
  });
}

async function tryToOpen(
  path: string,
  mustCopy: boolean,
  busyTimeoutMs: number,
  isLast: boolean,
): Promise<Readable | null> {
  const target = inspectTarget(path);
  if (target.main === null) throw nothingThere(path);
  if (target.main.bytes === 0) throw nothingThere(path, "an empty file");
  const file = new HeldFile(path, target.main);
  try {
    const header = requireHeader(file.read(0, headerBytes), path);
    if (mustCopy || needsCopy(target, header) || !(await readsInPlace(path, busyTimeoutMs))) {
      const copy = await privateCopy(file, header, target);
      if (copy === null) file.close();
      else if (!mustCopy && !isLast && (await isReadableNow(file, busyTimeoutMs))) {
        // A writer came or went in that moment. Nothing ever comes to a copy, and whoever follows it would wait for good.
        copy.close();
        return null;
      }
      return copy;
    }
    return inPlace(file, target, header);
  } catch (cause) {
    file.close();
    throw cause;
  }
}

/** Never throws: what is wrong with the file now is no reason to leave a copy behind. */
async function isReadableNow(file: HeldFile, busyTimeoutMs: number): Promise<boolean> {
  try {
    const target = inspectTarget(file.path);
    const header = parseHeader(file.read(0, headerBytes));
    if (target.main === null || header === null || needsCopy(target, header)) return false;
    return await readsInPlace(file.path, busyTimeoutMs);
  } catch {
    return false;
  }
}

/** Would reading it in place make or change a sidecar? SQLite makes them for a file in WAL mode. A journal it only rolls
 *  back when it may write, and says so otherwise. */
function needsCopy({ sidecars }: Target, header: Header): boolean {
  return sidecars["-wal"] === null ? header.wal : sidecars["-shm"] === null;
}

/** Tries to read it where it is; false when SQLite says that it would have to write, or may not open a sidecar. */
async function readsInPlace(path: string, busyTimeoutMs: number): Promise<boolean> {
  try {
    await whenFree(path, "reading", busyTimeoutMs, () => {
      const connection = connect(path, "read");
      try {
        connection.prepare("SELECT count(*) FROM sqlite_schema").get();
      } finally {
        connection.close();
      }
    });
    return true;
  } catch (cause) {
    const code = sqliteCode(cause) ?? "";
    // Damaged pages are the same in a copy; whoever reads them reports them.
    if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return true;
    if (code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_CANTOPEN")) return false;
    throw cause;
  }
}

function inPlace(file: HeldFile, found: Target, header: Header): Readable {
  let evidence: Promise<readonly EvidenceFile[]> | undefined;
  return {
    path: file.path,
    copied: false,
    header,
    empty: false,
    evidence: () => (evidence ??= hashInPlace(file)),
    unchanged: () => isAs(found),
    current: () => {
      const target = inspectTarget(file.path);
      const now = parseHeader(file.read(0, headerBytes));
      return sameFile(target.main, found.main) && now !== null && !needsCopy(target, now);
    },
    close: () => file.close(),
  };
}

async function hashInPlace(file: HeldFile): Promise<readonly EvidenceFile[]> {
  const files = [{ name: file.path, ...(await consume(file.chunks())) }];
  const wal = inspectTarget(file.path).sidecars["-wal"];
  if (wal !== null)
    files.push({ name: `${file.path}-wal`, ...(await consume(sidecarChunks(`${file.path}-wal`, wal))) });
  return files;
}

/** Null when the file changed meanwhile. */
async function privateCopy(file: HeldFile, header: Header, found: Target): Promise<Readable | null> {
  const directory = makePrivateDirectory();
  try {
    const path = join(directory.path, "ledger");
    const files = await copyStill(file, path);
    if (files === null) {
      directory.remove();
      return null;
    }
    fold(path);
    const close = (): void => {
      directory.remove();
      file.close();
    };
    const empty = statSync(path).size === 0;
    const unchanged = (): boolean => isAs(found);
    return { path, copied: true, header, empty, evidence: async () => files, unchanged, current: () => true, close };
  } catch (cause) {
    directory.remove();
    throw cause;
  }
}

/** Copies the file and its logs at a moment when none of them changes; null when one did. */
async function copyStill(file: HeldFile, to: string): Promise<readonly EvidenceFile[] | null> {
  const before = inspectTarget(file.path);
  await sleep(Math.min(unsettledMs(before), settledMs));
  try {
    const files: EvidenceFile[] = [{ name: file.path, ...(await consume(file.chunks(), to)) }];
    for (const suffix of ["-wal", "-journal"] as const) {
      const sidecar = before.sidecars[suffix];
      if (sidecar === null) continue;
      const copied = await consume(sidecarChunks(file.path + suffix, sidecar), to + suffix);
      files.push({ name: file.path + suffix, ...copied });
    }
    return sameState(before, inspectTarget(file.path)) ? files : null;
  } catch (cause) {
    // A log that its writer took away in the middle of it is a change like any other.
    if (sameState(before, inspectTarget(file.path))) throw cause;
    return null;
  }
}

function unsettledMs(target: Target): number {
  const newest = Math.max(
    ...watched(target).map((found) => (found === null ? 0 : Number(found.modifiedNs / 1_000_000n))),
  );
  return Math.max(newest + settledMs - Date.now(), 0);
}

function isAs(found: Target): boolean {
  try {
    return sameState(found, inspectTarget(found.path));
  } catch (cause) {
    if (cause instanceof LedgerError) return false; // something else stands there now
    throw cause;
  }
}

function sameState(one: Target, other: Target): boolean {
  const others = watched(other);
  return watched(one).every((found, index) => {
    const now = others[index]!;
    if (found === null || now === null) return found === now;
    return sameFile(found, now) && found.bytes === now.bytes && found.modifiedNs === now.modifiedNs;
  });
}

function watched({ main, sidecars }: Target): readonly (FoundFile | null)[] {
  return [main, sidecars["-wal"], sidecars["-journal"]];
}

/** Brings a private copy into one file: rolls its journal back, or takes its log in. */
function fold(path: string): void {
  const connection = connect(path, "write");
  try {
    pragma(connection, "journal_mode = DELETE");
  } catch (cause) {
    const code = sqliteCode(cause) ?? "";
    if (!code.startsWith("SQLITE_CORRUPT") && code !== "SQLITE_NOTADB") throw cause;
  } finally {
    connection.close();
  }
}
