/** A stream that is not there, and the one that a reader may take for it. Two names are two streams even when they look
 *  the same (case C14); nothing is ever normalised, so a look-up that misses has to show the difference. */
import { LedgerError } from "../index.js";
import type { Ledger } from "../index.js";
import { escapeToAscii } from "./escape.js";

const shownMax = 3;

/** The error for a stream that has no events, with a hint at those that look like it; where none does, with the other one. */
export async function missingStream(ledger: Ledger, stream: string, otherwise?: string): Promise<LedgerError> {
  const lookalikes = await findLookalikes(ledger, stream);
  const shown = lookalikes.slice(0, shownMax).map(escapeToAscii);
  const more = lookalikes.length > shownMax ? ` and ${lookalikes.length - shownMax} more` : "";
  const alike = `${escapeToAscii(stream)} was asked for; ${shown.join(", ")}${more} looks like it and is another stream`;
  return new LedgerError("NOT_FOUND", `stream ${JSON.stringify(stream)} must have events, found none`, {
    details: { stream, lookalikes },
    ...(lookalikes.length > 0 ? { hint: alike } : otherwise === undefined ? {} : { hint: otherwise }),
  });
}

/** What a name looks like: composed, in one width, without what cannot be seen, in one case. */
export function lookOf(name: string): string {
  return name
    .normalize("NFKC")
    .replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "")
    .toLowerCase();
}

async function findLookalikes(ledger: Ledger, stream: string): Promise<readonly string[]> {
  const look = lookOf(stream);
  const seen = new Set<string>();
  for await (const event of ledger.read()) seen.add(event.stream);
  return [...seen].filter((name) => lookOf(name) === look);
}
