import { LedgerError } from "../kernel/errors.js";

/** Snapshots of a store at once: each holds a connection. */
const snapshotsMax = 8;

/** Who may take a snapshot: so many at once, and whoever asked first goes first. */
export class SnapshotSlots {
  private readonly location: string;
  private readonly timeoutMs: number;
  private readonly waiting = new Set<() => void>();
  private free = snapshotsMax;

  /** Nobody waits longer than `timeoutMs`, who does not say how long. */
  constructor(location: string, timeoutMs: number) {
    this.location = location;
    this.timeoutMs = timeoutMs;
  }

  async take(waitMs: number = this.timeoutMs): Promise<void> {
    if (this.free > 0) {
      this.free--;
      return;
    }
    if (waitMs <= 0) throw this.busy(waitMs);
    let timer: NodeJS.Timeout | undefined;
    const handedOver = await new Promise<boolean>((resolve) => {
      const resume = (): void => {
        this.waiting.delete(resume);
        resolve(true);
      };
      this.waiting.add(resume);
      timer = setTimeout(() => resolve(!this.waiting.delete(resume)), waitMs);
    });
    clearTimeout(timer);
    if (!handedOver) throw this.busy(waitMs);
  }

  private busy(waitMs: number): LedgerError {
    const { location } = this;
    return new LedgerError(
      "STORE_BUSY",
      `reading ${location} waited ${waitMs} ms for one of ${snapshotsMax} snapshots to be released`,
      {
        details: { path: location, snapshotsMax },
        hint: "release snapshots that are no longer read",
      },
    );
  }

  give(): void {
    const [next] = this.waiting;
    if (next === undefined) this.free++;
    else next();
  }

  /** Lets everybody go on who waits, to find that the store is closed. */
  close(): void {
    for (const resume of this.waiting) resume();
  }
}
