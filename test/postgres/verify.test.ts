/** The verifier on PostgreSQL: the same report as on SQLite for the same journal, and whatever a superuser changes by SQL, with
 *  the guards switched off, is found. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { verify } from "../../src/forensic/index.js";
import type { VerifyLevel, VerifyReport } from "../../src/forensic/index.js";
import { content, defineEvents, openLedger, openRawReader } from "../../src/index.js";
import type { ContentReference } from "../../src/index.js";
import { formatSignerKey } from "../../src/journal/note-keys.js";
import { documentTable, tables } from "../../src/store/postgres/schema.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { runChild } from "../processes/child.js";
import { addressOf, dropJournal, freshName, sql } from "./journal.js";

const orders = defineEvents("order", { open: true }, { "order.placed": {} });
const totals = defineProjection<{ total: number }>()({
  name: "totals",
  version: 1,
  indexes: { total: ({ total }) => [total] },
  on: {
    "order.placed": { key: ({ stream }) => stream, apply: (_, { data }) => ({ total: data["total"] as number }) },
  },
});
const definitions = { events: [orders], projections: [totals] };

/** A journal of some 340 events: tx of several, a stream longer than a page, contents, one of them erased, causes, documents,
 *  a consumer, three signed checkpoints. The same bytes on each store. */
async function fill(location: string): Promise<void> {
  let drawn = 0;
  const ledger = await openLedger(location, {
    ...definitions,
    clock: manualClock(),
    origin: "testing/journals",
    key: formatSignerKey("testing/journals", Buffer.alloc(32, 1)),
    testing: { randomBytes: (size) => Buffer.alloc(size, (drawn = (drawn + 1) % 251)) },
  });
  const placed = await ledger.append("order/1", [{ type: "order.placed", data: { total: 1 } }], { actor: "ann" });
  const cause = { position: placed.position, id: placed.ids[0] ?? "" };
  let noted = 0;
  for (let round = 0; round < 28; round++) {
    const lines = Array.from({ length: 10 }, (_, line) => ({ type: "log.said", data: { line, round } }));
    await ledger.append("log/long", lines, round % 4 === 1 ? { cause } : {});
    if (round % 4 === 0) {
      const { position } = await ledger.append(`note/${round}`, [
        { type: "note.written", data: { text: content(`note ${round}`), long: content("x".repeat(2_000 + round)) } },
        { type: "note.read" },
      ]);
      if (round === 4) noted = position - 1;
    }
    if (round === 9 || round === 20) await ledger.checkpoint();
  }
  await ledger.append("log/odd", [{ type: "log.said", data: { text: "\ufffd" } }]);
  await ledger.append("order/2", [{ type: "order.placed", data: { total: 2 } }]);
  await ledger.projection(totals).get("order/1");
  const [note] = await ledger.read({ from: noted, limit: 1 }).toArray();
  await ledger.erase([(note!.data["text"] as unknown as ContentReference).$content], { reason: "asked for" });
  for await (const _ of ledger.subscribe({ consumer: "mailer", from: "start" })) break;
  await ledger.checkpoint();
  await ledger.close();
}

async function verified(location: string, level: VerifyLevel = "deep"): Promise<VerifyReport> {
  const reader = await openRawReader(location);
  try {
    return await verify(reader, { level, ...definitions });
  } finally {
    await reader.close();
  }
}

let name = "";
let file = "";

beforeAll(async () => {
  name = freshName();
  file = join(mkdtempSync(join(tmpdir(), "runledger-test-")), "state.ledger");
  await fill(addressOf(name));
  await fill(file);
});

afterAll(async () => {
  rmSync(dirname(file), { recursive: true, force: true });
  await dropJournal(name);
});

describe("the report", () => {
  test.each(["quick", "full", "deep"] as const)("at level %s is that on SQLite for the same journal", async (level) => {
    const { location, evidence, ...report } = await verified(addressOf(name), level);
    const { location: _, evidence: files, ...expected } = await verified(file, level);

    expect(report).toEqual(expected);
    expect(report.verdict).toBe("OK");
    expect(location).toMatch(/^postgres:\/\/[^@]+journal=/);
    expect(files.files).not.toEqual([]);
    expect(evidence).toEqual({ files: [], unchanged: true });
  });
});

test("threads with readers of their own give the same report", async () => {
  const { code, stderr, lines } = await runChild("postgres-verifier.mjs", [addressOf(name)]);
  expect([code, stderr]).toEqual([0, ""]);
  const { proved, report } = JSON.parse(lines.at(-1)!) as { proved: number; report: VerifyReport };

  expect(proved).toBeGreaterThan(2);
  expect(report).toEqual(JSON.parse(JSON.stringify(await verified(addressOf(name), "full"))));
});

/** One change of each column that is evidence, or derived from it: what is set, in which row, and what is found first. */
const changes: Readonly<Record<string, readonly [change: string, row: string, code: string]>> = {
  "meta.key": ["key = 'other'", "key = 'schema'", "E_SCHEMA"],
  "meta.value": ["value = 'runledger/9'", "key = 'schema'", "E_SCHEMA"],
  "types.id": ["id = 99", "id = 2", "E_COLUMN"],
  "types.name": ["name = 'log.sung'", "name = 'log.said'", "E_COLUMN"],
  "streams.id": ["id = 99", "id = 2", "E_COLUMN"],
  "streams.name": ["name = 'log/short'", "name = 'log/long'", "E_COLUMN"],
  "streams.rev": ["rev = rev + 1", "name = 'log/long'", "E_COLUMN"],
  "streams.last_seq": ["last_seq = last_seq - 1", "name = 'log/long'", "E_COLUMN"],
  "entries.seq": ["seq = 100000", "seq = 150", "E_SEQ_GAP"],
  "entries.id": ["id = decode(repeat('ab', 32), 'hex')", "seq = 150", "E_ID"],
  "entries.stream": ["stream = 1", "seq = 150", "E_COLUMN"],
  "entries.rev": ["rev = rev + 1", "seq = 150", "E_COLUMN"],
  "entries.before": ["before = before - 1", "seq = 150", "E_COLUMN"],
  "entries.type": ["type = 1", "seq = 150", "E_COLUMN"],
  "entries.at": ["at = at + 1", "seq = 150", "E_COLUMN"],
  "entries.skew": ["skew = -1", "seq = 150", "E_COLUMN"],
  "entries.entry": ["entry = replace(entry, '\"line\":', '\"lime\":')", "seq = 150", "E_ID"],
  "stream_pages.stream": ["stream = 99", "page = 0", "E_COLUMN"],
  "stream_pages.page": ["page = 7", "page = 0", "E_COLUMN"],
  "stream_pages.seqs": ["seqs = set_byte(seqs, 100, 77)", "page = 0", "E_COLUMN"],
  "contents.n": ["n = 99", "n = 5", "E_CONTENT_MISSING"],
  "contents.digest": ["digest = decode(repeat('ab', 32), 'hex')", "n = 5", "E_COLUMN"],
  "contents.media": ["media = 'text/html'", "n = 5", "E_CONTENT_DIGEST"],
  "contents.salt": ["salt = decode(repeat('ab', 32), 'hex')", "n = 5", "E_CONTENT_DIGEST"],
  "contents.plain": ["plain = decode(repeat('ab', 32), 'hex')", "n = 4", "E_ERASURE"],
  "contents.erased": ["erased = 7", "erased IS NOT NULL", "E_ERASURE"],
  "contents.bytes": ["bytes = 'x'", "n = 5", "E_CONTENT_DIGEST"],
  "nodes.level": ["level = 3", "n = 0", "E_CACHE"],
  "nodes.n": ["n = 7", "n = 0", "E_CACHE"],
  "nodes.hash": ["hash = decode(repeat('ab', 32), 'hex')", "n = 0", "E_CACHE"],
  "checkpoints.size": ["size = size - 1", "true", "E_COLUMN"],
  "checkpoints.note": ["note = replace(note, 'testing/journals', 'testing/others')", "true", "E_CHECKPOINT_ORIGIN"],
  "projections.id": ["id = 99", "name = 'totals'", "E_SCHEMA"],
  "projections.name": ["name = 'other'", "name = 'totals'", "W_PROJECTION_UNKNOWN"],
  "projections.version": ["version = 9", "name = 'totals'", "W_PROJECTION_UNKNOWN"],
  "projections.indexes": ["indexes = '[]'", "name = 'totals'", "E_SCHEMA"],
  "projections.status": ["status = 'failed'", "name = 'totals'", "E_PROJECTION"],
  "projections.position": ["position = 3", "name = 'totals'", "E_PROJECTION"],
  "projections.entry_id": ["entry_id = decode(repeat('ab', 32), 'hex')", "name = 'totals'", "E_PROJECTION"],
  "projections.error": ["error = 'x'", "name = 'totals'", "E_PROJECTION"],
  "folded.position": ["position = 3", "true", "E_PROJECTION"],
  "folded.entry_id": ["entry_id = decode(repeat('ab', 32), 'hex')", "true", "E_PROJECTION"],
  "folded.tables": ["tables = '[99]'", "true", "E_PROJECTION"],
  "doc_1.key": ["key = 'order/9'", "key = 'order/1'", "E_PROJECTION"],
  "doc_1.seq": ["seq = 3", "key = 'order/1'", "E_PROJECTION"],
  "doc_1.index_0": ["index_0 = 'x'", "key = 'order/1'", "E_PROJECTION"],
  "doc_1.doc": ["doc = replace(doc, '1', '7')", "key = 'order/1'", "E_PROJECTION"],
};

/** The row that is locked has one possible value; consumers are operational, and no evidence of anything. */
const noEvidence = /^(head|consumers)\.|^folded\.one$/;

describe("a column that somebody changed", () => {
  test("all of them are tried", () => {
    const columns = [...tables, documentTable(1, 1)].flatMap((table) =>
      table.columns.map((column) => `${table.name}.${column.name}`),
    );

    expect(Object.keys(changes).sort()).toEqual(columns.filter((column) => !noEvidence.test(column)).sort());
  });

  test.each(Object.entries(changes))("%s is found", async (column, [change, row, code]) => {
    const table = column.split(".")[0]!;

    const report = await whileChanged(table, `UPDATE ${name}.${table} SET ${change} WHERE ${row}`);

    expect(report.findings[0]?.code).toBe(code);
  });
});

/** Changes a table as a superuser who switches the guards off, verifies, and puts back what was there. */
async function whileChanged(table: string, change: string): Promise<VerifyReport> {
  const off = "SET session_replication_role = replica";
  const on = "SET session_replication_role = origin";
  await sql(`CREATE TEMPORARY TABLE kept AS TABLE ${name}.${table}`);
  try {
    await sql(`${off}; ${change}; ${on}`);
    return await verified(addressOf(name));
  } finally {
    await sql(`${off}; TRUNCATE ${name}.${table}; INSERT INTO ${name}.${table} TABLE kept; ${on}; DROP TABLE kept`);
  }
}
