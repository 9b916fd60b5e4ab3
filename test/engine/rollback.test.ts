/** A file that was put back from an older copy, by the engine that went on from it: what it cannot know, and who can. */
import { copyFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { forkCheck, verify, verifyNote } from "../../src/forensic/index.js";
import { openLedger, openRawReader } from "../../src/index.js";
import type { LedgerCheckpoint } from "../../src/index.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { signNote } from "../../src/journal/note.js";
import { damage } from "../cli/damage.js";
import { ledgerPath, open } from "./fixture.js";

const [key1 = "", key2 = ""] = [1, 2].map((number) => formatSignerKey("example.com/orders", Buffer.alloc(32, number)));
const [verifier1 = "", verifier2 = ""] = [key1, key2].map((key) => parseSignerKey(key, "key").verifier.text);

/** Appends an event, makes the checkpoint of the head, and closes. */
async function goOn(path: string, note: string, key = key1): Promise<LedgerCheckpoint> {
  const ledger = await openLedger(path, { key });
  await ledger.append("order/1", [{ type: "order.noted", data: { note } }]);
  const made = await ledger.checkpoint();
  await ledger.close();
  return made;
}

/** A ledger of four events, and an older copy of it, of three. */
async function copied(): Promise<{ path: string; older: string; kept: LedgerCheckpoint }> {
  const [path, older] = [ledgerPath(), ledgerPath()];
  for (const note of ["first", "second"]) await goOn(path, note);
  copyFileSync(path, older);
  return { path, older, kept: await goOn(path, "third") };
}

describe("T20 an older copy that was put back", () => {
  test("is in order by itself, and refused by whoever remembers more", async () => {
    const { path, older, kept } = await copied();

    expect(await (await open(older)).verify({ keys: [verifier1] })).toMatchObject({ verdict: "OK", findings: [] });
    await expect(openLedger(older, { key: key1, expectAtLeast: kept.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "entries", expected: 4, found: 3 },
    });
    await (await openLedger(path, { key: key1, expectAtLeast: kept.note })).close();
  });

  test("is seen before anything is signed when only its entries went back", async () => {
    const { path } = await copied();
    damage(path, "DELETE FROM entries WHERE seq = 3");
    damage(path, "UPDATE streams SET rev = 2, last_seq = 2 WHERE last_seq = 3");

    await expect(goOn(path, "other")).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { size: 4 } });
  });
});

describe("T21 an older copy that was put back and gone on from, with the same key", () => {
  test("is refused by whoever remembers the other, and both checkpoints prove who signed for both", async () => {
    const { path, older, kept } = await copied();
    const other = await goOn(older, "another third");

    expect([other.size, other.note === kept.note]).toEqual([4, false]);
    for (const { note } of [kept, other]) expect(verifyNote(note, [verifier1])).toHaveLength(1);
    await expect(openLedger(older, { key: key1, expectAtLeast: kept.note })).rejects.toMatchObject({
      code: "STORE_ROLLED_BACK",
      details: { reason: "root", size: 4 },
    });
    const [a, b] = [await openRawReader(path), await openRawReader(older)];
    const report = await forkCheck(a, b, { keys: [verifier1] });
    for (const reader of [a, b]) await reader.close();
    expect(report).toMatchObject({
      common: { position: 2 },
      equivocation: { size: 4, verified: true, a: kept.note, b: other.note },
      exitCode: 1,
    });
  });
});

describe("T40 the key that was changed from", () => {
  test("signs nothing more, and what it signed all the same is found", async () => {
    const path = ledgerPath();
    await goOn(path, "first");
    const ledger = await openLedger(path, { key: key1 });
    await ledger.changeKey(key2);
    await ledger.close();
    await expect(goOn(path, "second")).rejects.toMatchObject({ code: "KEY_REQUIRED" });
    const { note, size } = await goOn(path, "third", key2);
    const forged = signNote(note.slice(0, note.indexOf("\n\n") + 1), [parseSignerKey(key1, "key")]);
    damage(path, "UPDATE checkpoints SET note = ? WHERE size = ?", forged, size);

    await expect(goOn(path, "fourth", key2)).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { size } });
    const reader = await openRawReader(path);
    const report = await verify(reader, { keys: [verifier1, verifier2] });
    await reader.close();
    expect(report.findings.map(({ code }) => code)).toEqual(["E_KEY_EPOCH"]);
  });

  test("and a change that is missing from the journal leaves nothing that the new key signed explained", async () => {
    const [path, older] = [ledgerPath(), ledgerPath()];
    await goOn(path, "first");
    copyFileSync(path, older);
    const ledger = await openLedger(path, { key: key1 });
    const { note } = await ledger.changeKey(key2);
    await ledger.close();
    const other = await goOn(older, "instead of the change");
    const forged = signNote(other.note.slice(0, other.note.indexOf("\n\n") + 1), [parseSignerKey(key2, "key")]);
    damage(older, "UPDATE checkpoints SET note = ? WHERE size = ?", forged, other.size);

    await expect(goOn(older, "more")).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    const reader = await openRawReader(older);
    const report = await verify(reader, { keys: [verifier1, verifier2], from: note });
    await reader.close();
    expect(report.findings.map(({ code }) => code)).toEqual(expect.arrayContaining(["E_KEY_EPOCH", "E_INCONSISTENT"]));
  });
});
