/** Events that no caller may append, written past every engine: as a later version of it, or a restore, would. */
import type { Store } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import type { EntryLabels } from "../../src/journal/entry.js";
import { encodeEntry, entryId, entryTemplate } from "../../src/journal/entry.js";

/** Appends one event of any stream, type and labels, and answers its position. */
export function appendRaw(
  store: Store,
  stream: string,
  type: string,
  data: object,
  labels: EntryLabels = {},
): Promise<number> {
  let tried: { readonly seq: number; readonly id: string } | null = null;
  return writeOperational(store, 5_000, async (transaction) => {
    // A commit without an answer was one after all.
    const [written] = tried === null ? [] : await transaction.entriesAt([tried.seq]);
    if (tried !== null && written?.id === tried.id) return tried.seq;
    const head = (await transaction.head())!;
    const [last] = await transaction.streamHeads([stream]);
    const seq = head.seq + 1;
    const rev = (last?.rev ?? 0) + 1;
    const place = { seq, prev: head.id, txFirst: seq, txCount: 1, rev, at: head.at };
    const entry = encodeEntry(entryTemplate(stream, type, 1, labels), canonicalize(data), place);
    tried = { seq, id: entryId(entry) };
    const row = { ...tried, stream, rev, before: last?.seq ?? null, type };
    await transaction.append([{ ...row, at: head.at, skew: head.skew, entry }], [], []);
    return seq;
  });
}
