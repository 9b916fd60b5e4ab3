/** What the face of the run queue looked at before it was checked: options that are null, and dates that run code, ended in an
 *  error of the platform instead of a coded refusal. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";

class OddDate extends Date {
  override getTime(): number {
    throw new Error("looked at");
  }
}

test("claims and times that make no sense are refused with a code, and nothing is written", async () => {
  await using ledger = await openLedger("memory:");
  const { queue } = ledger;
  const before = (await ledger.status()).head;

  for (const call of [
    () => queue.claimNext({ holder: "A" }, null as never),
    () => queue.enqueue({ runId: "r1", claim: { holder: "A" } }, null as never),
    () => queue.enqueue({ runId: "r1", availableAt: new Proxy(new Date(), {}) }),
    () => queue.enqueue({ runId: "r1", availableAt: new Date(NaN) }),
  ])
    await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect((await ledger.status()).head).toEqual(before);
});

test("a date is read as the platform reads it", async () => {
  await using ledger = await openLedger("memory:");
  const availableAt = new OddDate(4_000_000_000_000);

  await ledger.queue.enqueue({ runId: "r1", availableAt });

  expect(await ledger.queue.get("r1")).toMatchObject({ availableAt: 4_000_000_000_000 });
});

test("an id whose fingerprint was erased is answered as it was first, and gives no fence to who asks for no claim", async () => {
  await using ledger = await openLedger("memory:");
  const { queue } = ledger;
  const born = { runId: "r1", input: "secret", claim: { holder: "A", token: "a token of its own" } };
  await queue.enqueue(born, { id: "e1" });
  await ledger.erase([(await queue.get("r1"))!.input!.$content], { reason: "asked for", shared: true });

  expect(await queue.enqueue({ runId: "r2" }, { id: "e1" })).toMatchObject({
    adopted: true,
    fingerprint: "erased",
    fence: null,
  });
});
