/** Proofs out of the stored tree: that an event is in the journal, and that the journal of one size begins with that of
 *  another. Each is made on one snapshot and carries the checkpoint that it leads to, so that it can be checked without
 *  the ledger. Source: FORMAT.md sections 8 and 9. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { checkMembers, parseInteger } from "../kernel/members.js";
import { formatCheckpoint } from "../journal/checkpoint.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import { formatAddCheckpoint, formatTlogProof } from "../journal/proof-file.js";
import { proveConsistency, proveInclusion } from "../journal/proof.js";
import type { SubtreeRoot } from "../journal/proof.js";
import { decodeStored } from "../journal/stored.js";
import type { Store, StoreReads } from "../journal/store.js";
import { checkpointOf, checkStored, countEntries } from "./checkpoint-draft.js";
import type { OwnEvents } from "./own-events.js";
import { withSnapshot } from "./snapshot.js";
import { storedTree } from "./stored-tree.js";

/** That an event is in the journal of a size. It is what `verifyInclusion` takes. @public */
export interface LedgerInclusionProof {
  /** The id of the event, 32 bytes. */
  readonly leafHash: Uint8Array;
  /** Its position. */
  readonly index: number;
  readonly size: number;
  /** The hashes, from the sibling of the leaf up. */
  readonly proof: readonly Uint8Array[];
  readonly root: Uint8Array;
  /** The checkpoint that it leads to: the note that was kept for this size, else the text of one, unsigned. */
  readonly checkpoint: string;
  /** All of it as a C2SP `tlog-proof@v1`, which `runledger check-proof` reads. It does not hold the event. */
  readonly text: string;
}

/** That the journal of a size begins with that of a smaller one. It is what `verifyConsistency` takes. @public */
export interface LedgerConsistencyProof {
  readonly size1: number;
  readonly root1: Uint8Array;
  readonly size2: number;
  readonly root2: Uint8Array;
  /** The hashes, from the deepest up. */
  readonly proof: readonly Uint8Array[];
  /** The checkpoint of the larger size: the note that was kept for it, else the text of one, unsigned. */
  readonly checkpoint: string;
  /** All of it in the form of a C2SP `add-checkpoint`, which `runledger check-proof` reads. It does not hold `root1`. */
  readonly text: string;
}

/** In which tree to prove. @public */
export interface ProveOptions {
  /** The number of entries of the tree in which the event is proved. Default: that of the largest checkpoint that was kept,
   *  when it covers the event; else all there are. */
  readonly size?: number;
}

export class Proofs {
  private readonly store: Store;
  private readonly own: OwnEvents;

  constructor(store: Store, own: OwnEvents) {
    this.store = store;
    this.own = own;
  }

  prove(position: number, options: ProveOptions): Promise<LedgerInclusionProof> {
    checkMembers(options, "options", ["size"]);
    parseInteger(position, "position", 0);
    if (options.size !== undefined) parseInteger(options.size, "options.size", 1);
    return withSnapshot(this.store, async (reads) => {
      const entries = await countEntries(reads);
      if (position >= entries)
        throw new LedgerError("NOT_FOUND", `#${position} must be an event from #0 to #${entries - 1}, found none`, {
          details: { position, size: entries },
        });
      if (options.size !== undefined) checkSize(options.size, "options.size", position + 1, entries);
      const tree = storedTree(reads);
      const { size, root, checkpoint } = await this.target(reads, tree, options.size ?? null, position);
      const proof = (await proveInclusion(position, size, tree)).map(bytes);
      const text = formatTlogProof({ index: position, proof, checkpoint });
      return { leafHash: await leafAt(reads, position), index: position, size, proof, root, checkpoint, text };
    });
  }

  consistency(from: number, to: number | undefined): Promise<LedgerConsistencyProof> {
    parseInteger(from, "from", 1);
    if (to !== undefined) parseInteger(to, "to", 1);
    return withSnapshot(this.store, async (reads) => {
      const entries = await countEntries(reads);
      checkSize(from, "from", 1, entries);
      if (to !== undefined) checkSize(to, "to", from, entries);
      const tree = storedTree(reads);
      const { size, root, checkpoint } = await this.target(reads, tree, to ?? null, from);
      const proof = (await proveConsistency(from, size, tree)).map(bytes);
      const text = formatAddCheckpoint({ oldSize: from, proof, checkpoint });
      const { root: root1 } = await checkpointOf(from, this.own, tree);
      return { size1: from, root1, size2: size, root2: root, proof, checkpoint, text };
    });
  }

  /** The checkpoint that a proof leads to: of the size that was asked for; else the largest one that was kept, when it
   *  tells of more than the first `known` entries; else of all entries. */
  private async target(
    reads: StoreReads,
    tree: SubtreeRoot,
    asked: number | null,
    known: number,
  ): Promise<Checkpoint & { readonly checkpoint: string }> {
    const entries = await countEntries(reads);
    await this.own.readOn(reads);
    const [kept] = await reads.checkpoints(asked, 1);
    const size = asked ?? (kept !== undefined && kept.size > known ? kept.size : entries);
    if (kept?.size === size) await checkStored(kept, this.own, tree, entries);
    const checkpoint = await checkpointOf(size, this.own, tree);
    return { ...checkpoint, checkpoint: kept?.size === size ? kept.note : formatCheckpoint(checkpoint) };
  }
}

function checkSize(size: number, path: string, min: number, entries: number): void {
  if (size < min || size > entries) throw invalid(path, `a size from ${min} to ${entries}`, size);
}

/** The id of an entry whose bytes are those that were written. */
async function leafAt(reads: StoreReads, position: number): Promise<Buffer> {
  const [stored] = await reads.entriesAt([position]);
  if (stored === null || stored === undefined)
    throw new LedgerError("STORE_DAMAGED", `event #${position} must be there, found nothing`, {
      details: { position },
      hint: "run `runledger verify` on it",
    });
  return bytes(decodeStored(stored).id);
}

function bytes(hash: string): Buffer {
  return Buffer.from(hash, "hex");
}
