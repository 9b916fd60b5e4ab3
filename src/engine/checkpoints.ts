/** Checkpoints, made and kept, and the changes of the keys that sign them.
 *  Invariants: hashing and signing hold no lock; a checkpoint is kept in a small transaction of its own; a change of keys
 *  that was interrupted is ended by asking for it again. Source: decision 0013. */
import { LedgerError } from "../kernel/errors.js";
import { listLimitDefault, listLimitMax } from "../kernel/limits.js";
import { checkMembers, parseInteger } from "../kernel/members.js";
import { parseCheckpoint } from "../journal/checkpoint.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import { journalStream } from "../journal/events/journal.js";
import { signNote } from "../journal/note.js";
import type { SignerKey } from "../journal/note-keys.js";
import type { Store, StoredCheckpoint } from "../journal/store.js";
import { countEntries, draftCheckpoint, isUnfinished } from "./checkpoint-draft.js";
import type { CheckpointDraft } from "./checkpoint-draft.js";
import { checkKeyName, loadSigner } from "./keys.js";
import { writeOperational } from "./operational.js";
import type { OwnEvents } from "./own-events.js";
import type { PreparedAppend } from "./prepare.js";
import { ownEvent } from "./prepare-event.js";
import { withSnapshot } from "./snapshot.js";

/** A checkpoint of a ledger. Whoever keeps its note elsewhere can tell later whether the journal still begins with what it
 *  covers. @public */
export interface LedgerCheckpoint extends Checkpoint {
  /** Does it carry signatures? Whose they are, `verifyNote` says. */
  readonly signed: boolean;
  /** All of it: the text of a C2SP `tlog-checkpoint`, as a signed note when the journal has a key. */
  readonly note: string;
}

/** Which checkpoint to make. @public */
export interface CheckpointOptions {
  /** How many entries it covers. Default: all there are. */
  readonly size?: number;
}

/** Which of the checkpoints that were kept are listed. @public */
export interface CheckpointListOptions {
  /** Of at most so many entries. Default: of any size. */
  readonly sizeMax?: number;
  /** At most so many, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

export interface CheckpointsOptions {
  readonly store: Store;
  readonly own: OwnEvents;
  readonly busyTimeoutMs: number;
  readonly signer: SignerKey | null;
  /** The file in whose directory no key may be; null when the journal is in none. */
  readonly ledgerFile: string | null;
  readonly append: (append: PreparedAppend) => Promise<unknown>;
}

const changesMax = 20;

export class Checkpoints {
  private readonly options: CheckpointsOptions;
  /** What this ledger can sign with, by verifier key. */
  private readonly signers = new Map<string, SignerKey>();

  constructor(options: CheckpointsOptions) {
    this.options = options;
    if (options.signer !== null) this.addSigner(options.signer);
  }

  /** Makes a checkpoint, and keeps it when the store is writable. */
  async make(options: CheckpointOptions): Promise<LedgerCheckpoint> {
    checkMembers(options, "options", ["size"]);
    const size = options.size === undefined ? null : parseInteger(options.size, "options.size", 1);
    const { store, own, busyTimeoutMs } = this.options;
    const draft = await withSnapshot(store, (reads) => draftCheckpoint(reads, own, size));
    const note = draft.stored ?? this.sign(draft);
    if (draft.stored === null && !store.readOnly)
      await writeOperational(store, busyTimeoutMs, (transaction) =>
        transaction.putCheckpoint({ size: draft.size, note }),
      );
    return viewCheckpoint(note);
  }

  /** What was kept, the largest first. */
  async list(options: CheckpointListOptions): Promise<LedgerCheckpoint[]> {
    checkMembers(options, "options", ["sizeMax", "limit"]);
    const sizeMax = options.sizeMax === undefined ? null : parseInteger(options.sizeMax, "options.sizeMax", 0);
    const limit =
      options.limit === undefined ? listLimitDefault : parseInteger(options.limit, "options.limit", 1, listLimitMax);
    const stored = await withSnapshot(this.options.store, (reads) => reads.checkpoints(sizeMax, limit));
    return stored.map(viewStored);
  }

  /** Appends the change to another key, unless it stands in the journal, and makes the checkpoint that both keys sign. */
  async changeKey(newKey: string): Promise<LedgerCheckpoint> {
    const { store, own, ledgerFile, append } = this.options;
    const signer = await loadSigner(newKey, "newKey", ledgerFile);
    checkKeyName(signer, own.epochs.origin, "newKey");
    this.addSigner(signer);
    for (let attempt = 1; ; attempt++) {
      const { entries, epoch, revision, unfinished } = await withSnapshot(store, async (reads) => {
        const found = { revision: await own.readOn(reads), entries: await countEntries(reads) };
        const current = own.epochs.keyOf(found.entries);
        const [largest] = await reads.checkpoints(null, 1);
        return { ...found, epoch: current, unfinished: isUnfinished(current, largest) };
      });
      if (epoch.key === signer.verifier.text) return this.make({});
      // An earlier change comes to its end first; and what cannot be signed is not begun.
      if (unfinished) await this.make({});
      if (epoch.key !== null) this.signersOf([epoch.key], entries + 1);
      try {
        await append(keyChange(signer.verifier.text, revision));
        return await this.make({});
      } catch (error) {
        if (!(error instanceof LedgerError) || error.code !== "REVISION_CONFLICT" || attempt >= changesMax) throw error;
      }
    }
  }

  /** Adds a key to those that this ledger can sign with. */
  private addSigner(signer: SignerKey): void {
    this.signers.set(signer.verifier.text, signer);
  }

  private sign({ size, text, keys }: CheckpointDraft): string {
    if (keys.length > 0) return signNote(text, this.signersOf(keys, size));
    const { signer, own } = this.options;
    // Whoever opens a ledger with a key means to sign; a checkpoint without a signature would be a surprise.
    if (signer !== null && own.epochs.keyOf(Number.MAX_SAFE_INTEGER).key === null)
      throw new LedgerError("KEY_REQUIRED", "the journal must name the key that signs its checkpoints, found none", {
        details: { size, required: [], given: [signer.verifier.text] },
        hint: "let `changeKey` record the key in the journal",
      });
    return text;
  }

  private signersOf(keys: readonly string[], size: number): SignerKey[] {
    const signers = keys.flatMap((key) => this.signers.get(key) ?? []);
    if (signers.length === keys.length) return signers;
    const given = [...this.signers.keys()];
    throw new LedgerError(
      "KEY_REQUIRED",
      `a checkpoint of ${size} entries must be signed by ${keys.join(" and ")}, found ${given.length === 0 ? "no key" : given.join(" and ")} to sign with`,
      {
        details: { size, required: keys, given },
        hint:
          keys.length === 1
            ? "give it to openLedger as `key`, or to the command with --key"
            : "a change of keys was interrupted: give the key before it, and ask for the change to the new one again",
      },
    );
  }
}

/** The event that names another key, to be written unless the journal said something of itself since. */
function keyChange(key: string, revision: number): PreparedAppend {
  const stream = journalStream;
  return {
    streams: [stream],
    events: [ownEvent("journal.keyChanged", { key }, {})],
    requirements: [{ stream, expected: revision, path: "changeKey" }],
    touched: [stream],
    lookups: null,
    cause: undefined,
    fence: null,
    weight: key.length,
  };
}

/** A checkpoint as its note says it. */
function viewCheckpoint(note: string): LedgerCheckpoint {
  return { ...parseCheckpoint(note), signed: note.includes("\n\n"), note };
}

function viewStored({ size, note }: StoredCheckpoint): LedgerCheckpoint {
  try {
    return viewCheckpoint(note);
  } catch (cause) {
    throw new LedgerError(
      "STORE_DAMAGED",
      `the checkpoint that is stored for ${size} entries must be one, found none`,
      {
        details: { size },
        cause,
        hint: "run `runledger verify` on it",
      },
    );
  }
}
