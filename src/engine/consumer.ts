/** A durable consumer: where somebody is in the journal, kept beside it, under a claim.
 *  Invariants: one owner at a time, across processes; each write presents the fence, and one that comes too late moves
 *  nothing; what was acknowledged is on disk before the next batch is read, and is never taken back; the claim is renewed
 *  at half its lease for as long as its owner wants it. Source: decision 0014. */
import {
  checkFence,
  checkHolder,
  claimOwned,
  fencedError,
  hashToken,
  isLive,
  mintToken,
  renewClaim,
} from "../kernel/claim.js";
import type { FenceProof, Owned } from "../kernel/claim.js";
import { LedgerError } from "../kernel/errors.js";
import type { RandomBytes } from "../kernel/random.js";
import type { ConsumerRow, Store, StoreHead, StoreReads, StoreTransaction } from "../journal/store.js";
import { unfitError } from "./consumer-fit.js";
import type { LeaseTime } from "./lease-time.js";
import { writeOperational } from "./operational.js";
import type { OwnEvents } from "./own-events.js";
import type { Place } from "./subscription-batch.js";
import type { ConsumerStatus } from "./types.js";

export interface ConsumerPlan {
  readonly name: string;
  readonly leaseMs: number;
  /** Begin anew, wherever it is. */
  readonly reset: boolean;
}

/** What consumers need of the engine. */
export interface ConsumerSource {
  readonly store: Store;
  readonly busyTimeoutMs: number;
  readonly time: LeaseTime;
  readonly randomBytes: RandomBytes;
  readonly own: OwnEvents;
  /** How this process calls itself to those who find a name taken. */
  readonly holder: string;
}

/** What a write of the row starts from. */
interface Found {
  readonly transaction: StoreTransaction;
  readonly head: StoreHead;
  readonly row: ConsumerRow | null;
  readonly owned: Owned;
  /** Engine time. */
  readonly at: number;
}

export class Consumer {
  private readonly source: ConsumerSource;
  private readonly plan: ConsumerPlan;
  private readonly tokenHash: string;
  private readonly lost: (error: LedgerError) => void;
  private fence: FenceProof | null = null;
  /** What the row says after its next write. */
  private place: Place = { position: -1, id: null };
  private timer: NodeJS.Timeout | null = null;
  private stopped = false;

  /** `lost` hears once that the claim is somebody else's, or nobody's. */
  constructor(source: ConsumerSource, plan: ConsumerPlan, lost: (error: LedgerError) => void) {
    this.source = source;
    this.plan = plan;
    this.tokenHash = hashToken(mintToken(source.randomBytes(32)));
    this.lost = lost;
  }

  /** Claims the name and answers the place to go on from, which is `start` for a new consumer and one that is reset.
   *  `OWNER_ACTIVE`: somebody else has it. `FENCED`: the journal is no longer the one that it has read. */
  async claim(start: (reads: StoreReads) => Promise<Place | LedgerError>): Promise<Place> {
    const { name, leaseMs, reset } = this.plan;
    const claimed = await this.write(async ({ transaction, head, row, owned, at }) => {
      const { key, incarnation, generation } = owned;
      const mine = { key, incarnation, generation, tokenHash: this.tokenHash };
      // A commit without an answer was one after all.
      if (row !== null && checkFence(owned, mine, at) === null) return { fence: mine, place: placeOf(row) };
      const outcome = claimOwned(owned, { holder: this.source.holder, tokenHash: this.tokenHash, leaseMs, at });
      if (outcome.type === "held") return ownerActive(name, outcome);
      const anew = row === null || reset;
      const refused = anew ? null : await unfitError(row, head, transaction, this.source.own.epochs);
      if (refused !== null) return refused;
      const place = anew ? await start(transaction) : placeOf(row);
      if (place instanceof LedgerError) return place;
      const { claim } = outcome;
      const fence = { ...mine, generation: claim.generation };
      await transaction.putConsumer({ name, ...place, incarnation, generation: claim.generation, claim });
      return { fence, place };
    });
    if (claimed instanceof LedgerError) throw claimed;
    this.fence = claimed.fence;
    this.place = claimed.place;
    this.renewAfter(leaseMs / 2);
    return claimed.place;
  }

  /** Everything up to a place is done with, and on disk when this resolves. `FENCED`: it is not, and comes again. */
  async acknowledge(place: Place): Promise<void> {
    this.place = place;
    await this.keep();
  }

  /** Nothing up to a place was for this consumer. Kept with the next write, for which it is no reason. */
  moveTo(place: Place): void {
    this.place = place;
  }

  /** Renews no more: the claim runs out, unless it is released. */
  stop(): void {
    this.stopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Gives the name back. A store that keeps it from doing so is no trouble of the reader's: the claim runs out by itself. */
  async release(): Promise<void> {
    this.stop();
    const { fence } = this;
    this.fence = null;
    if (fence === null) return;
    try {
      await this.write(async ({ transaction, row, owned, at }) => {
        if (row === null || checkHolder(owned, fence) !== null) return;
        const place = isLive(owned.claim, at) ? this.place : placeOf(row);
        await transaction.putConsumer({ ...row, ...place, claim: null });
      });
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
    }
  }

  /** Writes the place, and renews the claim with it. */
  private async keep(): Promise<void> {
    const { fence } = this;
    const { leaseMs } = this.plan;
    if (fence === null) return;
    const refused = await this.write(async ({ transaction, row, owned, at }) => {
      const outcome = renewClaim(owned, fence, { leaseMs, at });
      if (outcome.type === "fenced" || row === null) return outcome;
      await transaction.putConsumer({ ...row, ...this.place, claim: outcome.claim });
      return null;
    });
    if (refused?.type !== "fenced") {
      this.renewAfter(leaseMs / 2);
      return;
    }
    this.stop();
    this.fence = null;
    throw fencedError(keyOf(this.plan.name), refused);
  }

  /** The timer keeps no process alive: whoever works for its reader does. */
  private renewAfter(ms: number): void {
    if (this.stopped) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.renew(), ms).unref();
  }

  private async renew(): Promise<void> {
    try {
      await this.keep();
    } catch (error) {
      if (error instanceof LedgerError && error.code === "FENCED") this.lost(error);
      // The store does not answer: asked again in time, as long as there is some. What is wrong, the next step is told.
      else this.renewAfter(this.plan.leaseMs / 8);
    }
  }

  private write<Result>(change: (found: Found) => Promise<Result>): Promise<Result> {
    return writeConsumer(this.source, this.plan, change);
  }
}

/** Forgets a consumer and its place. `OWNER_ACTIVE`: somebody owns it; `NOT_FOUND`: there is none of this name. */
export async function forgetConsumer(source: ConsumerSource, name: string): Promise<void> {
  let deleted = false;
  // A row that cannot be read can be forgotten too.
  const refused = await writeConsumer(source, { name, reset: true }, async ({ transaction, row, owned, at }) => {
    if (isLive(owned.claim, at)) return ownerActive(name, owned.claim!);
    if (row === null && !(await isDamaged(transaction, name))) {
      // A commit without an answer was one after all.
      if (deleted) return null;
      return new LedgerError("NOT_FOUND", `consumer ${JSON.stringify(name)} must be known, found none of this name`, {
        details: { consumer: name },
      });
    }
    await transaction.deleteConsumer(name);
    deleted = true;
    return null;
  });
  if (refused !== null) throw refused;
}

/** Is there a row that cannot be read, where none was read? */
async function isDamaged(reads: StoreReads, name: string): Promise<boolean> {
  try {
    await reads.consumer(name);
    return false;
  } catch (error) {
    if (error instanceof LedgerError && error.code === "STORE_DAMAGED") return true;
    throw error;
  }
}

/** Changes the row of a consumer, in a transaction of its own. */
function writeConsumer<Result>(
  { store, busyTimeoutMs, own, time }: ConsumerSource,
  plan: Pick<ConsumerPlan, "name" | "reset">,
  change: (found: Found) => Promise<Result>,
): Promise<Result> {
  return writeOperational(store, busyTimeoutMs, async (transaction) => {
    const head = await transaction.head();
    if (head === null) throw new LedgerError("STORE_DAMAGED", "the journal must have its first entry, found none");
    await own.readOn(transaction);
    const row = await readConsumer(transaction, plan);
    const incarnation = own.epochs.incarnationOf(head.seq + 1);
    const owned = { key: keyOf(plan.name), incarnation, generation: row?.generation ?? 0, claim: row?.claim ?? null };
    return change({ transaction, head, row, owned, at: time.at(head) });
  });
}

async function readConsumer(
  reads: StoreReads,
  { name, reset }: Pick<ConsumerPlan, "name" | "reset">,
): Promise<ConsumerRow | null> {
  try {
    return await reads.consumer(name);
  } catch (error) {
    // Whoever begins anew needs nothing of a row that cannot be read.
    if (reset && error instanceof LedgerError && error.code === "STORE_DAMAGED") return null;
    throw error;
  }
}

/** A consumer as an operator sees it. */
export function consumerStatus({ name, position, claim }: ConsumerRow, head: StoreHead): ConsumerStatus {
  return {
    name,
    position,
    lag: head.seq - position,
    holder: claim?.holder ?? null,
    expiresAt: claim?.expiresAt ?? null,
  };
}

function keyOf(name: string): string {
  return `consumer/${name}`;
}

function placeOf({ position, id }: ConsumerRow): Place {
  return { position, id };
}

function ownerActive(
  consumer: string,
  { holder, expiresAt }: { readonly holder: string; readonly expiresAt: number },
): LedgerError {
  return new LedgerError(
    "OWNER_ACTIVE",
    `consumer ${JSON.stringify(consumer)} must be free, found it owned by ${holder} until ${expiresAt}`,
    {
      details: { consumer, holder, expiresAt },
      hint: "end the other one, or wait until its claim has expired; it is in ms since the epoch, of engine time",
    },
  );
}
