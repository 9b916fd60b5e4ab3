import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { abandon } from "../../src/kernel/promises.js";

/** What nobody heard of while something was abandoned: it would end the process. */
async function unheard(answer: () => unknown): Promise<unknown[]> {
  const found: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) => found.push(reason));
  try {
    abandon(answer());
    await setImmediate();
    await setImmediate();
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other);
  }
  return found;
}

test("A18 a promise that nobody waits for ends no process: rejected, or fulfilled with what is gone by then", async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  const draft = Promise.resolve(proxy);
  revoke();

  expect(await unheard(() => Promise.reject(new Error("too late")))).toEqual([]);
  expect(await unheard(() => draft)).toEqual([]);
  expect(await unheard(() => 7)).toEqual([]);
});
