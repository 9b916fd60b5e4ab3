/** What the journal says of itself on `journal/main`, read on whenever it is asked for, from the reads of whoever asks. */
import { LedgerError } from "../kernel/errors.js";
import { Epochs } from "../journal/epochs.js";
import type { EntryFields } from "../journal/entry.js";
import { journalStream } from "../journal/events/journal.js";
import type { JournalOpened } from "../journal/events/journal.js";
import { decodeStored } from "../journal/stored.js";
import type { StoreReads } from "../journal/store.js";

const pageMax = 1_000;

/** Hands the journal's own events behind a revision to `see`, in order; answers the revision of the last one there is. */
export async function readOwnEvents(
  reads: StoreReads,
  after: number,
  see: (fields: EntryFields) => void,
): Promise<number> {
  const [head] = await reads.streamHeads([journalStream]);
  const end = head?.rev ?? 0;
  for (let revision = after; revision < end;) {
    const page = await reads.streamEntries(journalStream, revision + 1, pageMax);
    for (const stored of page) {
      const { fields } = decodeStored(stored);
      if (fields.rev !== ++revision) throw damaged(revision, fields.rev);
      see(fields);
    }
    if (page.length === 0) throw damaged(end, revision);
  }
  return end;
}

function damaged(expected: number, found: number): LedgerError {
  return new LedgerError("STORE_DAMAGED", `${journalStream} must reach revision ${expected}, found ${found}`, {
    details: { stream: journalStream, expected, found },
    hint: "run `runledger verify` on it",
  });
}

export class OwnEvents {
  /** May know of later events than a snapshot shows; asked for a size, it answers for that size. */
  readonly epochs: Epochs;
  private revision = 1;

  /** Starts behind the first entry. */
  constructor(opened: JournalOpened) {
    this.epochs = new Epochs(opened);
  }

  /** Reads on to the end that a snapshot shows; answers the revision of the stream there. */
  readOn(reads: StoreReads): Promise<number> {
    return readOwnEvents(reads, this.revision, ({ rev, seq, type, data }) => {
      // Somebody else may have asked while this one waited for its page.
      if (rev !== this.revision + 1) return;
      this.epochs.add(seq, type, data);
      this.revision = rev;
    });
  }
}
