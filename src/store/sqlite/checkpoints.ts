/** Taking the write-ahead log into the main file, between commits.
 *  Invariants: a live log is not truncated (overwriting allocated blocks is faster than growing a file) unless it is over
 *  its cap; a checkpoint never waits; one that fails or is held back is reported, never thrown. Cases A04 and K01. */
import { statSync } from "node:fs";
import type { FaultSeam, StoreHealth } from "../../journal/store.js";
import type { Connection } from "./connection.js";
import type { OnDiagnostic } from "./diagnostic.js";

/** Pages written between two checkpoints: 16 MB. A checkpoint holds up whoever appends next, so at 1,000 pages it set the
 *  99th percentile of 64 callers (measured: 8 ms against 4). */
const pagesBetween = 4_000;
const pageBytes = 4_096;

export class Checkpoints {
  private readonly path: string;
  private readonly capBytes: number;
  private readonly faults: FaultSeam | undefined;
  private readonly onDiagnostic: OnDiagnostic;
  private pages = 0;
  private blocked = false;
  private lastError: string | null = null;
  private reported = false;

  constructor(path: string, capBytes: number, faults: FaultSeam | undefined, onDiagnostic: OnDiagnostic) {
    this.path = path;
    this.capBytes = capBytes;
    this.faults = faults;
    this.onDiagnostic = onDiagnostic;
  }

  /** Counts what a commit wrote: each page that it filled, and about two that it touched. */
  wrote(bytes: number): void {
    this.pages += 2 + Math.ceil(bytes / pageBytes);
  }

  /** Is it time for a checkpoint? */
  due(): boolean {
    return this.pages >= pagesBetween;
  }

  /** Checkpoints without waiting for anybody. */
  run(connection: Connection): void {
    this.pages = 0;
    try {
      this.faults?.("checkpoint", "before");
      this.checkpoint(connection, "PASSIVE");
      if (this.walBytes() > this.capBytes) this.checkpoint(connection, "TRUNCATE");
      this.faults?.("checkpoint", "after");
      this.lastError = null;
    } catch (cause) {
      // The log keeps everything that the main file does not have yet: nothing is lost, and the next one tries again.
      this.lastError = cause instanceof Error ? cause.message : String(cause);
    }
    this.report();
  }

  /** Takes the whole log into the file and truncates it, so that what it overwrote is nowhere; false when somebody reads or
   *  writes. */
  truncate(connection: Connection): boolean {
    this.pages = 0;
    try {
      this.faults?.("scrub", "before");
      const truncated = this.checkpoint(connection, "TRUNCATE");
      this.faults?.("scrub", "after");
      this.lastError = null;
      return truncated;
    } catch (cause) {
      this.lastError = cause instanceof Error ? cause.message : String(cause);
      return false;
    }
  }

  health(): NonNullable<StoreHealth["wal"]> {
    const bytes = this.walBytes();
    return {
      bytes,
      capBytes: this.capBytes,
      overCap: bytes > this.capBytes,
      checkpointBlocked: this.blocked || this.lastError !== null,
      lastError: this.lastError,
    };
  }

  /** False when somebody held it back. */
  private checkpoint(connection: Connection, mode: "PASSIVE" | "TRUNCATE"): boolean {
    const [row] = connection.pragma(`wal_checkpoint(${mode})`) as [{ busy: number; log: number; checkpointed: number }];
    this.blocked = row.busy !== 0 || row.checkpointed < row.log;
    return !this.blocked;
  }

  /** Says once that the log grew over its cap, and again only after it had shrunk. */
  private report(): void {
    const { bytes, capBytes, overCap, checkpointBlocked } = this.health();
    if (overCap && !this.reported) this.onDiagnostic({ type: "walOverCap", bytes, capBytes, checkpointBlocked });
    this.reported = overCap;
  }

  private walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
