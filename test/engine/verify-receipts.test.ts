/** Receipts that the engine recorded, verified deep: as they are, and after somebody edited the file. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { verifyInclusion } from "../../src/forensic/index.js";
import { entryId } from "../../src/index.js";
import type { Store, VerifyReport } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { withSnapshot } from "../../src/engine/snapshot.js";
import { completedNodes } from "../../src/engine/tree-nodes.js";
import type { ContentRow, EntryRow } from "../../src/journal/store.js";
import { decodeStored } from "../../src/journal/stored.js";
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

/** Copies a journal past every engine into an empty store, with its last entry changed and all of it sealed again. */
async function copyWithLast(from: Store, to: Store, change: (entry: string) => string): Promise<void> {
  const copied = await withSnapshot(from, async (reads) => {
    const before = new Map<string, number>();
    const { seq: last, contents: count } = (await reads.head())!;
    const sealed = (await reads.entries(0, last + 1)).map((stored): EntryRow => {
      const { seq, stream, rev, type, at } = decodeStored(stored).fields;
      const entry = seq === last ? change(stored.entry as string) : (stored.entry as string); // it holds no U+FFFD
      const row = {
        seq,
        id: entryId(entry),
        stream,
        rev,
        before: before.get(stream) ?? null,
        type,
        at,
        skew: 0,
        entry,
      };
      before.set(stream, seq);
      return row;
    });
    return { rows: sealed, contents: await reads.contents(Array.from({ length: count }, (_, n) => n + 1)) };
  });
  await writeOperational(to, 5_000, async (transaction) => {
    if ((await transaction.head()) !== null) return; // a commit without an answer was one after all
    const ids = copied.rows.map(({ id }) => id);
    const nodes = await completedNodes(transaction, 0, ids);
    await transaction.append(copied.rows, copied.contents as readonly ContentRow[], nodes); // none is erased
  });
}

describeStores("receipts", (openOne, openStoreOf) => {
  test("T27 that were never issued, sealed like the others, are seen by whoever kept a checkpoint or a proof", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, options);
    await sell(ledger);
    const { note: checkpoint } = await ledger.checkpoint();
    const kept = await ledger.prove((await ledger.status()).head.position);
    const forgery = await openStoreOf();
    await copyWithLast(store, forgery, (entry) => entry.replaceAll("place a", "place q"));

    const forged = await open(forgery, options);
    expect(await forged.receipt("place q", "web")).toMatchObject({ outcome: "accepted", name: "order.note" });
    expect(await forged.receipt("place a", "web")).toBe(null);
    expect(await forged.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });

    const report = await forged.verify({ level: "deep", from: [checkpoint] });
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
    expect(report.findings).toMatchObject([{ code: "E_INCONSISTENT" }]);
    const proof = await forged.prove(kept.index);
    expect(() => verifyInclusion(proof)).not.toThrow();
    expect(() => verifyInclusion({ ...proof, root: kept.root })).toThrow(
      expect.objectContaining({ code: "PROOF_INVALID" }),
    );
  });

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
