import { types } from "node:util";

/** What was promised where an answer must be there at once is not waited for. When it is rejected later, nobody else hears
 *  of it, and a rejection that nobody hears of ends the process. */
export function abandon(answer: unknown): void {
  // Not its own `catch`, which may be anything.
  if (types.isPromise(answer)) void Promise.prototype.then.call(answer, undefined, () => {});
}

/** Is it a promise, or something that passes for one? A Proxy is not asked. */
export function isThenable(value: unknown): value is object {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || types.isProxy(value))
    return false;
  return "then" in value && typeof value.then === "function";
}
