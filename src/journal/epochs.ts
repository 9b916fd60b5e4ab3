/** What a journal says of its own checkpoints: which key signs them and under which incarnation, from which size on.
 *  Whoever makes a checkpoint and whoever checks one reads it from the same events. Source: decision 0013. */
import type { JsonObject } from "../kernel/canonical.js";
import { invariant } from "../kernel/errors.js";
import { parseKeyChanged } from "./events/journal.js";
import type { JournalOpened } from "./events/journal.js";

/** Whose key signs the checkpoints of a size. */
export interface KeyEpoch {
  /** The verifier key; null where the journal names none. */
  readonly key: string | null;
  /** The position of the event that names it. A checkpoint of more entries than that is signed by it. */
  readonly since: number;
  /** The key before it, which signs the first checkpoint of the epoch too; null when there was none. */
  readonly previous: string | null;
}

interface IncarnationEpoch {
  readonly incarnation: number;
  readonly since: number;
}

export class Epochs {
  readonly origin: string;
  private readonly keys: KeyEpoch[];
  private readonly incarnations: IncarnationEpoch[];

  constructor(opened: JournalOpened) {
    this.origin = opened.origin;
    this.keys = [{ key: opened.key ?? null, since: 0, previous: null }];
    this.incarnations = [{ incarnation: opened.incarnation, since: 0 }];
  }

  /** Takes note of a later event of `journal/main`; they come in their order. */
  add(position: number, type: string, data: JsonObject): void {
    if (type === "journal.keyChanged") {
      this.keys.push({ key: parseKeyChanged(data).key, since: position, previous: this.keys.at(-1)?.key ?? null });
    }
    if (type === "journal.restored" && typeof data["incarnation"] === "number") {
      this.incarnations.push({ incarnation: data["incarnation"], since: position });
    }
  }

  /** All of them, in order. */
  get keyEpochs(): readonly KeyEpoch[] {
    return this.keys;
  }

  /** Who signs the checkpoint of so many entries, one or more. */
  keyOf(size: number): KeyEpoch {
    return last(this.keys, size);
  }

  /** The first line of the checkpoint of so many entries: the origin, from incarnation 2 on with the incarnation. */
  lineOf(size: number): string {
    const incarnation = this.incarnationOf(size);
    return incarnation === 1 ? this.origin : `${this.origin}/${incarnation}`;
  }

  /** The incarnation of the journal at so many entries. */
  incarnationOf(size: number): number {
    return last(this.incarnations, size).incarnation;
  }

  /** Did every restore since an incarnation keep what stood at a position then? */
  isKept(position: number, incarnation: number): boolean {
    return this.incarnations.every((epoch) => epoch.incarnation <= incarnation || epoch.since > position);
  }
}

function last<Epoch extends { readonly since: number }>(epochs: readonly Epoch[], size: number): Epoch {
  const found = epochs.findLast(({ since }) => since < size);
  invariant(found !== undefined, "a checkpoint covers the first entry");
  return found;
}
