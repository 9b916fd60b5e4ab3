import { systemClock } from "../kernel/clock.js";
import { erasedPerCallMax } from "../kernel/limits.js";
import type { Store, StoreReads } from "../journal/store.js";
import type { Batch } from "./batch.js";
import type { Erasing } from "./erase.js";
import { ownEvent } from "./prepare-event.js";
import type { Decided, Queued, Settle } from "./queue.js";
import type { Tx } from "./tx.js";
import type { Erasure, ErasurePlan } from "./types.js";

/** An erasure that waits for the write lock. It runs alone: what is appended behind it sees the contents erased. */
export class QueuedErasure implements Queued {
  readonly alone = true;
  readonly touched: readonly string[] = [];
  readonly submittedAt: number = systemClock.monotonic();
  private readonly erasing: Erasing;
  private readonly store: Store;
  private readonly settle: Settle<Erasure>;

  constructor(erasing: Erasing, store: Store, settle: Settle<Erasure>) {
    this.erasing = erasing;
    this.store = store;
    this.settle = settle;
  }

  get signal(): AbortSignal | undefined {
    return this.erasing.wish.signal;
  }

  get weight(): number {
    return 400 + this.erasing.wish.digests.length * 70;
  }

  /** It reads the journal by itself, before the lock and under it. */
  foresee(): void {}

  async decide(batch: Batch, reads: StoreReads): Promise<Decided> {
    await this.erasing.look((read) => read(reads));
    const { digests, reason, actor } = this.erasing.wish;
    const tx = batch.open();
    let plan: ErasurePlan;
    let groups: readonly ErasureGroup[];
    let folding: Promise<void> | undefined;
    try {
      plan = this.erasing.decide();
      groups = eventsOf(plan, digests);
      folding = tx.record(
        groups.map((group) => ownEvent("content.erased", { digests: group.digests, reason }, { actor })),
      );
    } catch (error) {
      return { error };
    }
    await folding;
    return this.seal(batch, tx, plan, groups);
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }

  private seal(batch: Batch, tx: Tx, plan: ErasurePlan, groups: readonly ErasureGroup[]): Decided {
    try {
      const { rows } = tx.seal();
      groups.forEach(({ numbers }, index) => batch.erasures.push({ numbers, position: rows[index]!.seq }));
      const { seq: position, id, at } = rows[0]!;
      // Whoever waits behind it does not wait for that.
      const answer = (): void =>
        void this.store
          .scrub()
          .then((scrubbed) => this.settle.resolve({ ...plan, position, id, at, scrubbed }))
          .catch((error: unknown) => this.reject(error));
      return { staged: { count: rows.length, answer } };
    } catch (error) {
      return { error };
    }
  }
}

interface ErasureGroup {
  readonly digests: readonly string[];
  readonly numbers: readonly number[];
}

/** What each `content.erased` names: the first what was asked for, and salts as far as there is room; more are for the next. */
function eventsOf({ contents, salts }: ErasurePlan, asked: readonly string[]): ErasureGroup[] {
  const room = erasedPerCallMax - asked.length;
  const groups = [
    {
      digests: [...asked, ...salts.slice(0, room).map(({ digest }) => digest)],
      numbers: [...contents, ...salts.slice(0, room)].map(({ n }) => n),
    },
  ];
  for (let from = room; from < salts.length; from += erasedPerCallMax) {
    const more = salts.slice(from, from + erasedPerCallMax);
    groups.push({ digests: more.map(({ digest }) => digest), numbers: more.map(({ n }) => n) });
  }
  return groups;
}
