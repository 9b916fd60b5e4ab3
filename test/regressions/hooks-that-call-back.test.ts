/** A redaction that appended to its own ledger was asked about that append too, which it appended, until the stack ended. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { LedgerError } from "../../src/index.js";

test("a redaction that records something is refused, and nothing is written", async () => {
  const inner: Promise<unknown>[] = [];
  const ledger = await openLedger("memory:", {
    redact: (value) => {
      const append = ledger.append("note/inner", [{ type: "note.added", data: {} }]);
      inner.push(append.catch((error: unknown) => (error as LedgerError).code));
      return value;
    },
  });

  const outer = ledger.append("note/outer", [{ type: "note.added", data: { a: 1 } }]);

  await outer;
  expect(await Promise.all(inner)).toEqual(["REDACTION_FAILED"]);
  expect((await ledger.read({ kinds: ["note"] }).toArray()).map(({ stream }) => stream)).toEqual(["note/outer"]);
  await ledger.close();
});
