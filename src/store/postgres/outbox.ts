/** The writes of one transaction, held back and sent in one go; before the first of them, where the transaction was assumed (decision
 *  0030), the statements that begin it.
 *  Invariants: the statements that begin a transaction are sent before all its others, and where one of them fails the server does
 *  nothing behind it; after its first failure a transaction sends nothing more. */
import type { DurableStep, FaultSeam } from "../../journal/store.js";
import type { Ask } from "./ask.js";
import type { Connection } from "./connection.js";
import type { Opening } from "./standing.js";

/** What a transaction leaves behind when it ends without a COMMIT. */
export interface Undone {
  /** Was BEGIN sent? Then the server needs a ROLLBACK. */
  readonly isOpened: boolean;
  /** Did it hold back a write, or fail? Then the writer's memory (streams, types) shows what will not be committed, and is dropped. */
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
  /** Makes the statements that begin the transaction; null when it was begun by others. */
  readonly opening: Opening | null;
  /** Is told the rows of the statements that began the transaction, and when they were sent. */
  readonly opened: (rows: readonly (readonly unknown[])[], askedAt: number) => void;
}

export class Outbox {
  private readonly options: OutboxOptions;
  /** Null once it was sent. */
  private opening: Opening | null;
  /** Streams that are taken for new: the guard fails when one is there. */
  private readonly streams: string[] = [];
  private held: Held[] = [];
  private bytes = 0;
  private isDirty = false;
  /** Has the server said that the transaction holds the lock? One that may not have come to the lock yet can still come there when its
   *  connection is lost. */
  hasLock: boolean;
  private failed: { readonly cause: unknown } | null = null;

  constructor(options: OutboxOptions) {
    this.options = options;
    this.opening = options.opening;
    this.hasLock = options.opening === null;
  }

  /** Is the transaction only assumed, with nothing sent yet? */
  get unopened(): boolean {
    return this.opening !== null;
  }

  /** Is more held back than is good? */
  get isFull(): boolean {
    return this.bytes > bytesMax;
  }

  /** Takes streams for new, before anything is sent. */
  takeForNew(streams: readonly string[]): void {
    this.streams.push(...streams);
  }

  /** What is to be undone if the transaction ends here. */
  get undone(): Undone {
    return { isOpened: !this.unopened, isDirty: this.isDirty || this.failed !== null };
  }

  /** Keeps a write until the next `flush`. */
  hold(held: Held): void {
    this.isDirty = true;
    this.held.push(held);
    for (const value of held.values)
      if (typeof value === "string" || value instanceof Uint8Array) this.bytes += value.length;
  }

  /** Sends what begins the transaction, if that was not sent, and all writes held back; undefined when there is neither. */
  flush(): Promise<void> | undefined {
    this.require();
    if (this.held.length === 0 && this.opening === null) return undefined;
    return this.send();
  }

  /** Answers the first failure of the transaction, which is this one if there was none: later ones only follow from it. */
  blame(cause: unknown): unknown {
    return (this.failed ??= { cause }).cause;
  }

  private require(): void {
    if (this.failed !== null) throw this.failed.cause;
  }

  /** Everything is sent when this returns; it resolves with the answers. */
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

  /** For tests: each write by itself, between two calls of the seam. Such a transaction has waited for the lock. */
  private async sendOneByOne(held: readonly Held[], faults: FaultSeam): Promise<never[]> {
    for (const { step, statement, values } of held) {
      faults(step, "before");
      await this.options.connection.together([{ statement, values }]);
      faults(step, "after");
    }
    return [];
  }
}
