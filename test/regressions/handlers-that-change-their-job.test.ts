/** A handler that changed the fence in its hand changed that of the worker: the claim was renewed no more, and the item was not
 *  settled. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { until } from "../api/working.js";

test("what a handler has of its job cannot be changed, and the item is settled", async () => {
  await using ledger = await openLedger("memory:");
  await ledger.queue.enqueue({ runId: "r1" });
  const heard: unknown[] = [];
  ledger.worker({
    queue: {},
    handle({ fence, item }) {
      expect(Reflect.set(fence, "key", "queue/r2")).toBe(false);
      expect(Reflect.set(item, "runId", "r2")).toBe(false);
    },
    onError: (error) => heard.push(error),
  });

  await until(
    async () => (await ledger.queue.get("r1"))!.claim === null && (await ledger.queue.get("r1"))!.generation > 0,
  );
  expect(heard).toEqual([]);
  expect(await ledger.queue.get("r1")).toMatchObject({ status: "done" });
});
