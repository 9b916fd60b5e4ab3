import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { addressOf, dropJournal, freshName } from "../postgres/journal.js";
import { call, jsonLines, newLedgerFile, runledger } from "./command.js";

describe("copy", () => {
  test("takes a ledger from a file into PostgreSQL, and back into another file, as it stands", async () => {
    const [file, back, journal] = [newLedgerFile(), newLedgerFile(), freshName()];
    const address = addressOf(journal);
    try {
      await call(["init", "--ledger", file, "--origin", "example.com/moving"]);
      await call(["append", "--ledger", file, "--stream", "order/7"], { input: '{"total":42}\n{"by":"card"}\n' });
      const told = await runledger(["copy", address, "--ledger", file]);
      expect(told).toMatchObject({ code: 0, stderr: "note: write on in one of the two only\n" });
      expect(told.stdout).toMatch(/^copied 3 events and 0 contents: the head is #2 [0-9a-f]{64}\n$/);
      const again = await call(["copy", back, "--ledger", address, "--json"]);
      expect(jsonLines(again.stdout)).toEqual([
        { entries: 3, contents: 0, erased: 0, head: { position: 2, id: told.stdout.trim().slice(-64) } },
      ]);

      const shown = await Promise.all([file, address, back].map((each) => call(["log", "--ledger", each, "--json"])));
      expect(new Set(shown.map(({ stdout }) => stdout)).size).toBe(1);
      expect(await call(["verify", address, "--deep"])).toMatchObject({ code: 0 });
    } finally {
      await dropJournal(journal);
    }
  });

  test("is refused where a ledger is, and where there is none, and changes nothing", async () => {
    const [file, other] = [newLedgerFile(), newLedgerFile()];
    await call(["init", "--ledger", file]);
    await call(["init", "--ledger", other]);
    const before = readFileSync(other);
    const refused = await call(["copy", other, "--ledger", file]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("STORE_EXISTS")]);
    expect(readFileSync(other).equals(before)).toBe(true);
    expect((await call(["copy", newLedgerFile(), "--ledger", newLedgerFile()])).stderr).toContain("NOT_FOUND");
  });
});
