/** What a worker is told, and how it is checked. */
import { constants } from "node:os";
import { invalid, limit } from "../kernel/errors.js";
import { exclusionsMax, leaseMsMax, workerConcurrencyMax } from "../kernel/limits.js";
import { checkMembers, isList, parseInteger } from "../kernel/members.js";
import { parseLabel, parseRunId } from "../kernel/names.js";
import type { HandleJob } from "./job.js";
import type { OnWorkerError } from "./worker-reports.js";
import { parseRetry } from "./worker-retry.js";
import type { RetryOptions, RetryPlan } from "./worker-retry.js";

/** Which items of the run queue to work on. @public */
export interface WorkerQueueOptions {
  /** Runs that are left out, at most 1,000 together with what the worker has in hand. */
  readonly exclude?: readonly string[];
}

/** How to work. @public */
export interface WorkerOptions {
  /** Works on the run queue; `{}` for whatever is there. */
  readonly queue: WorkerQueueOptions;
  /** Does the work of one item. The item is completed when it returns; when it throws, it is tried again later (`retry`). The
   *  signal, `job.signal` as well, is aborted when the work is to be ended, and its reason says why: `FENCED`, the claim was lost and nothing
   *  that is written under it is accepted any more; `ABORTED` with `details.why`, `"cancelled"` (somebody asked for it; the
   *  item is completed when the handler ends) or `"drained"` (the worker stops; the item is given back when the handler ends,
   *  also when it returns, for nobody knows whether it was done: one that was says `job.complete()`). */
  readonly handle: HandleJob;
  /** Hears of every failure, once, and of what was being done: of the store, of claims that were lost, of handlers, of this hook itself. The
   *  worker goes on whatever it hears of. */
  readonly onError: OnWorkerError;
  /** Who claims: a label of 1 to 128 units, by which affine items are found. Default: host and process. */
  readonly holder?: string;
  /** How many items at once, 1 to 256. Default 1. */
  readonly concurrency?: number;
  /** How long others wait for an item when this process dies, 1 ms to 24 h. It is renewed at half of that. Default 30,000. */
  readonly leaseMs?: number;
  /** What becomes of an item whose handler threw. */
  readonly retry?: RetryOptions;
  /** How often to look for work at least, 1 ms to 24 h. Commits, of other processes too, and due times are noticed without it.
   *  Default 1,000. */
  readonly pollMs?: number;
  /** How long what is in hand may go on when the worker stops, 0 to 24 h, in ms. Default 10,000. */
  readonly drainMs?: number;
  /** Signals of the process at which the worker stops, such as `["SIGTERM"]`. Default none: they are the host's. Whoever names one has
   *  used it up, as with every listener: the process ends when nothing keeps it alive, or at the second one. */
  readonly signals?: readonly string[];
}

/** `WorkerOptions`, checked and complete. */
export interface WorkerPlan extends Required<Omit<WorkerOptions, "queue" | "retry">> {
  readonly exclude: readonly string[];
  readonly retry: RetryPlan;
}

/** How to stop. @public */
export interface WorkerStopOptions {
  /** How long what is in hand may go on, 0 to 24 h, in ms. Default: the worker's `drainMs`. */
  readonly drainMs?: number;
}

const optionNames = [
  "queue",
  "handle",
  "onError",
  "holder",
  "concurrency",
  "leaseMs",
  "retry",
  "pollMs",
  "drainMs",
  "signals",
];
const dayMs = 24 * 60 * 60 * 1000;
/** Nobody hears of these. */
const unheard: readonly string[] = ["SIGKILL", "SIGSTOP"];

export function parseWorkerOptions(options: WorkerOptions, holderDefault: string): WorkerPlan {
  checkMembers(options, "options", optionNames);
  const { handle, onError, holder = holderDefault, concurrency = 1, leaseMs = 30_000 } = options;
  const { retry = {}, pollMs = 1_000, drainMs = 10_000, signals = [] } = options;
  checkMembers(options.queue, "options.queue", ["exclude"]);
  if (typeof handle !== "function") throw invalid("options.handle", "a function", handle);
  if (typeof onError !== "function") throw invalid("options.onError", "a function", onError);
  parseInteger(concurrency, "options.concurrency", 1, workerConcurrencyMax);
  const { exclude = [] } = options.queue;
  if (!isList(exclude)) throw invalid("options.queue.exclude", "a list of run ids", exclude);
  const left = exclusionsMax - concurrency;
  if (exclude.length > left) throw limit("options.queue.exclude", "run ids", left, exclude.length);
  return {
    handle,
    onError,
    holder: parseLabel(holder, "options.holder"),
    concurrency,
    leaseMs: parseInteger(leaseMs, "options.leaseMs", 1, leaseMsMax),
    pollMs: parseInteger(pollMs, "options.pollMs", 1, dayMs),
    drainMs: parseDrain(drainMs),
    signals: parseSignals(signals),
    exclude: Array.from(exclude, (each, index) => parseRunId(each, `options.queue.exclude[${index}]`)),
    retry: parseRetry(retry, "options.retry"),
  };
}

/** Parses `drainMs`. */
export function parseDrain(drainMs: unknown): number {
  return parseInteger(drainMs, "options.drainMs", 0, dayMs);
}

function parseSignals(signals: unknown): readonly string[] {
  if (!isList(signals)) throw invalid("options.signals", "a list of signals", signals);
  return Array.from(signals, (signal, index) => {
    if (typeof signal !== "string" || !Object.hasOwn(constants.signals, signal) || unheard.includes(signal))
      throw invalid(`options.signals[${index}]`, 'a signal that a process can hear, such as "SIGTERM"', signal);
    return signal;
  });
}
