import { LedgerError } from "../kernel/errors.js";
import { abandon } from "../kernel/promises.js";
import { AbortWatch } from "./abort-watch.js";

/** Waiting for work that others may wait for as well: who gives up is told at once (`ABORTED`), and the work goes on. */
export class Waits {
  private readonly aborts = new AbortWatch<{ readonly reject: (error: LedgerError) => void }>(({ reject }, signal) =>
    reject(givenUp(signal)),
  );

  /** What the work answers, unless the signal is aborted before. */
  for<Answer>(work: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
    if (signal === undefined) return work;
    if (signal.aborted) {
      abandon(work);
      return Promise.reject(givenUp(signal));
    }
    return new Promise((resolve, reject) => {
      const wait = { reject };
      this.aborts.add(wait, signal);
      const end = (): void => this.aborts.delete(wait, signal);
      work.then(resolve, reject).then(end, end);
    });
  }
}

/** Refuses to go on for somebody who gave up. */
export function checkWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw givenUp(signal);
}

function givenUp(signal: AbortSignal): LedgerError {
  return new LedgerError("ABORTED", "the wait for the documents of a projection was given up", {
    cause: signal.reason,
  });
}
