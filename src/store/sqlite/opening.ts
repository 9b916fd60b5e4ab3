/** What stands at a path, looked at before anything is changed there.
 *  Invariant: a file that is not a ledger of this version is refused with its bytes, and what stands beside it, as they were. */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { LedgerError } from "../../kernel/errors.js";
import type { FaultSeam } from "../../journal/store.js";
import { whenFree } from "./busy.js";
import { connect } from "./connection.js";
import { createFile } from "./create.js";
import { systemCode } from "./errors.js";
import { checkHeader, nothingThere } from "./header.js";
import { identify, inspectTarget, sameFile, sidecarSuffixes } from "./location.js";
import type { Identity, Target } from "./location.js";
import { openReadable } from "./readable.js";
import type { Readable } from "./readable.js";
import { checkShape } from "./shape.js";

/** A file to write to. */
export interface FoundLedger {
  /** Which file was looked at; no other may be opened in its place. */
  readonly main: Identity;
  /** The schema is still to be made. */
  readonly isNew: boolean;
}

/** Looks at the ledger at a path; makes an empty file when nothing stands there, if allowed. */
export async function findOrCreate(
  location: string,
  options: { readonly create?: boolean; readonly faults?: FaultSeam },
  busyTimeoutMs: number,
): Promise<FoundLedger> {
  const { main } = inspectForCreation(location);
  if (main !== null && main.bytes > 0) {
    const readable = await openLedgerFile(location, false, busyTimeoutMs);
    readable.close();
    if (!sameFile(main, identify(location))) throw swapped(location);
    requireWritable(location);
    if (!readable.empty) return { main, isNew: false };
  }
  if (options.create === false) throw nothingThere(location);
  if (main !== null) return { main, isNew: true };
  createFile(location, options.faults);
  const made = inspectTarget(location).main;
  if (made === null) throw swapped(location);
  return { main: made, isNew: true };
}

/** SQLite opens what it may not write for reading, and says so at the first append; a host is to know at once. */
function requireWritable(location: string): void {
  const { sidecars } = inspectTarget(location);
  const beside = sidecarSuffixes.filter((suffix) => sidecars[suffix] !== null).map((suffix) => location + suffix);
  for (const path of [dirname(location), location, ...beside]) {
    try {
      accessSync(path, constants.W_OK);
    } catch (cause) {
      const found = systemCode(cause);
      if (found === "ENOENT") continue; // its owner has just closed the ledger
      if (found !== "EACCES" && found !== "EROFS" && found !== "EPERM") throw cause;
      throw new LedgerError("READ_ONLY", `${path} must be writable to open ${location} for writing (${found})`, {
        details: { path, found },
        hint: "check the permissions, or open it with readOnly",
        cause,
      });
    }
  }
}

function swapped(location: string): LedgerError {
  return new LedgerError("STORE_UNSAFE_PATH", `${location} was replaced while it was being opened`, {
    details: { path: location },
  });
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
export async function openLedgerFile(location: string, mustCopy: boolean, busyTimeoutMs: number): Promise<Readable> {
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
