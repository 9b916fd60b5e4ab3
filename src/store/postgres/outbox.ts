/** What a transaction writes, held back and sent in one go, and how it is begun where that was not sent yet.
 *  Invariants: what begins it goes first, and where that fails nothing else is done; what failed once fails for good. */
import type { DurableStep, FaultSeam } from "../../journal/store.js";
import type { Ask } from "./ask.js";
import type { Connection } from "./connection.js";
import type { Opening } from "./standing.js";

/** What there is to undo. */
export interface Undone {
  /** Was it begun? */
  readonly isOpened: boolean;
  /** Is what it wrote, or failed at, among what is remembered of the journal? */
  readonly isDirty: boolean;
}

/** So many bytes are held back at most, and one write more: whoever writes more sends it bit by bit. */
const bytesMax = 16 * 1024 * 1024;

/** A write, and the step that it is part of. */
interface Held extends Ask {
  readonly step: DurableStep;
}

export interface OutboxOptions {
  readonly connection: Connection;
  readonly faults: FaultSeam | undefined;
  /** What begins the transaction; null when it was begun. */
  readonly opening: Opening | null;
  /** Is told what the statements that begin it have answered. */
  readonly opened: (rows: readonly (readonly unknown[])[], askedAt: number) => void;
}

export class Outbox {
  private readonly options: OutboxOptions;
  private opening: Opening | null;
  /** Streams that are taken for new. */
  private readonly streams: string[] = [];
  private held: Held[] = [];
  private bytes = 0;
  private isDirty = false;
  /** Does it hold the lock, for certain? */
  hasLock: boolean;
  private failed: { readonly cause: unknown } | null = null;

  constructor(options: OutboxOptions) {
    this.options = options;
    this.opening = options.opening;
    this.hasLock = options.opening === null;
  }

  /** Was nothing sent that would have to be undone? */
  get unopened(): boolean {
    return this.opening !== null;
  }

  /** Is more held back than is good? */
  get isFull(): boolean {
    return this.bytes > bytesMax;
  }

  /** Takes streams for new: what begins it fails where they are not. */
  takeForNew(streams: readonly string[]): void {
    this.streams.push(...streams);
  }

  /** What there is to undo. */
  get undone(): Undone {
    return { isOpened: !this.unopened, isDirty: this.isDirty || this.failed !== null };
  }

  hold(held: Held): void {
    this.isDirty = true;
    this.held.push(held);
    for (const value of held.values)
      if (typeof value === "string" || value instanceof Uint8Array) this.bytes += value.length;
  }

  /** Sends what is held back; undefined when there is nothing. */
  flush(): Promise<void> | undefined {
    this.require();
    if (this.held.length === 0 && this.opening === null) return undefined;
    return this.send();
  }

  /** The first thing that failed stands for what fails behind it. */
  blame(cause: unknown): unknown {
    return (this.failed ??= { cause }).cause;
  }

  private require(): void {
    if (this.failed !== null) throw this.failed.cause;
  }

  /** Sent when this returns. */
  private send(): Promise<void> {
    const { connection, faults, opened } = this.options;
    const { held } = this;
    const askedAt = performance.now();
    const opening = this.opening?.(this.streams) ?? [];
    this.opening = null;
    this.held = [];
    this.bytes = 0;
    const sending = faults === undefined ? connection.together([...opening, ...held]) : this.sendOneByOne(held, faults);
    return sending.then(
      (rows) => {
        if (opening.length === 0) return;
        this.hasLock = true;
        opened(rows, askedAt);
      },
      (cause: unknown) => {
        throw this.blame(cause);
      },
    );
  }

  /** The steps of a transaction that was begun. */
  private async sendOneByOne(held: readonly Held[], faults: FaultSeam): Promise<never[]> {
    for (const { step, statement, values } of held) {
      faults(step, "before");
      await this.options.connection.together([{ statement, values }]);
      faults(step, "after");
    }
    return [];
  }
}
