/** The one hook that hears of every failure of a worker. Invariant: nothing that it does reaches the worker. */
import { types } from "node:util";

/** What a worker does: looks for work, claims it, renews the claim, runs the handler, settles the item in one of four ways, calls
 *  the hook. @public */
export type WorkerActivity =
  "look" | "claim" | "renew" | "handle" | "complete" | "park" | "release" | "requeue" | "onError";

/** What was being done when something failed. @public */
export interface WorkerTrouble {
  readonly doing: WorkerActivity;
  /** For which item; null before there is one. */
  readonly runId: string | null;
}

/** Hears of every failure of a worker. What it throws, or is rejected with, it is told as well, with `doing: "onError"`; what it
 *  throws at that is dropped. @public */
export type OnWorkerError = (error: unknown, trouble: WorkerTrouble) => unknown;

export class Reports {
  private readonly hook: OnWorkerError;

  constructor(hook: OnWorkerError) {
    this.hook = hook;
  }

  tell(error: unknown, doing: WorkerActivity, runId: string | null = null): void {
    const failed = (thrown: unknown): void => {
      if (doing !== "onError") this.tell(thrown, "onError", runId);
    };
    try {
      const answer = this.hook(error, { doing, runId });
      // An async function fits the type too, and its rejection would end the process.
      if (types.isPromise(answer)) void Promise.prototype.then.call(answer, () => {}, failed);
    } catch (thrown) {
      failed(thrown);
    }
  }
}
