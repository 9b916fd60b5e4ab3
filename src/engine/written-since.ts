/** What others wrote behind the last entry that this process knows of: read once, so that what is remembered is brought on by it,
 *  and not dropped. Source: decision 0028. */
import { LedgerError } from "../kernel/errors.js";
import { decodeStored } from "../journal/stored.js";
import type { DecodedEntry } from "../journal/stored.js";
import type { StoredEntry, StoreReads } from "../journal/store.js";

/** An entry, by its place and its id. */
export interface EntryPlace {
  readonly seq: number;
  readonly id: string;
}

export interface WrittenSince {
  /** The entry that was known. */
  readonly known: EntryPlace;
  /** All behind it, in order, up to the head. */
  readonly entries: readonly DecodedEntry[];
}

/** The longest stretch that is read where reads are round trips: behind a longer one all that was remembered is as good as
 *  forgotten. */
export const sinceMax = 1_000;
/** The same where reads are cheap: what is remembered is read again for less than it takes to look through more. */
export const sinceMaxNear = 16;

/** The entries behind a known one; null where they do not follow from it, are too many, or cannot be read: then nothing that is
 *  remembered is worth anything, and whoever needs one of them is told what is wrong with it. */
export async function readWrittenSince(
  reads: Pick<StoreReads, "entries">,
  known: EntryPlace,
  head: EntryPlace,
  countMax: number,
): Promise<WrittenSince | null> {
  const count = head.seq - known.seq;
  if (count <= 0 || count > countMax) return null;
  const stored = await reads.entries(known.seq, count + 1);
  if (stored.length !== count + 1 || stored[0]?.id !== known.id || stored.at(-1)?.id !== head.id) return null;
  if (stored.some(({ seq }, index) => seq !== known.seq + index)) return null;
  const entries = decodeAll(stored.slice(1));
  if (entries === null) return null;
  const follows = entries.every(({ fields }, index) => fields.prev === stored[index]!.id);
  return follows ? { known, entries } : null;
}

function decodeAll(stored: readonly StoredEntry[]): readonly DecodedEntry[] | null {
  try {
    return stored.map(decodeStored);
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
