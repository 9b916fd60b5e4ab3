/** What a signal behind an append did to the ledger and to its host.
 *  Notation: a append; a/s append behind the signal s; ✗ refused; w what was written. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { AppendOptions } from "../../src/index.js";

// a/5✗ a w: a a. The append was queued before its signal was listened to; refused, it was written with the next one.
test.each([5, "stop", {}, { aborted: false }, null, new Proxy(new AbortController().signal, {})])(
  "an append whose signal is none is refused and leaves nothing behind: %o",
  async (signal) => {
    const ledger = await openLedger("memory:");
    const options = { signal } as unknown as AppendOptions; // what the types forbid

    await expect(ledger.append("note/1", [{ type: "note.added" }], options)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { path: "options.signal" },
    });
    expect(() => ledger.read({ signal: signal as AbortSignal })).toThrow("options.signal must be an AbortSignal");
    await ledger.append("note/2", [{ type: "note.added" }]);

    expect((await ledger.status()).size).toBe(2);
    expect(await ledger.readStream("note/1").toArray()).toEqual([]);
    await ledger.close();
  },
);

// a/s a/s a/s … Each append left a listener on the signal, and with it all that it had carried.
test("a signal that outlives its appends is not held on to", async () => {
  const ledger = await openLedger("memory:");
  const { signal } = new AbortController();

  await Promise.all(Array.from({ length: 100 }, () => ledger.append("note/1", [{ type: "note.added" }], { signal })));

  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  await ledger.close();
});

// a/s a/s a/t s! w: t. Many appends behind one signal are given up together, and nobody else's.
test("one abort gives up every append that waits behind it", async () => {
  const ledger = await openLedger("memory:");
  const [stopped, other] = [new AbortController(), new AbortController()];
  const append = (signal: AbortSignal) => ledger.append("note/1", [{ type: "note.added" }], { signal });

  const given = Array.from({ length: 20 }, () => append(stopped.signal));
  const kept = append(other.signal);
  await Promise.resolve();
  expect(getEventListeners(stopped.signal, "abort")).toHaveLength(1);
  stopped.abort();

  for (const each of await Promise.allSettled(given)) expect(each).toMatchObject({ reason: { code: "ABORTED" } });
  expect((await kept).position).toBe(1);
  await ledger.close();
});
