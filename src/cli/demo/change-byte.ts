/** Changes one byte of an event in a file that is a copy of a ledger, as somebody would who has a hex editor. */
import { readFileSync, writeFileSync } from "node:fs";
import { LedgerError, openRawReader } from "../../index.js";

/** What was changed. */
export interface Change {
  readonly position: number;
  readonly was: string;
  readonly is: string;
}

/** Changes the last digit of the process that the event at a position tells of. */
export async function changeByte(copy: string, position: number): Promise<Change> {
  const entry = await entryAt(copy, position);
  const [, was] = /"pid":(\d+)/.exec(entry.toString("utf8")) ?? [];
  const file = readFileSync(copy);
  const at = file.indexOf(entry);
  if (was === undefined || at < 0)
    throw new LedgerError("NOT_FOUND", `event #${position} must stand in ${copy} with a process, found none`, {
      details: { position },
    });
  const is = was.slice(0, -1) + (was.endsWith("9") ? "8" : String(Number(was.at(-1)) + 1));
  file.write(is.slice(-1), at + entry.indexOf(`"pid":${was}`) + `"pid":${was}`.length - 1, "latin1");
  writeFileSync(copy, file);
  return { position, was, is };
}

async function entryAt(file: string, position: number): Promise<Buffer> {
  const reader = await openRawReader(file);
  try {
    const [row] = await reader.entries(position - 1, 1, true);
    if (row?.seq === position && row.entry instanceof Uint8Array) return Buffer.from(row.entry);
  } finally {
    await reader.close();
  }
  throw new LedgerError("NOT_FOUND", `${file} must have an event #${position}, found none`, { details: { position } });
}
