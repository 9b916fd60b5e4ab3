/** What went wrong for the host of a ledger, not for its journal. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import { refusalOf } from "../kernel/refusal.js";

// The hook's promise was dropped with its rejection, which ends a process.
test("an onEvent hook that is async and rejects is dropped like one that throws", async () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", note);
  const ledger = await openLedger("memory:", {
    // oxlint-disable-next-line typescript/no-misused-promises -- an async hook is what the test is about
    onEvent: async () => {
      throw new Error("the hook's own trouble");
    },
  });

  await ledger.append("note/1", [{ type: "note.added" }]);
  await sleep(10);

  process.off("unhandledRejection", note);
  expect(rejections).toEqual([]);
  await ledger.close();
});

// Its pages came from promises that were settled already, so that nothing else ran until the last one.
test("a long reading lets timers and others in between its pages", async () => {
  const ledger = await openLedger("memory:");
  await ledger.append(
    "note/1",
    Array.from({ length: 5_000 }, () => ({ type: "note.added" })),
  );
  let turns = 0;
  let reading = true;
  const turn = (): void => {
    turns++;
    if (reading) setImmediate(turn);
  };
  setImmediate(turn);

  await ledger.read({ kinds: ["order"] }).toArray();

  reading = false;
  expect(turns).toBeGreaterThanOrEqual(5);
  await ledger.close();
});

// Copying bytes that were sent to a worker threw a TypeError.
test("bytes whose buffer was given away are refused with a code", () => {
  const bytes = new Uint8Array(8);
  structuredClone(bytes, { transfer: [bytes.buffer] });

  expect(refusalOf(() => content(bytes)).code).toBe("INVALID_ARGUMENT");
});
