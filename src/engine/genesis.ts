/** The first entry of a journal: who it is.
 *  Invariant: it is written once, whoever opens the journal at the same time; a commit without an answer is looked up by its
 *  id, which no other opening can have written, because of the nonce in it. */
import { LedgerError } from "../kernel/errors.js";
import type { Clock } from "../kernel/clock.js";
import { canonicalize } from "../kernel/canonical.js";
import { encodeEntry, entryId, entryTemplate, zeroId } from "../journal/entry.js";
import { journalOpened, journalStream, parseJournalOpened } from "../journal/events/journal.js";
import type { JournalOpened } from "../journal/events/journal.js";
import type { RandomBytes } from "../kernel/random.js";
import type { SignerKey } from "../journal/note-keys.js";
import { decodeStored } from "../journal/stored.js";
import type { EntryRow, Store, StoreTransaction } from "../journal/store.js";
import { beginWithin, isBusy } from "./begin.js";
import { withSnapshot } from "./snapshot.js";
import { nextTime } from "./time.js";
import { undo } from "./undo.js";

/** What a journal begins with. */
export interface Genesis {
  readonly opened: JournalOpened;
  readonly id: string;
}

export interface GenesisOptions {
  readonly store: Store;
  readonly create: boolean | "new";
  readonly origin: string | undefined;
  readonly signer: SignerKey | null;
  readonly clock: Clock;
  readonly busyTimeoutMs: number;
  readonly randomBytes: RandomBytes;
}

/** Reads it; null when there is no entry. */
export async function readGenesis(store: Store): Promise<Genesis | null> {
  return withSnapshot(store, async (reads) => {
    const [stored] = await reads.entriesAt([0]);
    if (stored === null || stored === undefined) return null;
    const { fields } = decodeStored(stored);
    if (fields.type !== "journal.opened") {
      throw new LedgerError("STORE_DAMAGED", `event #0 must be journal.opened, found ${fields.type}`, {
        details: { position: 0, field: "type" },
      });
    }
    return { opened: parseJournalOpened(fields.data), id: stored.id };
  });
}

const opensMax = 20;

/** Writes it, unless another process was faster: then that one's is the answer, or with `create: "new"` a refusal. */
export async function openJournal(options: GenesisOptions): Promise<JournalOpened> {
  const { store, signer, randomBytes, busyTimeoutMs } = options;
  if (store.readOnly || options.create === false) {
    throw new LedgerError("NOT_FOUND", `${store.location} must hold a journal, found none`, {
      details: { location: store.location },
    });
  }
  const data = canonicalize(journalOpened(options.origin ?? signer?.verifier.name, randomBytes, signer?.verifier.text));
  for (let attempt = 1; ; attempt++) {
    const transaction = await beginWithin(store, busyTimeoutMs);
    const row = genesisRow(options, data);
    try {
      if ((await transaction.head()) === null) {
        await requireNothingLeft(transaction);
        await transaction.append([row], [], []);
        await transaction.commit();
      } else {
        await undo(transaction);
      }
    } catch (error) {
      await undo(transaction);
      await store.reset();
      const found = await readGenesis(store);
      if (found !== null) return accept(found, row.id, options);
      if (!isBusy(error) || attempt >= opensMax) throw error;
      continue;
    }
    const found = await readGenesis(store);
    if (found !== null) return accept(found, row.id, options);
    // There is a head, and so there was a first entry.
    throw new LedgerError("STORE_DAMAGED", "event #0 must be journal.opened, found no entry there", {
      details: { position: 0, field: "type" },
      hint: "run `runledger verify` on it",
    });
  }
}

/** The refusal to open a journal that is not new. */
export function journalExists(store: Store, { origin }: JournalOpened): LedgerError {
  return new LedgerError("STORE_EXISTS", `${store.location} must hold no journal yet, found ${origin}`, {
    details: { location: store.location, origin },
    hint: "name another place, or go on with what is there",
  });
}

function accept(found: Genesis, written: string, { store, create }: GenesisOptions): JournalOpened {
  if (create === "new" && found.id !== written) throw journalExists(store, found.opened);
  return found.opened;
}

/** A store without entries that knows a stream had some before: they are gone, and it is not a new one. */
async function requireNothingLeft(transaction: StoreTransaction): Promise<void> {
  const [journal] = await transaction.streamHeads([journalStream]);
  if (journal === null) return;
  throw new LedgerError(
    "STORE_DAMAGED",
    `a store whose stream ${journalStream} has events must have entries, found none`,
    {
      details: { position: 0, field: "entry" },
      hint: "run `runledger verify` on it",
    },
  );
}

function genesisRow({ clock }: GenesisOptions, data: string): EntryRow {
  const time = nextTime(null, { clock: clock.now(), monotonic: clock.monotonic() }, true);
  const template = entryTemplate(journalStream, "journal.opened", 1, {});
  const entry = encodeEntry(template, data, { seq: 0, prev: zeroId, txFirst: 0, txCount: 1, rev: 1, at: time.at });
  return {
    seq: 0,
    id: entryId(entry),
    stream: journalStream,
    rev: 1,
    before: null,
    type: "journal.opened",
    at: time.at,
    skew: 0,
    entry,
  };
}
