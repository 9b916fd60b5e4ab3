/** Changes one byte of an event in a file that is a copy of a ledger, as somebody would who has a hex editor. */
import { readFileSync, writeFileSync } from "node:fs";
import { LedgerError } from "../../index.js";
import type { Ledger } from "../../index.js";

/** What was changed. */
export interface Change {
  readonly position: number;
  readonly was: string;
  readonly is: string;
}

/** Changes the last digit of the process that began the first attempt of a run. */
export async function changeByte(ledger: Ledger, copy: string, stream: string): Promise<Change> {
  for await (const { position, type, data } of ledger.readStream(stream)) {
    if (type !== "attempt.started") continue;
    const { pid } = data["process"] as { readonly pid: number }; // as its definition says
    const was = `"pid":${pid}`;
    const is = `"pid":${pid % 10 === 9 ? pid - 1 : pid + 1}`;
    const file = readFileSync(copy);
    const at = file.indexOf(was);
    if (at < 0) break;
    // The file may hold the same bytes twice where a page was rewritten; the one that counts is changed as well.
    for (let next = at; next >= 0; next = file.indexOf(was, next + 1)) file.write(is, next, "latin1");
    writeFileSync(copy, file);
    return { position, was: String(pid), is: is.slice(6) };
  }
  throw new LedgerError("NOT_FOUND", `${stream} must have an attempt in ${copy}, found none`, { details: { stream } });
}
