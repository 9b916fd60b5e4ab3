import { types } from "node:util";

/** What was promised where an answer must be there at once is not waited for. When it is rejected later, nobody else hears
 *  of it, and a rejection that nobody hears of ends the process. */
export function abandon(answer: unknown): void {
  // Not its own `catch`, which may be anything.
  if (types.isPromise(answer)) void Promise.prototype.then.call(answer, undefined, () => {});
}
