/** `runledger status`, where rows beside the journal say what no program wrote. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { call, newLedgerFile } from "./command.js";

test("a consumer's name that would colour the screen, and a claim that never ends, are shown as text", async () => {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  await ledger.close();
  const claim = { holder: "host:1", generation: 1, tokenHash: "0".repeat(64), acquiredAt: 1, expiresAt: 2 ** 53 - 1 };
  const database = new Database(file);
  database
    .prepare("INSERT INTO consumers VALUES (char(27) || '[31mmailer', -1, NULL, 1, 1, ?)")
    .run(JSON.stringify(claim));
  database.close();

  const { code, stdout } = await call(["status", "--ledger", file]);

  expect(code).toBe(0);
  expect(stdout.split("\n").at(-2)).toBe(
    "consumer    \\u{1b}[31mmailer before the first event, 1 behind, claimed by host:1 until 9007199254740991 ms since 1970",
  );
});
