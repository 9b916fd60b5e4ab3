/** The first 100 bytes of an SQLite file, read before SQLite touches it. */
import { LedgerError } from "../../kernel/errors.js";
import { applicationId, layoutVersion } from "./schema.js";

export const headerBytes = 100;
const magic = "SQLite format 3\0";

/** What a header says; null when these are not the first bytes of an SQLite file. */
export interface Header {
  readonly applicationId: number;
  readonly userVersion: number;
  /** 1 is UTF-8. */
  readonly encoding: number;
  /** The file is read and written through a write-ahead log. */
  readonly wal: boolean;
}

export function parseHeader(bytes: Buffer): Header | null {
  if (bytes.length < headerBytes || bytes.toString("latin1", 0, magic.length) !== magic) return null;
  return {
    applicationId: bytes.readUInt32BE(68),
    userVersion: bytes.readUInt32BE(60),
    encoding: bytes.readUInt32BE(56),
    wal: bytes[18] === 2 || bytes[19] === 2,
  };
}

/** The header of a file, which must be an SQLite file. */
export function requireHeader(bytes: Buffer, path: string): Header {
  const header = parseHeader(bytes);
  if (header !== null) return header;
  const zeroed = bytes.every((byte) => byte === 0);
  if (zeroed || bytes.toString("latin1").startsWith(magic.slice(0, bytes.length))) {
    const found = zeroed ? `${bytes.length} bytes of zeros` : `${bytes.length} bytes`;
    throw new LedgerError(
      "STORE_DAMAGED",
      `${path} must begin with the ${headerBytes} bytes of a header, found ${found}`,
      {
        details: { path, found },
        hint: "keep the file as it is and restore a backup",
      },
    );
  }
  throw foreign(path, "the header of an SQLite file", "other bytes");
}

/** Refuses a file that is not a ledger of this version. */
export function checkHeader(header: Header, path: string): void {
  if (header.applicationId !== applicationId)
    throw foreign(path, `application id ${applicationId}`, String(header.applicationId));
  if (header.encoding !== 1) throw foreign(path, "text encoding 1 (UTF-8)", String(header.encoding));
  if (header.userVersion !== layoutVersion)
    throw unknownSchema(path, `layout version ${layoutVersion}`, String(header.userVersion));
}

export function foreign(path: string, expected: string, found: string): LedgerError {
  return new LedgerError("STORE_FOREIGN", `${path} must be a ledger with ${expected}, found ${found}`, {
    details: { path, expected, found },
    hint: "name another file; this one was not changed",
  });
}

export function unknownSchema(path: string, expected: string, found: string): LedgerError {
  return new LedgerError("SCHEMA_UNKNOWN", `${path} must have ${expected}, found ${found}`, {
    details: { path, expected, found },
    hint: "open it with the version of this program that wrote it; the file was not changed",
  });
}

export function nothingThere(path: string, found = "nothing"): LedgerError {
  return new LedgerError("NOT_FOUND", `there must be a ledger at ${path}, found ${found}`, {
    details: { path, found },
  });
}
