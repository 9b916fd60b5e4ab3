/** What PostgreSQL, `pg` and the operating system say, in the codes of the ledger. Errors are told apart by code, never by text.
 *  Invariant: no error that leaves here carries a value of a row or of a parameter, or a password: PostgreSQL's own errors
 *  do, in `detail`, `where` and some messages, so its errors are never handed on, only what is known to be harmless. */
import { DatabaseError } from "pg";
import { InvariantError, LedgerError } from "../../kernel/errors.js";
import type { LedgerErrorCode } from "../../kernel/errors.js";

/** The SQLSTATE of an error that the server sent; null when it is none. */
export function sqlState(cause: unknown): string | null {
  return cause instanceof DatabaseError ? (cause.code ?? null) : null;
}

/** The error to throw for what `pg` threw while `doing` something with the journal at `shown`. */
export function storeError(cause: unknown, shown: string, doing: string): unknown {
  if (cause instanceof LedgerError || cause instanceof InvariantError) return cause;
  const state = sqlState(cause);
  const found = state ?? driverCode(cause);
  if (found === null) return cause;
  const { code, says, hint } = state === null ? classifyDriver(cause, found) : classify(state);
  const named = found === withoutCode ? (cause as Error).message : found;
  return new LedgerError(code, `${doing} ${shown} failed: ${says} (${named})`, {
    details: { location: shown, found: named },
    cause: harmless(cause),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Of errors that have none; what they say stands in for it. */
const withoutCode = "no code";

/** The code of an error of the socket, of TLS or of files. `pg` gives its own errors no code and no class: they are plain, and
 *  all of them say that a connection was not made, was lost or is given up. Whatever else throws here is a bug of ours, and
 *  has another class. */
function driverCode(cause: unknown): string | null {
  if (!(cause instanceof Error)) return null;
  if ("code" in cause && typeof cause.code === "string")
    return cause.code.startsWith("ERR_INVALID") ? null : cause.code;
  return Object.getPrototypeOf(cause) === Error.prototype ? withoutCode : null;
}

interface Verdict {
  readonly code: LedgerErrorCode;
  readonly says: string;
  readonly hint?: string;
}

const unavailable = (says: string): Verdict => ({
  code: "STORE_UNAVAILABLE",
  says,
  hint: "see whether the server runs and takes connections at that address; nothing half-written is left behind",
});
const exhausted = (says: string): Verdict => ({ code: "RESOURCES_EXHAUSTED", says });
const damaged = (says: string): Verdict => ({ code: "STORE_DAMAGED", says, hint: "run verify" });

/** By SQLSTATE, or its class: https://www.postgresql.org/docs/current/errcodes-appendix.html */
function classify(state: string): Verdict {
  switch (state) {
    case "40001":
    case "40P01":
      return { code: "STORE_BUSY", says: "the transaction got in the way of another one", hint: "try again" };
    case "55P03":
      return {
        code: "STORE_BUSY",
        says: "another writer holds the lock",
        hint: "try again, or raise busyTimeoutMs",
      };
    case "57014":
      return unavailable("the statement was cancelled, by a timeout or by an operator");
    case "25P03":
    case "25P04":
      return unavailable("the transaction was open for too long, and the server ended it");
    case "53300":
      return unavailable("the server takes no more connections");
    case "53100":
      return {
        code: "STORE_FULL",
        says: "there is no room left",
        hint: "make room; the ledger goes on where it stood",
      };
    case "25006":
      return {
        code: "READ_ONLY",
        says: "the server takes no writes here: it is a standby, or set to read only",
        hint: "name the primary server, or open it with readOnly",
      };
    case "42501":
      return {
        code: "ACCESS_DENIED",
        says: "the role lacks a right",
        hint: "grant it what src/GUIDE.md lists for a writing or a reading role",
      };
    case "3D000":
      return { code: "NOT_FOUND", says: "there is no such database", hint: "make it (createdb), or look at the name" };
    case "3F000":
    case "42P01":
    case "42P07":
    case "42703":
    case "58P01":
    case "P0001":
      return damaged("what the journal is made of is not as it must be, or a guard refused the change");
    case "XX001":
    case "XX002":
      return {
        code: "STORE_DAMAGED",
        says: "the server's pages do not hold together",
        hint: "keep the server's files as they are; run verify",
      };
  }
  switch (state.slice(0, 2)) {
    case "08":
    case "57":
      return unavailable("the server ended the connection, or starts or stops");
    case "23":
      return damaged("a row that cannot be there is there");
    case "28":
      return {
        code: "ACCESS_DENIED",
        says: "the server does not let this user in",
        hint: "look at user and password (of the address, PGUSER and PGPASSWORD, ~/.pgpass), and at what pg_hba.conf allows",
      };
    case "53":
      return exhausted("the server has no memory left, or has reached another limit");
    case "0A":
    case "22":
    case "42":
    case "54":
      return {
        code: "STORE_UNSUPPORTED",
        says: "the server does not take the statement",
        hint: "a journal needs PostgreSQL 14 or newer, or what speaks exactly as it does",
      };
    default:
      return unavailable("the server could not do it");
  }
}

function classifyDriver(cause: unknown, found: string): Verdict {
  // The certificates that an address names are read by `pg`; its sockets fail in `connect`.
  if (
    cause instanceof Error &&
    "syscall" in cause &&
    (cause.syscall === "open" || cause.syscall === "read") &&
    "path" in cause
  )
    return {
      code: "INVALID_ARGUMENT",
      says: "a file that the address names cannot be read",
      hint: "look at sslrootcert, sslcert and sslkey",
    };
  switch (found) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return unavailable("there is no such host, or its name cannot be looked up now");
    case "ECONNREFUSED":
    case "ENOENT":
      return unavailable("nobody listens there");
    case "EMFILE":
    case "ENFILE":
      return exhausted("this process has reached its limit of open files");
    case "ENOMEM":
    case "ENOBUFS":
      return exhausted("there is no memory left");
  }
  if (/CERT|^ERR_(SSL|TLS)|SIGNATURE|ISSUER|^CRL_/.test(found))
    return {
      code: "STORE_UNAVAILABLE",
      says: "the server's certificate or its TLS is not accepted",
      hint: "give the authority that signed it as sslrootcert; sslmode says what is checked",
    };
  return unavailable("the connection could not be made, or was lost");
}

/** A copy that keeps what cannot hold a row's or a parameter's value. */
function harmless(cause: unknown): unknown {
  if (!(cause instanceof DatabaseError)) return cause;
  const { code, severity, schema, table, column, constraint, routine } = cause;
  // Class 22 shows the value that it refuses.
  const message = code?.startsWith("22") === true ? "a value was refused" : cause.message;
  return Object.assign(new Error(message), { code, severity, schema, table, column, constraint, routine });
}

/** What a transaction was begun on without waiting for the lock is not so any more. */
export function movedError(shown: string): LedgerError {
  return new LedgerError(
    "STORE_BUSY",
    `writing to ${shown} must follow what was known of it, found others in between`,
    {
      details: { location: shown },
      hint: "try again",
    },
  );
}
