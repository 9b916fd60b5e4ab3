/** Events that no caller may append, written past every engine: as a later version of it, or a restore, would. */
import type { Store } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { encodeEntry, entryId, entryTemplate } from "../../src/journal/entry.js";

/** Appends one event of any stream and type, and answers its position. */
export function appendRaw(store: Store, stream: string, type: string, data: object): Promise<number> {
  return writeOperational(store, 5_000, async (transaction) => {
    const head = (await transaction.head())!;
    const [last] = await transaction.streamHeads([stream]);
    const seq = head.seq + 1;
    const rev = (last?.rev ?? 0) + 1;
    const place = { seq, prev: head.id, txFirst: seq, txCount: 1, rev, at: head.at };
    const entry = encodeEntry(entryTemplate(stream, type, 1, {}), canonicalize(data), place);
    const row = { seq, id: entryId(entry), stream, rev, before: last?.seq ?? null, type };
    await transaction.append([{ ...row, at: head.at, skew: head.skew, entry }], [], []);
    return seq;
  });
}
