/** The raw reader on PostgreSQL shows what is stored, at one position, and says what is wrong with it. */
import { readFileSync, writeFileSync } from "node:fs";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { formatReport, verify } from "../../src/forensic/index.js";
import { content, openLedger, openRawReader } from "../../src/index.js";
import type { RawReader } from "../../src/index.js";
import type { RawEntry } from "../../src/journal/raw-reader.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import { RawSession } from "../../src/store/postgres/raw-session.js";
import { addressOf, dropJournal, freshName, sql } from "./journal.js";
import { startServer } from "./server.js";

const made: string[] = [];
const opened: RawReader[] = [];

afterEach(async () => {
  for (const reader of opened.splice(0)) await reader.close();
  for (const name of made.splice(0)) await dropJournal(name);
});

/** A journal with so many entries, of some streams. */
async function journal(entries: number, data: unknown = "plain"): Promise<string> {
  const name = freshName();
  made.push(name);
  const ledger = await openLedger(addressOf(name));
  const events = Array.from({ length: 20 }, () => ({ type: "log.said", data: { said: data } }));
  for (let written = 1; written < entries; written += events.length)
    await ledger.append(`log/${written % 7}`, events.slice(0, entries - written));
  await ledger.close();
  return name;
}

async function read(name: string): Promise<RawReader> {
  const reader = await openRawReader(addressOf(name));
  opened.push(reader);
  return reader;
}

/** Runs SQL with the guards switched off. */
async function change(text: string): Promise<void> {
  await sql(`SET session_replication_role = replica; ${text}; SET session_replication_role = origin`);
}

test("pages follow one another, whatever their size, and are the same from every side", async () => {
  const reader = await read(await journal(103));
  const whole = await reader.entries(null, 1_000);
  expect(whole.map(({ seq }) => seq)).toEqual(Array.from({ length: 103 }, (_, seq) => seq));

  for (const limit of [1, 7, 103, 104]) {
    const found: RawEntry[] = [];
    for (;;) {
      const page = await reader.entries(found.length === 0 ? null : found.length - 1, limit);
      found.push(...page);
      if (page.length < limit) break;
    }
    expect(found).toEqual(whole);
  }
  expect(await reader.entries(50, 3)).toEqual(whole.slice(51, 54));
  expect(await reader.entries(10, 3)).toEqual(whole.slice(11, 14));
  expect(await reader.entries(102, 3)).toEqual([]);
  expect(await reader.entryCount()).toBe(103);
});

test("what is read does not move while others write", async () => {
  const name = await journal(10);
  const reader = await read(name);
  const ledger = await openLedger(addressOf(name));
  await ledger.append("log/1", [{ type: "log.said", data: {} }]);
  await ledger.close();

  expect(await reader.entries(null, 100)).toHaveLength(10);
  expect(await reader.entryCount()).toBe(10);
});

test("entries come as text, as bytes where text could hide them, and as bytes when asked", async () => {
  const reader = await read(await journal(2, "\ufffd"));
  const [genesis, unsure] = await reader.entries(null, 10);

  expect(typeof genesis?.entry).toBe("string");
  expect(unsure?.entry).toBeInstanceOf(Uint8Array);
  expect(Buffer.from(unsure?.entry as Uint8Array).toString()).toContain('"said":"\ufffd"');
  for (const { entry } of await reader.entries(null, 10, true)) expect(entry).toBeInstanceOf(Uint8Array);
});

describe("A16 numbers beyond 2^53", () => {
  test.each(["stream", "rev", "before", "type", "at", "skew"])("in entries.%s are E_TYPE, exact", async (column) => {
    const name = await journal(10);
    await change(`UPDATE ${name}.entries SET ${column} = 9007199254740993 WHERE seq = 5`);

    const reader = await read(name);
    const report = await verify(reader);

    expect((await reader.entries(4, 1))[0]).toMatchObject({ [column]: 9_007_199_254_740_993n, misfits: column });
    expect(report).toMatchObject({ verdict: "TAMPERED" });
    expect(report.findings[0]).toMatchObject({ code: "E_TYPE", position: 5 });
    expect(() => JSON.stringify(report)).not.toThrow();
    expect(formatReport(report)).toContain("9007199254740993");
  });

  test.each(["9007199254740993", "-5"])("a position %s is E_TYPE, and nothing stops for it", async (position) => {
    const name = await journal(10);
    await change(`UPDATE ${name}.entries SET seq = ${position} WHERE seq = 9`);

    const reader = await read(name);
    const report = await verify(reader);

    expect(await reader.problems()).toMatchObject([{ code: "E_TYPE", where: "entries.seq" }]);
    expect(report).toMatchObject({ verdict: "TAMPERED" });
    expect(() => JSON.stringify(report)).not.toThrow();
  });

  test.each([
    ["types", "id", "id > 1"],
    ["streams", "id", "id = 2"],
    ["streams", "rev", "id = 2"],
    ["streams", "last_seq", "id = 2"],
    ["contents", "n", "true"],
    ["nodes", "n", "true"],
    ["checkpoints", "size", "true"],
    ["folded", "position", "true"],
    ["projections", "version", "true"],
  ])("in %s.%s are found, and the report can be printed", async (table, column, row) => {
    const name = await journal(10);
    const zeros = "decode(repeat('00', 32), 'hex')";
    await change(
      `INSERT INTO ${name}.contents (n, digest) VALUES (1, ${zeros}); INSERT INTO ${name}.nodes VALUES (1, 0, ${zeros});
       INSERT INTO ${name}.checkpoints VALUES (5, 'x'); DELETE FROM ${name}.folded;
       INSERT INTO ${name}.folded VALUES (1, 0, ${zeros}, '[]'); CREATE TABLE ${name}.doc_9 (LIKE ${name}.meta);
       DROP TABLE ${name}.doc_9; UPDATE ${name}.${table} SET ${column} = 9007199254740993 WHERE ${row}`,
    );

    const report = await verify(await read(name), { level: "deep" });

    expect(report.verdict).not.toBe("OK");
    expect(() => JSON.stringify(report)).not.toThrow();
    expect(() => formatReport(report)).not.toThrow();
  });
});

test.each([
  ["contents_plain", "contents", `(n, digest, plain) VALUES (1, $z, $z)`],
  ["contents_pkey", "contents", `(n, digest) VALUES (1, $z)`],
  ["streams_name", "streams", "VALUES (99, 'hidden/1', 1, 5)"],
  ["nodes_pkey", "nodes", "VALUES (1, 0, $z)"],
])("T47 a row that %s hides is E_CORRUPT", async (index, table, row) => {
  const name = await journal(10);
  const ready = (is: boolean): string =>
    `UPDATE pg_catalog.pg_index SET indisready = ${is} WHERE indexrelid = '${name}.${index}'::regclass`;
  await sql(ready(false));
  await sql(`INSERT INTO ${name}.${table} ${row.replaceAll("$z", "decode(repeat('00', 32), 'hex')")}`);
  await sql(ready(true));

  const problems = await (await read(name)).problems();

  expect(problems).toEqual([
    { code: "E_CORRUPT", where: index, message: expect.stringMatching(/must know \d rows of .*, found \d/) as string },
  ]);
});

test("T49 pages that are destroyed are E_CORRUPT, and verifying goes on as far as it can", async () => {
  const server = await startServer({ sync: false });
  try {
    const address = addressOf("damaged", server.url);
    const ledger = await openLedger(address, { projections: [] });
    for (let round = 0; round < 30; round++) {
      const events = Array.from({ length: 10 }, () => ({
        type: "log.said",
        data: { said: content("x".repeat(2_000 + round)) },
      }));
      await ledger.append("log/1", events);
    }
    await ledger.close();
    const client = new pg.Client(server.url);
    await client.connect();
    await client.query("CHECKPOINT");
    const place = async (table: string): Promise<string> => {
      const { rows } = await client.query<{ path: string }>(
        "SELECT current_setting('data_directory') || '/' || pg_relation_filepath($1::regclass) AS path",
        [`damaged.${table}`],
      );
      return rows[0]!.path;
    };
    const files = new Map<string, string>();
    for (const table of ["entries", "contents", "streams", "entries_pkey"]) files.set(table, await place(table));
    await client.end();

    for (const [table, file] of files) {
      await server.kill();
      const sound = readFileSync(file);
      // Pages have 8 KiB; of the entries some are left before the one that is lost.
      const page = table === "entries" ? 2 : 0;
      writeFileSync(file, Buffer.from(sound).fill(0xa5, page * 8_192, (page + 1) * 8_192));
      await server.restart();

      const reader = await openRawReader(address);
      const report = await verify(reader);
      await reader.close();

      expect([table, report.verdict]).toEqual([table, "CORRUPT"]);
      expect(report.findings.map(({ code }) => code)).toContain("E_CORRUPT");
      if (table === "entries") expect(report.checked.entries).toBeGreaterThan(10);
      await server.kill();
      writeFileSync(file, sound);
      await server.restart();
    }
    const reader = await openRawReader(address);
    expect(await verify(reader)).toMatchObject({ verdict: "OK" });
    await reader.close();
  } finally {
    await server.stop();
  }
});

test("a backend that ends between a question and its undoing is STORE_UNAVAILABLE", async () => {
  const place = parsePostgresLocation(addressOf(await journal(1)));
  const session = await RawSession.open(place, { config: place.config, timeoutMs: 1_000 });
  const answer = session.ask(
    async (connection) => {
      // Its end is on its way when the question is answered.
      connection.command("SELECT pg_terminate_backend(pg_backend_pid())").catch(() => {});
    },
    ["SET LOCAL enable_sort = off"],
  );

  await expect(answer).rejects.toMatchObject({ name: "LedgerError", code: "STORE_UNAVAILABLE" });
  await session.close();
});

test("a table that an operator would write anew stays what it was until the reader is closed", async () => {
  const name = await journal(1);
  const ledger = await openLedger(addressOf(name));
  await ledger.append("log/1", [{ type: "log.said", data: { said: content("x") } }]);
  await ledger.close();
  const reader = await read(name);
  const operator = new pg.Client(addressOf(name));
  await operator.connect();
  await operator.query("SET lock_timeout = '200ms'");

  const rewritten = operator.query(`ALTER TABLE ${name}.contents ALTER COLUMN n TYPE bigint USING n + 0`);

  await expect(rewritten).rejects.toMatchObject({ code: "55P03" });
  await operator.end();
  expect(await reader.contents(null, 10)).toHaveLength(1);
  expect((await verify(reader, { level: "deep" })).verdict).toBe("OK");
});
