/** Handlers that throw what runs code when it is looked at: the code threw inside the worker, whose hand was gone for good, and
 *  the process ended by a rejection that nobody heard. */
import { expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import { until } from "../api/working.js";

const explode = (): never => {
  throw new Error("looked at");
};
const thrown: readonly [string, () => Error][] = [
  ["an error whose name cannot be read", () => Object.defineProperty(new Error("odd"), "name", { get: explode })],
  ["an error whose cause cannot be read", () => Object.defineProperty(new Error("odd"), "cause", { get: explode })],
  [
    "an object whose prototype cannot be read",
    () => Object.create(new Proxy({}, { getPrototypeOf: explode })) as Error,
  ],
  ["a refusal without details", () => Object.assign(Object.create(LedgerError.prototype) as Error, { code: "FENCED" })],
];

test.each(thrown)("%s is heard, and the worker goes on", async (_, make) => {
  await using ledger = await openLedger("memory:");
  const [first, second] = [make(), make()];
  const heard: unknown[] = [];
  let calls = 0;
  const worker = ledger.worker({
    queue: {},
    // The second one when it is told to end.
    handle: (_job, signal) =>
      new Promise((_resolve, reject) => {
        if (++calls === 1) reject(first);
        else signal.addEventListener("abort", () => reject(second));
      }),
    onError: (error) => heard.push(error),
    retry: { baseMs: 60_000 },
  });
  await ledger.queue.enqueue({ runId: "r1" });
  await ledger.queue.enqueue({ runId: "r2" });
  await until(() => calls === 2);

  await worker.stop({ drainMs: 1 });

  expect(heard.map((error) => [first, second].indexOf(error as Error))).toEqual([0, 1]);
  expect(await ledger.queue.get("r1")).toMatchObject({ status: "queued", failures: 1 });
  expect(await ledger.queue.get("r2")).toMatchObject({ status: "parked", failures: 0 });
});
