/** Directories for private copies. A process that is killed leaves its copy behind; the next one that needs a copy removes it.
 *  Invariant: a directory is removed only when a file in it, which its owner keeps locked for as long as it lives, can be
 *  locked. The kernel lets go of a lock with its process, whoever that was: a number that means another process by now, or one
 *  of another container, decides nothing. */
import { chmodSync, closeSync, lstatSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFile } from "./connection.js";
import type { Connection } from "./connection.js";
import { isBusy } from "./errors.js";

const prefix = "runledger-copy-";
const lockName = "in-use";

export interface PrivateDirectory {
  readonly path: string;
  /** Removes it with everything in it. */
  remove(): void;
}

/** Makes a directory that nobody else can read, and removes those of processes that are gone. */
export function makePrivateDirectory(): PrivateDirectory {
  removeAbandoned();
  for (;;) {
    const path = mkdtempSync(join(tmpdir(), prefix));
    const lock = claim(path);
    if (lock === null) continue;
    const remove = (): void => {
      lock.close();
      rmSync(path, { recursive: true, force: true });
    };
    return { path, remove };
  }
}

/** Null when somebody took it for abandoned, just before it was locked. */
function claim(path: string): Connection | null {
  try {
    chmodSync(path, 0o700);
    closeSync(openSync(join(path, lockName), "wx", 0o600));
    return lockFile(join(path, lockName));
  } catch (cause) {
    rmSync(path, { recursive: true, force: true });
    if (isBusy(cause)) return null;
    throw cause;
  }
}

function removeAbandoned(): void {
  for (const name of listed(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(prefix) || !isOurs(path)) continue;
    try {
      lockFile(join(path, lockName)).close();
      rmSync(path, { recursive: true, force: true });
    } catch {
      // In use, not one of these directories, or being removed by another process.
    }
  }
}

function listed(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // it may be written to, not read
  }
}

/** A directory of this user that nobody else can write to. */
function isOurs(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o077) === 0);
}
