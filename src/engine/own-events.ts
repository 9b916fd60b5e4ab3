/** What the journal says of itself on `journal/main`, read on whenever it is asked for, from the snapshot of whoever asks. */
import { LedgerError } from "../kernel/errors.js";
import { Epochs } from "../journal/epochs.js";
import { journalStream } from "../journal/events/journal.js";
import type { JournalOpened } from "../journal/events/journal.js";
import { decodeStored } from "../journal/stored.js";
import type { StoreReads } from "../journal/store.js";

const pageMax = 1_000;

export class OwnEvents {
  /** May know of later events than a snapshot shows; asked for a size, it answers for that size. */
  readonly epochs: Epochs;
  private revision = 1;

  /** Starts behind the first entry. */
  constructor(opened: JournalOpened) {
    this.epochs = new Epochs(opened);
  }

  /** Reads on to the end that a snapshot shows; answers the revision of the stream there. */
  async readOn(reads: StoreReads): Promise<number> {
    const [head] = await reads.streamHeads([journalStream]);
    const end = head?.rev ?? 0;
    while (this.revision < end) {
      const next = this.revision + 1;
      for (const stored of await reads.streamEntries(journalStream, next, pageMax)) {
        const { rev, seq, type, data } = decodeStored(stored).fields;
        // Somebody else may have asked while this one waited for its page.
        if (rev !== this.revision + 1) continue;
        this.epochs.add(seq, type, data);
        this.revision = rev;
      }
      if (this.revision < next)
        throw new LedgerError("STORE_DAMAGED", `${journalStream} must reach revision ${end}, found ${this.revision}`, {
          details: { stream: journalStream, expected: end, found: this.revision },
          hint: "run `runledger verify` on it",
        });
    }
    return end;
  }
}
