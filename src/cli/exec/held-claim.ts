/** The claim of a run while its command goes on: renewed at half its lease, until it is let go of or lost.
 *  Invariants: it is lost when the ledger says so, and when it could not be renewed for a whole lease, but for a full disk: as
 *  long as nothing can be written nobody takes over either. A process that stood still asks before it believes its own clock,
 *  so that the refusal is on record.
 *  Source: decision 0027. */
import { LedgerError } from "../../index.js";
import type { Fence, Ledger } from "../../index.js";

export interface ClaimWatch {
  /** It is no longer ours. */
  lost(error: Error): void;
  /** Somebody asks that the run be ended. */
  cancelled(reason: string): void;
}

export class HeldClaim {
  readonly fence: Fence;
  private readonly ledger: Ledger;
  private readonly leaseMs: number;
  private readonly watch: ClaimWatch;
  private deadline: number;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | null = null;
  private ended = false;
  /** Why it could not be renewed when that was last tried. */
  private trouble: Error | null = null;

  /** `since`: when it was asked for, by `performance.now()`. */
  constructor(
    ledger: Ledger,
    { fence, leaseMs, since }: { readonly fence: Fence; readonly leaseMs: number; readonly since: number },
    watch: ClaimWatch,
  ) {
    this.ledger = ledger;
    this.fence = fence;
    this.leaseMs = leaseMs;
    this.watch = watch;
    this.deadline = since + leaseMs;
    this.renewAfter(leaseMs / 2);
  }

  /** Is it neither lost nor let go of? */
  get isHeld(): boolean {
    return !this.ended;
  }

  /** Has its lease not run out, by our own clock? */
  get hasTime(): boolean {
    return !this.ended && performance.now() < this.deadline;
  }

  /** Renews it no more. */
  stop(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  /** Ends it by a write, during which it is not renewed: that could come behind the end, and would be refused. */
  async endBy(write: () => Promise<void>): Promise<void> {
    clearTimeout(this.timer);
    await this.renewing;
    clearTimeout(this.timer);
    try {
      await write();
      this.stop();
    } catch (error) {
      if (!this.ended) this.renewAfter(this.leaseMs / 8);
      throw error;
    }
  }

  /** What was written under it was refused. */
  lose(error: Error): void {
    if (this.ended) return;
    this.stop();
    this.watch.lost(this.trouble === null ? error : withTrouble(error, this.trouble));
  }

  private renewAfter(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.renewing = this.renew();
    }, ms);
  }

  private async renew(): Promise<void> {
    const since = performance.now();
    try {
      const { cancel } = await this.ledger.queue.renew(this.fence, this.leaseMs);
      if (this.ended) return;
      this.deadline = since + this.leaseMs;
      this.trouble = null;
      this.renewAfter(this.leaseMs / 2);
      if (cancel !== null) this.watch.cancelled(cancel.reason);
    } catch (error) {
      if (this.ended) return;
      const code = error instanceof LedgerError ? error.code : null;
      const isOver = performance.now() >= this.deadline && code !== "STORE_FULL";
      if (code === null || code === "FENCED" || isOver) this.lose(error as Error);
      // The store does not answer: asked again in time, as long as there is some.
      else {
        this.trouble = error as Error;
        this.renewAfter(this.leaseMs / 8);
      }
    }
  }
}

/** Whoever reads that a claim has expired asks why it was not renewed. */
function withTrouble(error: Error, trouble: Error): Error {
  if (!(error instanceof LedgerError) || error.code !== "FENCED") return error;
  return new LedgerError("FENCED", `${error.message}; it could not be renewed: ${trouble.message}`, {
    details: error.details,
    cause: error,
  });
}
