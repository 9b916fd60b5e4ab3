/** What went wrong for the host of a ledger, not for its journal. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

// Each page of rows came from a promise that was settled already: a second of verifying was a second without timers.
test("a verification lets timers and others in between its pages", async () => {
  const directory = mkdtempSync(join(tmpdir(), "runledger-test-"));
  const ledger = await openLedger(join(directory, "state.ledger"));
  await ledger.append(
    "note/1",
    Array.from({ length: 8_000 }, () => ({ type: "note.added" })),
  );
  let turns = 0;
  let verifying = true;
  const turn = (): void => {
    turns++;
    if (verifying) setImmediate(turn);
  };
  setImmediate(turn);

  const report = await ledger.verify();

  verifying = false;
  expect(report.verdict).toBe("OK");
  expect(turns).toBeGreaterThanOrEqual(10);
  await ledger.close();
  rmSync(directory, { recursive: true });
});

// They came out as a TypeError from inside, or were ignored.
test.each([
  [{ onProgress: 5 }, "options.onProgress"],
  [{ signal: {} }, "options.signal"],
])("a verification refuses %j", async (options, path) => {
  const ledger = await openLedger("memory:");
  await expect(ledger.verify(options as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT", details: { path } });
  await ledger.close();
});
