/** What SQLite says of a page that is destroyed depends on what it read before, so that a report named another position with
 *  somebody to hear of progress, or with threads beside it, than without. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openLedger, openRawReader } from "../../src/index.js";
import { verify } from "../../src/forensic/index.js";
import { ledgerPath } from "../engine/fixture.js";

test("whichever page is destroyed, the findings are the same with and without somebody to hear of progress", async () => {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append(
    "note/1",
    Array.from({ length: 300 }, (_, n) => ({ type: "note.added", data: { n } })),
  );
  await ledger.close();
  const sound = readFileSync(path);

  for (let page = 1; page * 4_096 < sound.length; page++) {
    const bytes = Buffer.from(sound);
    bytes.fill(255, page * 4_096 + 40, page * 4_096 + 44); // among the pointers to its cells
    writeFileSync(path, bytes);
    const found = [];
    for (const options of [{}, { onProgress: () => {} }]) {
      const reader = await openRawReader(path);
      found.push((await verify(reader, { evidence: false, ...options })).findings);
      await reader.close();
    }
    expect([page, found[1]]).toEqual([page, found[0]]);
  }
});
