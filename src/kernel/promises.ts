import { types } from "node:util";

/** What was promised where an answer must be there at once is not waited for. When it is rejected later, nobody else hears
 *  of it, and a rejection that nobody hears of ends the process. */
export function abandon(answer: unknown): void {
  // Not its own `catch`, which may be anything; and nothing is handed on of what it was fulfilled with, which may be a draft
  // that is gone by then: to look at that would be another rejection.
  const hear = (): void => {};
  if (types.isPromise(answer)) void Promise.prototype.then.call(answer, hear, hear);
}

/** Is it a promise, or something that passes for one? A Proxy is not asked. */
export function isThenable(value: unknown): value is object {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || types.isProxy(value))
    return false;
  return "then" in value && typeof value.then === "function";
}
