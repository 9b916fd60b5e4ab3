/** Threads that prove ranges of a ledger for `verify`, each with a reader of its own.
 *  Invariants: a thread that is gone rejects what it was asked and everything after; no thread outlives `close`; what a
 *  thread may take of memory has a limit. */
import { Worker } from "node:worker_threads";
import type { EntryRange, RangeProof, RangeWorkers, StartRangeWorkers } from "./forensic/ranges.js";
import { verifyWorkersMax } from "./kernel/limits.js";
import { parseInteger } from "./kernel/members.js";
import { isPostgresAddress, parsePostgresLocation } from "./store/postgres/location.js";
import { parseLocation } from "./store/sqlite/location.js";

/** Entries a range: some 3 MiB of rows, and a room of 0.4 MiB. */
const rangeEntries = 8_192;
const gapEntriesMax = 65_536;
/** Below this a thread takes about as long to start as it saves. */
const entriesMin = 200_000;
/** A page of 512 entries of the largest size takes 64 MiB at most. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 };

/** Starts threads for the ledger at a path or an address when `verify` has enough for them to do: pass it as `workers`. `count` is how
 *  many check entries at the same time, that in which `verify` was called included: with 2 it starts one, with 1 none.
 *  @public */
export function verifyWorkers(location: string, count: number): StartRangeWorkers {
  const place = placeOf(location);
  parseInteger(count, "count", 1, verifyWorkersMax);
  return (entries) => (count === 1 || entries < entriesMin ? null : new Threads(place, count - 1));
}

/** What a thread is told: a path that does not depend on the working directory, or the address as it is. */
function placeOf(location: string): string {
  if (typeof location !== "string" || !isPostgresAddress(location)) return parseLocation(location);
  parsePostgresLocation(location); // refuses
  return location;
}

class Threads implements RangeWorkers {
  readonly count: number;
  readonly rangeEntries: number = rangeEntries;
  readonly gapEntriesMax: number = gapEntriesMax;
  private readonly threads: readonly Thread[];
  private closing: Promise<void> | null = null;

  constructor(location: string, count: number) {
    this.count = count;
    this.threads = Array.from({ length: count }, () => new Thread(location));
  }

  /** Whoever has least to do takes it. */
  prove(range: EntryRange): Promise<RangeProof> {
    return this.threads.reduce((least, each) => (each.waiting < least.waiting ? each : least)).prove(range);
  }

  close(): Promise<void> {
    this.closing ??= Promise.all(this.threads.map((thread) => thread.close())).then(() => {});
    return this.closing;
  }
}

interface Waiting {
  readonly resolve: (proof: RangeProof) => void;
  readonly reject: (reason: Error) => void;
}

class Thread {
  private readonly worker: Worker;
  /** Who waits for an answer, in the order of asking. */
  private readonly asked: Waiting[] = [];
  private readonly ended: Promise<void>;
  private gone: Error | null = null;

  constructor(location: string) {
    const worker = new Worker(new URL("./verify-worker.js", import.meta.url), { workerData: location, resourceLimits });
    this.worker = worker;
    this.ended = new Promise((resolve) => {
      worker.once("exit", (code) => {
        this.end(new Error(`the thread ended with ${code}`));
        resolve();
      });
    });
    worker.on("message", (proof: RangeProof) => this.asked.shift()?.resolve(proof));
    worker.on("messageerror", (error) => this.end(error));
    worker.on("error", (error: Error) => this.end(error));
  }

  get waiting(): number {
    return this.asked.length;
  }

  prove(range: EntryRange): Promise<RangeProof> {
    if (this.gone !== null) return Promise.reject(this.gone);
    this.send(range);
    return new Promise((resolve, reject) => this.asked.push({ resolve, reject }));
  }

  /** Lets it end by itself, after the range that it is at: whoever stops a thread inside SQLite may stop the process. */
  close(): Promise<void> {
    this.end(new Error("the thread was closed"));
    this.send(null);
    return this.ended;
  }

  private send(message: EntryRange | null): void {
    this.worker.postMessage(message); // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread, no window
  }

  private end(reason: Error): void {
    this.gone ??= reason;
    for (const { reject } of this.asked.splice(0)) reject(this.gone);
  }
}
