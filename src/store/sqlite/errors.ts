/** What SQLite and the operating system say, in the codes of the ledger. Errors are told apart by code, never by text. */
import { closeSync, openSync, statfsSync } from "node:fs";
import { devNull } from "node:os";
import { dirname } from "node:path";
import { InvariantError, LedgerError } from "../../kernel/errors.js";
import type { LedgerErrorCode } from "../../kernel/errors.js";

/** The SQLite code of an error, such as `SQLITE_BUSY_SNAPSHOT`; null when it is none. */
export function sqliteCode(cause: unknown): string | null {
  const code = errorCode(cause);
  return code !== null && code.startsWith("SQLITE_") ? code : null;
}

/** The code of a system error, such as `ENOENT`; null when it is none. */
export function systemCode(cause: unknown): string | null {
  const code = errorCode(cause);
  return code !== null && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

export function isBusy(cause: unknown): boolean {
  const code = sqliteCode(cause);
  return code !== null && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"));
}

/** The error to throw for something that went wrong with the file at `path` while `doing` something. */
export function storeError(cause: unknown, path: string, doing: string): unknown {
  if (cause instanceof LedgerError || cause instanceof InvariantError) return cause;
  const found = sqliteCode(cause) ?? systemCode(cause);
  if (found === null) return cause;
  const { code, says, hint } = classify(found, path);
  return new LedgerError(code, `${doing} ${path} failed: ${says} (${found})`, {
    details: { path, found },
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

interface Verdict {
  readonly code: LedgerErrorCode;
  readonly says: string;
  readonly hint?: string;
}

const exhausted: Verdict = {
  code: "RESOURCES_EXHAUSTED",
  says: "this process has reached its limit of open files",
  hint: "raise the limit (ulimit -n) or close files; nothing was damaged, try again",
};
const full: Verdict = {
  code: "STORE_FULL",
  says: "there is no room left",
  hint: "make room; the ledger goes on where it stood",
};

function classify(found: string, path: string): Verdict {
  const [family] = /^SQLITE_[A-Z]+|^E[A-Z0-9]+/.exec(found)!;
  switch (family) {
    case "SQLITE_BUSY":
    case "SQLITE_LOCKED":
      return { code: "STORE_BUSY", says: "another connection holds the lock" };
    case "SQLITE_FULL":
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return full;
    case "SQLITE_CORRUPT":
    case "SQLITE_NOTADB":
      return {
        code: "STORE_DAMAGED",
        says: "the file's pages do not hold together",
        hint: "keep the file as it is and run verify on a copy",
      };
    case "SQLITE_CONSTRAINT":
      return {
        code: "STORE_DAMAGED",
        says: "a row that cannot be there is there, or a guard refused the change",
        hint: "run verify",
      };
    case "SQLITE_READONLY":
      if (found === "SQLITE_READONLY_DBMOVED")
        return { code: "STORE_DAMAGED", says: "the file was moved or deleted under a running ledger" };
      return {
        code: "READ_ONLY",
        says: "the file or its directory must not be written",
        hint: "check the permissions, or open it with readOnly",
      };
    case "SQLITE_NOMEM":
    case "ENOMEM":
      return { code: "RESOURCES_EXHAUSTED", says: "there is no memory left" };
    case "EMFILE":
    case "ENFILE":
      return exhausted;
    case "SQLITE_CANTOPEN":
    case "SQLITE_IOERR":
      if (found === "SQLITE_IOERR_NOMEM") return { code: "RESOURCES_EXHAUSTED", says: "there is no memory left" };
      if (descriptorsExhausted()) return exhausted;
      if (isFull(path)) return full;
      return {
        code: "STORE_UNAVAILABLE",
        says: "the file cannot be reached",
        hint: "check the disk, and the permissions of the file and its directory",
      };
    case "EACCES":
    case "EPERM":
      return {
        code: "STORE_UNAVAILABLE",
        says: "permission was denied",
        hint: "check the permissions of the file and its directory",
      };
    case "EROFS":
      return { code: "READ_ONLY", says: "the file system is read-only", hint: "open it with readOnly" };
    case "ENOENT":
      return { code: "NOT_FOUND", says: "there is no such file" };
    default:
      return { code: "STORE_UNAVAILABLE", says: "the file cannot be reached" };
  }
}

/** More than opening a ledger takes at once. */
const descriptorsNeeded = 16;

/** SQLite says "cannot open" for a process without descriptors too. What it had opened by then is closed again when we ask,
 *  so a process that cannot open a few more files at once counts as one that has reached its limit. */
function descriptorsExhausted(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsNeeded) opened.push(openSync(devNull, "r"));
    return false;
  } catch (cause) {
    const code = systemCode(cause);
    return code === "EMFILE" || code === "ENFILE";
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** SQLite reports a full disk as a plain I/O error when it strikes while a shared-memory file grows. */
function isFull(path: string): boolean {
  try {
    return statfsSync(dirname(path)).bavail === 0;
  } catch {
    return false;
  }
}

function errorCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}
