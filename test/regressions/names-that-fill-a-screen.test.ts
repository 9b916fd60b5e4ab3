/** Notes whose first line, or a signer's name, is nearly all of a megabyte: they were read, and every message and report
 *  about them was as long. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { parseCheckpoint, verifyNote } from "../../src/forensic/index.js";
import { refusalOf } from "../kernel/refusal.js";

const signature = Buffer.alloc(68, 1).toString("base64");
const rest = `1\n${Buffer.alloc(32).toString("base64")}\n`;

test("a checkpoint's first line is read up to 1,024 units, and refused beyond in a short message", () => {
  expect(parseCheckpoint(`${"o".repeat(1_024)}\n${rest}`)).toMatchObject({ size: 1 });
  for (const length of [1_025, 900_000]) {
    const { code, message, details } = refusalOf(() => parseCheckpoint(`${"o".repeat(length)}\n${rest}`));
    expect([code, details]).toMatchObject(["LIMIT_EXCEEDED", { max: 1_024, found: length }]);
    expect(message.length).toBeLessThan(200);
  }
});

test("a signer's name is read up to 1,024 units, and refused beyond in a short message", () => {
  const noteOf = (length: number): string => `text\n\n— ${"n".repeat(length)} ${signature}\n`;
  expect(refusalOf(() => verifyNote(noteOf(1_024), [])).code).toBe("SIGNER_UNKNOWN");
  const { code, message } = refusalOf(() => verifyNote(noteOf(1_025), []));
  expect(code).toBe("LIMIT_EXCEEDED");
  expect(message.length).toBeLessThan(200);
});

test("a ledger that is asked for such a checkpoint says so briefly", async () => {
  const note = `${"o".repeat(900_000)}\n${rest}`;
  const ledger = await openLedger("memory:");

  const { findings } = await ledger.verify({ from: note });

  expect(findings.map(({ code }) => code)).toEqual(["E_CHECKPOINT"]);
  expect(JSON.stringify(findings).length).toBeLessThan(1_000);
  await ledger.close();
});
