/** The writer: one loop that drains the queue into batches, one commit a batch.
 *  Invariants: an append is acknowledged after its commit and never before; what refuses one changes nothing; a commit
 *  that fails or gives no answer is looked up under a new lock before anybody is told anything, and before any batch that was begun
 *  behind it is decided again; nothing is thrown away in silence. Source: design section 6, decision 0030. */
import { systemClock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import type { AssumedTransaction, StoreReads, StoreTransaction } from "../journal/store.js";
import type { Batch } from "./batch.js";
import { Flight } from "./flight.js";
import { beginWithin, isBusy, isClosed, isPassing, pause } from "./begin.js";
import { Queue } from "./queue.js";
import type { Decided, Queued, Settle } from "./queue.js";
import { Remembered } from "./remembered.js";
import type { RememberedOptions } from "./remembered.js";
import { completedNodes } from "./tree-nodes.js";
import { undo } from "./undo.js";
import type { Diagnostic } from "./types.js";

export interface WriterOptions extends RememberedOptions {
  readonly busyTimeoutMs: number;
  readonly onEvent: (event: Diagnostic) => void;
}

/** What became of one of a batch; told to its caller after the commit. */
type Outcome = { readonly queued: Queued } & Decided;

interface Committed {
  readonly outcomes: readonly Outcome[];
  /** Position of the batch's last entry; −1 when it has none. */
  readonly position: number;
}

const retriesMax = 20;

export class Writer {
  private readonly options: WriterOptions;
  private readonly queue = new Queue();
  private running: Promise<void> | null = null;
  private closed = false;
  private readonly remembered: Remembered;

  constructor(options: WriterOptions) {
    this.options = options;
    this.remembered = new Remembered(options);
  }

  /** Queues what `make` makes; settles when it is durable, or refused. */
  submit<Result>(make: (settle: Settle<Result>) => Queued): Promise<Result> {
    if (this.closed) return Promise.reject(new LedgerError("CLOSED", "the ledger must be open, found it closed"));
    return new Promise<Result>((resolve, reject) => {
      this.queue.add(make({ resolve, reject }));
      this.running ??= this.run();
    });
  }

  /** What waits. */
  waiting(): { readonly commands: number; readonly bytes: number } {
    return { commands: this.queue.size, bytes: this.queue.bytes };
  }

  /** Refuses new appends and waits until the queue is empty. */
  async close(): Promise<void> {
    this.closed = true;
    await this.running;
  }

  private async run(): Promise<void> {
    await immediate();
    let last: Flight | null = null;
    while (this.queue.size > 0 || last !== null) {
      const assumed = this.queue.size > 0 ? (this.options.store.assume?.() ?? null) : null;
      if (assumed !== null || last === null) last = await this.next(assumed, last);
      else {
        await last.done;
        last = null;
      }
      // A turn of the event loop: callers that were just answered get to send their next append into the next batch.
      await immediate();
      await this.options.store.maintain();
    }
    this.running = null;
  }

  /** Runs a batch until the one behind it may begin; null when it has come to its end by then. */
  private async next(assumed: AssumedTransaction | null, before: Flight | null): Promise<Flight | null> {
    const flight = new Flight(assumed, before);
    flight.done = this.runBatch(flight).finally(() => flight.land());
    await flight.left;
    await before?.done;
    return flight.isInTheAir ? flight : null;
  }

  private async runBatch(flight: Flight): Promise<void> {
    const started = monotonic();
    let transaction: StoreTransaction | null = flight.assumed;
    // Where commits overlap, half of what waits goes now, so that one half is decided while the other is written.
    const isFirst = flight.assumed !== null && flight.before?.isInTheAir !== true;
    const countMax = isFirst ? halfOf(this.queue.size) : Infinity;
    if (transaction === null) {
      await this.remembered.readAhead(this.queue.upcoming());
      try {
        const { store, busyTimeoutMs } = this.options;
        transaction = await beginWithin(store, busyTimeoutMs, this.remembered.unknownStreams(this.queue.upcoming()));
      } catch (error) {
        for (const queued of this.queue.takeBatch()) queued.reject(error);
        return;
      }
    }
    const { outcomes, position } = await this.decideAndCommit(flight, transaction, this.queue.takeBatch(countMax));
    const waitedMs = started - (outcomes[0]?.queued.submittedAt ?? started);
    if (waitedMs > 1_000) this.options.onEvent({ type: "stalled", waitedMs, commands: outcomes.length });
    let accepted = 0;
    let entries = 0;
    for (const outcome of outcomes) {
      if ("error" in outcome) {
        outcome.queued.reject(outcome.error);
        continue;
      }
      if (outcome.staged.count > 0) accepted++;
      entries += outcome.staged.count;
      outcome.staged.answer();
    }
    if (accepted > 0)
      this.options.onEvent({
        type: "committed",
        commands: accepted,
        entries,
        position,
        durationMs: monotonic() - started,
      });
  }

  /** May another batch begin on what this one leaves before it is on disk? Not where it changes more than entries and documents. */
  private mayLeave({ entries, erasures, documents }: Batch): boolean {
    return this.options.store.assume !== undefined && entries.length > 0 && erasures.length === 0 && documents.isSteady;
  }

  /** Decides what the source hands out and commits it. Never throws: every append taken has an outcome. */
  private async decideAndCommit(
    flight: Flight,
    first: StoreTransaction,
    firstSource: Iterable<Queued>,
  ): Promise<Committed> {
    let transaction = first;
    let source = firstSource;
    const taken: Queued[] = [];
    for (let attempt = 1; ; attempt++) {
      let batch: Batch | null = null;
      let outcomes: Outcome[] = [];
      let decided = false;
      let asked = false;
      let adopted = false;
      try {
        batch = await this.remembered.startBatch(transaction, attempt === 1 ? this.queue.upcoming() : taken);
        for (const queued of source) {
          if (attempt === 1) taken.push(queued);
          const deciding = queued.decide(batch, transaction);
          // Most appends are decided at once: then nothing waits between one decision and the next.
          outcomes.push({ queued, ...(deciding instanceof Promise ? await deciding : deciding) });
        }
        decided = true;
        if (batch.entries.length > 0 || batch.documents.pending) {
          await write(transaction, batch, this.remembered.treeReads(transaction));
          asked = true;
          const committing = transaction.commit();
          // The next one may begin on it: should it fail, so does that one.
          if (attempt === 1 && this.mayLeave(batch)) {
            this.remembered.adopt(batch);
            adopted = true;
            flight.leave();
          }
          await committing;
        } else {
          if (attempt === 1) await flight.assumed?.check();
          await undo(transaction);
        }
        if (!adopted) this.remembered.adopt(batch);
        this.remembered.settle(batch);
        return { outcomes, position: lastOf(batch) };
      } catch (cause) {
        // A source that was never asked still hands out its batch; one that was is closed, and what it kept stays queued.
        if (attempt === 1) taken.push(...source);
        await undo(transaction);
        await flight.clear();
        // Documents alone, which nobody was promised: whatever became of them, they can be written again.
        const documentsAlone = decided && batch?.entries.length === 0;
        const passes = isBusy(cause) || (documentsAlone && isPassing(cause));
        if (!asked && !passes) {
          await this.giveUp();
          return { outcomes: failed(outcomes, taken, cause), position: -1 };
        }
        // One that was assumed and is not so has written nothing, whatever another process wrote in its place, byte for byte as it may be;
        // and its connection is sound.
        const isVoid = flight.assumed !== null && attempt === 1 && isBusy(cause);
        const found = await this.lookUp(isVoid ? null : batch, !isVoid);
        if (found.committed) {
          if (batch !== null) this.remembered.keep(batch);
          return { outcomes, position: lastOf(batch) };
        }
        const again = found.transaction;
        if (again === null) {
          const told =
            asked && !isVoid ? inDoubt(outcomes, taken, batch, cause, found.cause) : failed(outcomes, taken, cause);
          return { outcomes: told, position: -1 };
        }
        if (!passes || attempt >= retriesMax) {
          await undo(again);
          return { outcomes: failed(outcomes, taken, cause), position: -1 };
        }
        this.options.onEvent({ type: "retried", commands: taken.length, cause });
        transaction = again;
        source = taken;
        outcomes = [];
      }
    }
  }

  /** After a failure before a commit was asked for: nothing was written, and there is nothing to look for. */
  private async giveUp(): Promise<void> {
    this.remembered.forget();
    await this.options.store.reset().catch(() => {}); // whoever comes next is told by its own call
  }

  /** After a commit that failed or gave no answer: takes the lock again and compares the id at the batch's last position, which
   *  covers all of it: others may have begun with the same entry, which says that an area is used for the first time. */
  private async lookUp(
    batch: Batch | null,
    afresh: boolean,
  ): Promise<{ readonly committed: boolean; readonly transaction: StoreTransaction | null; readonly cause?: unknown }> {
    this.remembered.forget();
    const { store, busyTimeoutMs } = this.options;
    const deadline = monotonic() + busyTimeoutMs;
    // Whoever has the lock may be ourselves, as the server knows us: the database is there, and will say what became of it.
    const busyDeadline = deadline + (store.goneHolderMs ?? 0);
    for (;;) {
      let again: StoreTransaction | null = null;
      try {
        if (afresh) await store.reset();
        again = await store.begin();
        const last = batch?.entries.at(-1);
        if (last === undefined) return { committed: false, transaction: again };
        const [stored] = await again.entriesAt([last.seq]);
        if (stored?.id !== last.id) return { committed: false, transaction: again };
        await undo(again);
        return { committed: true, transaction: null };
      } catch (cause) {
        // It may have been lost while it looked, and nobody else can let go of its lock.
        if (again !== null) await undo(again);
        if (isClosed(cause) || monotonic() >= (isBusy(cause) ? busyDeadline : deadline))
          return { committed: false, transaction: null, cause };
        await pause(20);
      }
    }
  }
}

async function write(
  transaction: StoreTransaction,
  batch: Batch,
  tree: Pick<StoreReads, "ids" | "nodes">,
): Promise<void> {
  const { entries, contents, erasures, documents } = batch;
  const [first] = entries;
  if (first !== undefined) {
    const ids = entries.map(({ id }) => id);
    await transaction.append(entries, contents, await completedNodes(tree, first.seq, ids));
  }
  for (const { numbers, position } of erasures) await transaction.erase(numbers, position);
  const head = batch.head();
  const writing = head === null ? undefined : documents.write(transaction, head);
  if (writing !== undefined) await writing;
}

function lastOf(batch: Batch | null): number {
  return batch?.entries.at(-1)?.seq ?? -1;
}

/** What becomes of a batch that was not committed, or of which nobody knows (`error`). Who was refused behind what was staged may
 *  have been refused because of it, which nobody ever saw; it wrote nothing for certain, and is told the cause. */
function failed(
  outcomes: readonly Outcome[],
  taken: readonly Queued[],
  cause: unknown,
  error: unknown = cause,
): Outcome[] {
  const staged = outcomes.findIndex((outcome) => "staged" in outcome && outcome.staged.count > 0);
  return taken.map((queued) => {
    const index = outcomes.findIndex((each) => each.queued === queued);
    const outcome = outcomes[index];
    if (outcome === undefined || !("error" in outcome)) return { queued, error };
    return staged < 0 || index < staged ? outcome : { queued, error: cause };
  });
}

function inDoubt(
  outcomes: readonly Outcome[],
  taken: readonly Queued[],
  batch: Batch | null,
  cause: unknown,
  unreachable: unknown,
): Outcome[] {
  if (batch === null || batch.entries.length === 0) return failed(outcomes, taken, cause);
  const error = new LedgerError(
    "STORE_IN_DOUBT",
    "the commit must be answered, found neither an answer nor a way to ask again",
    {
      details: {
        firstPosition: batch.entries[0]?.seq,
        entries: batch.entries.length,
        unreachable: String(unreachable),
      },
      hint: "read the stream when the store is back: the append is there in whole or not at all",
      cause,
    },
  );
  return failed(outcomes, taken, cause, error);
}

/** Few go together. */
function halfOf(count: number): number {
  return count < 16 ? count : Math.ceil(count / 2);
}

/** Waiting and measuring is the process's own business: the injected clock is for what is written down. */
function monotonic(): number {
  return systemClock.monotonic();
}

function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
