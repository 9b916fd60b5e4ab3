/** Receipts that the engine recorded, verified deep: as they are, and after somebody edited the file. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { entryId } from "../../src/index.js";
import type { VerifyReport } from "../../src/index.js";
import { withoutGuards } from "../cli/damage.js";
import { describeStores, ledgerPath, open } from "./fixture.js";
import { note, orderEvents, orders, place } from "./orders.js";

const options = { events: [orderEvents], projections: [orders], commands: [place, note] };

/** Six commands with ids, of two clients; one is refused, two are a list. */
async function sell(ledger: Awaited<ReturnType<typeof open>>): Promise<void> {
  for (const order of ["a", "b", "c"]) await ledger.execute(place({ order, total: 3 }), { id: `place ${order}` });
  await ledger.execute(place({ order: "a", total: 3 }), { id: "again" }).catch(() => {});
  await ledger.execute([note({ order: "a", text: "x" }), note({ order: "b", text: "y" })], { id: "n", client: "web" });
  await ledger.execute(note({ order: "c", text: "z" }), { id: "place a", client: "web" });
}

describeStores("receipts", (openOne) => {
  test("of accepted and refused commands, and of lists, are in order", async () => {
    const ledger = await openOne(options);
    await sell(ledger);

    expect(await ledger.verify({ level: "deep" })).toMatchObject({
      verdict: "OK",
      findings: [],
      checked: { receipts: 6, tables: 2, documents: 9 },
    });
  });

  test("stay in order when the salt of one was erased with the contents of its tx", async () => {
    const ledger = await openOne(options);
    await sell(ledger);
    const [noted] = await ledger.readStream("order/c", { from: 2 }).toArray();
    const { $content } = noted!.data["text"] as { $content: string };
    const { contents } = await ledger.status();
    await ledger.erase([$content], { reason: "asked for" });

    expect(contents).toBeGreaterThan(0);
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", checked: { receipts: 6 } });
  });
});

/** A closed file with receipts, and the table that has their places. */
async function file(): Promise<{ readonly path: string; readonly table: string }> {
  const path = ledgerPath();
  const ledger = await open(path, options);
  await sell(ledger);
  await ledger.close();
  const database = new Database(path);
  const id = database.prepare("SELECT id FROM projections WHERE name = 'receipt'").pluck().get();
  database.close();
  return { path, table: `doc_${String(id)}` };
}

async function verifyFile(path: string, from: readonly string[] = []): Promise<VerifyReport> {
  const ledger = await open(path, { ...options, readOnly: true });
  const report = await ledger.verify({ level: "deep", from });
  await ledger.close();
  return report;
}

describe("a file in which somebody edited", () => {
  test.each([
    ["where a receipt stands", "UPDATE doc SET doc = '{\"position\":2}' WHERE key = 'default/place b'", "changed"],
    ["that there is a receipt", "DELETE FROM doc WHERE key = 'default/again'", "missing"],
    ["that there is none", "INSERT INTO doc SELECT 'web/new', seq, doc FROM doc LIMIT 1", "extra"],
  ])("T26 %s is E_RECEIPT, and the journal is in order", async (_, sql, fault) => {
    const { path, table } = await file();
    const database = new Database(path);
    expect(database.prepare(sql.replaceAll(/\bdoc\b(?= SET| WHERE| LIMIT| SELECT)/g, table)).run().changes).toBe(1);
    database.close();

    const report = await verifyFile(path);
    expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null, failures: 1 });
    expect(report.findings).toMatchObject([{ code: "E_RECEIPT", document: { fault, projection: "receipt" } }]);
  });

  test("T26 the result in a receipt's entry is E_ID at that entry", async () => {
    const { path } = await file();
    withoutGuards(path, (database) =>
      database.exec(
        `UPDATE entries SET entry = replace(entry, '"outcome":"accepted"', '"outcome":"accepteD"') WHERE seq = (SELECT min(seq) FROM entries WHERE entry LIKE '%receipt.recorded%')`,
      ),
    );

    const report = await verifyFile(path);
    expect(report).toMatchObject({ verdict: "TAMPERED", failures: 1 });
    expect(report.findings[0]).toMatchObject({ code: "E_ID", stream: "client/default", revision: 1 });
  });

  test("T27 a receipt that was never issued, sealed like the others, is seen by whoever kept a checkpoint", async () => {
    const { path } = await file();
    const kept = await open(path, { ...options, readOnly: true });
    const { note: checkpoint } = await kept.checkpoint();
    await kept.close();
    withoutGuards(path, (database) => {
      const [seq, entry] = database
        .prepare("SELECT seq, entry FROM entries ORDER BY seq DESC LIMIT 1")
        .raw()
        .get() as readonly [number, string];
      const forged = entry
        .replace('"fingerprint":"', '"fingerprint":"')
        .replace(/"fingerprint":"../, '"fingerprint":"00');
      const id = Buffer.from(entryId(forged), "hex");
      database.prepare("UPDATE entries SET entry = ?, id = ? WHERE seq = ?").run(forged, id, seq);
      database.prepare("UPDATE folded SET entry_id = ?").run(id);
      database.prepare("UPDATE projections SET entry_id = ? WHERE position = ?").run(id, seq);
    });

    expect(await verifyFile(path)).toMatchObject({ verdict: "OK" });
    const report = await verifyFile(path, [checkpoint]);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
    expect(report.findings).toMatchObject([{ code: "E_INCONSISTENT" }]);
  });
});
