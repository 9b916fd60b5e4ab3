/** Where a ledger lives, and whether the file there may be touched.
 *  Invariants: nothing is created or opened here; what is not a plain file of its own (a symbolic link, a second hard link,
 *  a directory, a device) is refused, sidecars included; a file is the same one only while device and inode are. */
import { lstatSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { resolve } from "node:path";
import { invalid, LedgerError } from "../../kernel/errors.js";
import { systemCode } from "./errors.js";

/** What SQLite keeps beside the main file. */
export const sidecarSuffixes = ["-wal", "-shm", "-journal"] as const;
export type SidecarSuffix = (typeof sidecarSuffixes)[number];

/** Which file it is, whatever its name. */
export interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** A file as it was found. */
export interface FoundFile extends Identity {
  readonly bytes: number;
  readonly modifiedNs: bigint;
}

/** The main file and its sidecars as they were found; null where there is none. */
export interface Target {
  readonly path: string;
  readonly main: FoundFile | null;
  readonly sidecars: Readonly<Record<SidecarSuffix, FoundFile | null>>;
}

/** An absolute path that SQLite takes as it is. */
export function parseLocation(value: unknown): string {
  if (typeof value !== "string" || value === "" || value === ":memory:")
    throw invalid("location", "the path of a file", value);
  if (value.includes("\0") || !value.isWellFormed())
    throw invalid("location", "a path without NUL and lone surrogates", value);
  const path = resolve(value);
  // The driver trims names, so another file would be opened.
  if (path.trim() !== path) throw invalid("location", "a path that does not end in white space", value);
  return path;
}

/** Looks at the file and its sidecars without opening them, and refuses what must not be touched. */
export function inspectTarget(path: string): Target {
  const main = inspect(path);
  const sidecars = {
    "-wal": inspect(`${path}-wal`),
    "-shm": inspect(`${path}-shm`),
    "-journal": inspect(`${path}-journal`),
  };
  return { path, main, sidecars };
}

/** Which file stands at the path now; null when there is none. One system call: it is asked at every commit. */
export function identify(path: string): Identity | null {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}

export function sameFile(one: Identity | null, other: Identity | null): boolean {
  return one !== null && other !== null && one.dev === other.dev && one.ino === other.ino;
}

function inspect(path: string): FoundFile | null {
  const stats = lookAt(path);
  if (stats === undefined) return null;
  const problem = unsafe(stats);
  if (problem !== null) {
    throw new LedgerError("STORE_UNSAFE_PATH", `${path} must be a plain file with one name, found ${problem}`, {
      details: { path, found: problem },
      hint: "name the file itself, and give a copy its own bytes",
    });
  }
  return { dev: stats.dev, ino: stats.ino, bytes: Number(stats.size), modifiedNs: stats.mtimeNs };
}

function lookAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (cause) {
    // A file stands where a directory should be: there is nothing at the path, and there cannot be.
    if (systemCode(cause) === "ENOTDIR")
      throw new LedgerError("NOT_FOUND", `${path} runs through a file that is not a directory`, {
        details: { path },
        cause,
      });
    throw cause;
  }
}

function unsafe(stats: BigIntStats): string | null {
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isDirectory()) return "a directory";
  if (!stats.isFile()) return "something that is not a regular file";
  return stats.nlink > 1n ? `a file with ${stats.nlink} names` : null;
}
