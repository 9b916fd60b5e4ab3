/** The attacks on real files: a second connection, the sqlite3 shell where there is one, and bytes of the file itself. */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { formatReport, verify } from "../../src/forensic/index.js";
import type { VerifyOptions, VerifyReport } from "../../src/forensic/index.js";
import { content, defineEvents, openLedger, openRawReader } from "../../src/index.js";
import { entryId } from "../../src/journal/entry.js";
import { formatSignerKey } from "../../src/journal/note-keys.js";
import { LedgerError } from "../../src/kernel/errors.js";
import type { RawReader } from "../../src/journal/raw-reader.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { emptyDirectory } from "../store/place.js";
import { damage } from "../cli/damage.js";
import { codesOf } from "./journal.js";

let template = "";

/** A closed ledger of some 330 events: tx of several, a stream longer than a page, contents, causes, an area, three signed
 *  checkpoints. */
beforeAll(async () => {
  const directory = execFileSync("mktemp", ["-d"]).toString().trim();
  template = join(directory, "state.ledger");
  const clock = manualClock();
  const ledger = await openLedger(template, {
    clock,
    origin: "testing/files",
    key: formatSignerKey("testing/files", Buffer.alloc(32, 1)),
    events: [defineEvents("order", { open: true }, { "order.placed": {} })],
  });
  const placed = await ledger.append("order/1", [{ type: "order.placed", data: { total: 1 } }], { actor: "ann" });
  const cause = { position: placed.position, id: placed.ids[0] ?? "" };
  for (let line = 0; line < 280; line++) {
    await ledger.append(
      "log/long",
      [{ type: "log.said", data: { line, text: "é".repeat(line % 3) } }],
      line % 40 === 9 ? { cause } : {},
    );
    if (line % 40 === 19)
      await ledger.append("note/1", [
        { type: "note.written", data: { text: content(`note ${line}`), long: content("x".repeat(2_000)) } },
        { type: "note.read" },
        { type: "note.read" },
      ]);
    if (line === 90 || line === 200) await ledger.checkpoint();
  }
  await ledger.append("log/odd", [{ type: "log.said", data: { text: "\ufffd" } }]);
  await ledger.checkpoint();
  await ledger.close();
  return () => execFileSync("rm", ["-r", directory]);
});

function fresh(): string {
  const file = join(emptyDirectory(), "state.ledger");
  copyFileSync(template, file);
  return file;
}

async function verifyFile(file: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const reader = await openRawReader(file);
  try {
    return await verify(reader, options);
  } finally {
    await reader.close();
  }
}

/** What is said of the rows; the stored checkpoints behind a changed entry say it again. */
function codesOfRows(report: VerifyReport): string[] {
  return codesOf(report).filter((code) => code !== "E_ROOT");
}

/** The places that are tried: the second, the middle, the edge of a page, the last but one. */
const places = [1, 150, 255, 256, 300];

test("the file that is attacked is in order before, and the same after", async () => {
  const file = fresh();
  const before = readFileSync(file);
  const report = await verifyFile(file);

  expect(report.findings).toEqual([]);
  expect(report).toMatchObject({
    verdict: "OK",
    exitCode: 0,
    evidence: { unchanged: true },
    checked: { checkpoints: 3 },
  });
  expect(report.evidence.files[0]).toMatchObject({ name: file, bytes: before.length });
  expect(readFileSync(file)).toEqual(before);
  expect(readdirSync(dirname(file))).toEqual(["state.ledger"]);
});

test("a file that changes while it is verified is said to have changed", async () => {
  const file = fresh();
  const reader = await openRawReader(file);
  const changing: RawReader = {
    ...bound(reader),
    types: async () => {
      writeFileSync(file, readFileSync(file));
      return reader.types();
    },
  };
  const report = await verify(changing);
  await reader.close();

  expect(report.evidence.unchanged).toBe(false);
});

/** The code of a refusal; anything else is a bug. */
function codeOf(error: unknown): string {
  if (error instanceof LedgerError) return error.code;
  throw error;
}

/** The methods of a reader, to be replaced one by one. */
function bound(reader: RawReader): RawReader {
  return {
    location: reader.location,
    copied: reader.copied,
    evidence: () => reader.evidence(),
    unchanged: () => reader.unchanged(),
    problems: (part) => reader.problems(part),
    entryCount: () => reader.entryCount(),
    entries: (...given) => reader.entries(...given),
    streams: (...given) => reader.streams(...given),
    types: () => reader.types(),
    streamPages: (...given) => reader.streamPages(...given),
    contents: (...given) => reader.contents(...given),
    nodes: (...given) => reader.nodes(...given),
    checkpoints: (...given) => reader.checkpoints(...given),
    projections: () => reader.projections(),
    folded: () => reader.folded(),
    documents: (...given) => reader.documents(...given),
    close: () => reader.close(),
  };
}

describe("rows changed by a second connection", () => {
  const sealed = (file: string, position: number, change: (entry: string) => string): void => {
    const database = new Database(file, { readonly: true });
    const entry = change(database.prepare("SELECT entry FROM entries WHERE seq = ?").pluck().get(position) as string);
    database.close();
    damage(file, "UPDATE entries SET entry = ?, id = unhex(?) WHERE seq = ?", entry, entryId(entry), position);
  };

  test.each(places)("T01 T02 T09 T13 T16 T33 T59 each changes #%d", async (position) => {
    const attacks: readonly (readonly [how: string, attack: (file: string) => void, codes: readonly string[]])[] = [
      [
        "one character",
        (file) =>
          damage(file, "UPDATE entries SET entry = replace(entry, '\"tv\":1', '\"tv\":2') WHERE seq = ?", position),
        [`E_ID#${position}`],
      ],
      [
        "sealed",
        (file) => sealed(file, position, (entry) => entry.replace('"tv":1', '"tv":2')),
        [`E_PREV#${position + 1}`],
      ],
      [
        "another format, sealed",
        (file) => sealed(file, position, (entry) => entry.replace('"v":1}', '"v":2}')),
        [`E_FORMAT_VERSION#${position}`, `E_PREV#${position + 1}`],
      ],
      [
        "a space, sealed",
        (file) => sealed(file, position, (entry) => entry.replace('"tv":1', '"tv": 1')),
        [`E_CANON#${position}`, `E_PREV#${position + 1}`],
      ],
      ["dropped", (file) => damage(file, "DELETE FROM entries WHERE seq = ?", position), [`E_SEQ_GAP#${position}`]],
      [
        "its id",
        (file) => damage(file, "UPDATE entries SET id = zeroblob(32) WHERE seq = ?", position),
        [`E_ID#${position}`],
      ],
      [
        "its revision",
        (file) => damage(file, "UPDATE entries SET rev = rev + 1 WHERE seq = ?", position),
        [`E_COLUMN#${position}`],
      ],
      [
        "its time",
        (file) => damage(file, "UPDATE entries SET at = at + 1 WHERE seq = ?", position),
        [`E_COLUMN#${position}`],
      ],
      [
        "bytes that are no text",
        (file) =>
          damage(file, "UPDATE entries SET entry = CAST(CAST(entry AS BLOB) || x'ff' AS TEXT) WHERE seq = ?", position),
        [`E_ID#${position}`, `E_CANON#${position}`],
      ],
    ];
    for (const [how, attack, codes] of attacks) {
      const file = fresh();
      attack(file);
      const report = await verifyFile(file);
      expect(codesOfRows(report), how).toEqual(codes);
      expect(report.exitCode, how).toBe(1);
      expect(formatReport(report), how).toMatch(
        new RegExp(`verdict +TAMPERED.*first at #${(codes[0] ?? "").split("#")[1]};`),
      );
    }
  });

  test.each(["ff", "f0", "eda080"])("T59 a real U+FFFD replaced by %s: as text it shows the same", async (bytes) => {
    const file = fresh();
    const database = new Database(file);
    const seq = database.prepare("SELECT max(seq) FROM entries").pluck().get() as number;
    const entry = database
      .prepare("SELECT hex(CAST(entry AS BLOB)) FROM entries WHERE seq = ?")
      .pluck()
      .get(seq) as string;
    database.close();
    expect(entry).toContain("EFBFBD");
    damage(
      file,
      "UPDATE entries SET entry = CAST(unhex(?) AS TEXT) WHERE seq = ?",
      entry.replace("EFBFBD", bytes),
      seq,
    );

    expect(codesOfRows(await verifyFile(file))).toEqual([`E_ID#${seq}`, `E_CANON#${seq}`]);
  });

  test.each([
    ["a content", "UPDATE contents SET bytes = CAST(bytes || x'00' AS BLOB) WHERE n = 1", "E_CONTENT_DIGEST"],
    ["its salt", "UPDATE contents SET salt = zeroblob(32) WHERE n = 1", "E_CONTENT_DIGEST"],
    ["its media type", "UPDATE contents SET media = 'text/html' WHERE n = 2", "E_CONTENT_DIGEST"],
    ["its digest", "UPDATE contents SET digest = zeroblob(32) WHERE n = 1", "E_COLUMN"],
    ["its plain hash", "UPDATE contents SET plain = zeroblob(32) WHERE plain IS NOT NULL", "E_COLUMN"],
    ["its row", "DELETE FROM contents WHERE n = 1", "E_CONTENT_MISSING"],
    [
      "its state",
      "UPDATE contents SET media = NULL, salt = NULL, bytes = NULL, plain = NULL, erased = 3 WHERE n = 1",
      "E_ERASURE",
    ],
    ["a stream's name", "UPDATE streams SET name = 'log/other' WHERE name = 'log/long'", "E_COLUMN"],
    ["a stream's revision", "UPDATE streams SET rev = rev + 1 WHERE name = 'log/long'", "E_COLUMN"],
    ["a type's name", "UPDATE types SET name = 'log.heard' WHERE name = 'log.said'", "E_COLUMN"],
    ["a page of positions", "UPDATE stream_pages SET seqs = zeroblob(2048)", "E_COLUMN"],
    ["a page of positions, gone", "DELETE FROM stream_pages", "E_COLUMN"],
  ])("T15 T16 T17 %s", async (_, sql, code) => {
    const file = fresh();
    damage(file, sql);
    const report = await verifyFile(file);

    expect(report.findings[0]?.code).toBe(code);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test.runIf(spawnSync("sqlite3", ["-version"]).status === 0)(
    "any one character of an entry, changed in the sqlite3 shell",
    async () => {
      const database = new Database(template, { readonly: true });
      const lengths = database.prepare("SELECT length(entry) FROM entries ORDER BY seq").pluck().all() as number[];
      database.close();
      await fc.assert(
        fc.asyncProperty(fc.nat(lengths.length - 1), fc.nat(), async (position, where) => {
          const file = fresh();
          const at = 1 + (where % (lengths[position] ?? 1));
          const change = `substr(entry, 1, ${at - 1}) || char(unicode(substr(entry, ${at}, 1)) + 1) || substr(entry, ${at + 1})`;
          execFileSync("sqlite3", [
            file,
            `DROP TRIGGER entries_no_update; UPDATE entries SET entry = ${change} WHERE seq = ${position};`,
          ]);
          const report = await verifyFile(file);
          expect(codesOf(report)).toContain(`E_ID#${position}`);
          expect(codesOf(report)).toContain("E_SCHEMA"); // the trigger is gone
          expect(report.exitCode).toBe(1);
        }),
        { numRuns: process.env.RUNLEDGER_LONG === "1" ? 300 : 12 },
      );
    },
  );
});

describe("T47 the SQL layer", () => {
  const rename = "ALTER TABLE entries RENAME TO kept;";
  const layers: readonly (readonly [how: string, sql: string, code: string])[] = [
    [
      "a view in place of the table",
      `${rename} CREATE VIEW entries AS SELECT * FROM kept WHERE seq <> 150`,
      "E_SCHEMA",
    ],
    ["a table without types", `${rename} CREATE TABLE entries AS SELECT * FROM kept; DROP TABLE kept`, "E_SCHEMA"],
    ["a generated column", "ALTER TABLE entries ADD COLUMN twice INTEGER AS (rev * 2)", "E_SCHEMA"],
    [
      "a trigger that rewrites",
      "CREATE TRIGGER rewrite AFTER INSERT ON entries BEGIN UPDATE streams SET rev = 0; END",
      "E_SCHEMA",
    ],
    ["a table more", "CREATE TABLE entries_2 (seq)", "E_SCHEMA"],
    ["an index more", "CREATE INDEX more ON entries (rev)", "E_SCHEMA"],
    ["no table", `${rename} DROP TABLE streams`, "E_SCHEMA"],
    ["another application", "PRAGMA application_id = 7", "E_SCHEMA"],
  ];
  test.each(layers)("%s", async (_, sql, code) => {
    const file = fresh();
    const database = new Database(file);
    database.exec(sql);
    database.close();
    const found = await verifyFile(file).then(
      (report) => ({ code: report.findings[0]?.code, exitCode: report.exitCode }),
      (error: unknown) => ({ code: codeOf(error), exitCode: 3 }),
    );

    // A file that is not ours is refused before anything in it is judged; both are never "OK".
    expect([code, "STORE_FOREIGN"]).toContain(found.code);
    expect(found.exitCode).toBeGreaterThan(0);
  });

  test.each([
    ["entry as bytes", "entry = CAST(entry AS BLOB)"],
    ["at as a fraction that is the same number", "at = at * 1.0"],
    ["rev as text of the same number", "rev = CAST(rev AS TEXT)"],
    ["rev as text", "rev = 'seven'"],
    ["stream as a fraction", "stream = stream * 1.0"],
    ["type as bytes", "type = x'01'"],
    ["id as text", "id = hex(id)"],
    ["skew gone", "skew = NULL"],
  ])("a value of another type: %s", async (_, set) => {
    const file = fresh();
    const database = new Database(file);
    database.unsafeMode(true);
    const original = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries'").pluck().get() as string;
    const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
    database.pragma("writable_schema = ON");
    const loose = original
      .replace(") STRICT", ")")
      .replaceAll(/INTEGER(?! PRIMARY KEY)|TEXT|BLOB/g, "")
      .replaceAll(" NOT NULL", "")
      .replace("CHECK (length(id) = 32)", "");
    database.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'entries'").run(loose);
    database.close();
    const again = new Database(file);
    again.unsafeMode(true);
    again.exec(`UPDATE entries SET ${set} WHERE seq = 150`);
    again.pragma("writable_schema = ON");
    again.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'entries'").run(original);
    for (const { sql } of triggers) again.exec(sql);
    again.close();
    const report = await verifyFile(file);

    expect(report.findings[0]?.code).toMatch(set === "skew = NULL" ? "E_COLUMN" : "E_TYPE");
    expect(report.findings[0]?.position).toBe(150);
    expect(report.exitCode).toBe(1);
  });
});

describe("T49 the file itself", () => {
  /** The pages of the table of entries, by SQLite's own account. */
  const pageOf = (file: string, fraction: number): number => {
    const pages = statSync(file).size / 4_096;
    return Math.max(1, Math.floor(pages * fraction));
  };

  test.each([0.1, 0.3, 0.5, 0.7, 0.9])("a zeroed page, %d of the way into the file", async (fraction) => {
    const file = fresh();
    const bytes = readFileSync(file);
    bytes.fill(0, pageOf(file, fraction) * 4_096, (pageOf(file, fraction) + 1) * 4_096);
    writeFileSync(file, bytes);
    const report = await verifyFile(file);

    expect(report).toMatchObject({ verdict: "CORRUPT", exitCode: 1 });
    expect(report.findings[0]?.code).toBe("E_CORRUPT");
    expect(report.next[0]).toBe("runledger salvage -o NEW");
  });

  test.each([0.25, 0.5, 0.95])("a file cut off at %d of its length", async (fraction) => {
    const file = fresh();
    truncateSync(file, pageOf(file, fraction) * 4_096);
    const verdict = await verifyFile(file).then((report) => report.verdict, codeOf);

    // SQLite does not open a file that is shorter than its header says.
    expect(["CORRUPT", "STORE_DAMAGED"]).toContain(verdict);
  });

  // The shortest form of what the property below found: one page's positions were taken for granted between first and last.
  test("the key of a row in the middle of a page", async () => {
    const file = fresh();
    const bytes = readFileSync(file);
    const entry = bytes.indexOf('"seq":187,');
    const key = bytes.lastIndexOf(Buffer.from([0x81, 0x3b]), entry); // 187 as a varint
    expect(entry - key).toBeLessThan(400);
    bytes[key] = 0x80; // 59
    writeFileSync(file, bytes);

    const report = await verifyFile(file);

    expect(report.verdict).not.toBe("OK");
    expect(report.firstBad).toBeLessThanOrEqual(187);
  });

  // Reading on finds the last row, asking for it by its position does not: that was a TypeError.
  test("the key by which a page is found", async () => {
    const file = fresh();
    const database = new Database(file, { readonly: true });
    const [root] = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'entries'").pluck().all() as [
      number,
    ];
    const size = database.pragma("page_size", { simple: true }) as number;
    database.close();
    const bytes = readFileSync(file);
    const page = (root - 1) * size;
    expect(bytes[page]).toBe(5); // an inner page of a table
    const cells = bytes.readUInt16BE(page + 3);
    const last = page + bytes.readUInt16BE(page + 12 + (cells - 1) * 2);
    bytes.set([0xff, 0x7f], last + 4); // the largest key of the pages before the last one: 16,383
    writeFileSync(file, bytes);

    expect(await verifyFile(file)).toMatchObject({ verdict: "CORRUPT" });
    const ledger = await openLedger(file, { readOnly: true });
    await expect(ledger.read().toArray()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    await ledger.close();
  });

  test("any one changed byte of the file is reported, or leaves everything that is verified as it was", async () => {
    const dump = (file: string): unknown => {
      const database = new Database(file, { readonly: true });
      try {
        return [
          // All but the skew: what the writer's clock showed is operational, and nothing in the entry says it again.
          "SELECT seq, id, stream, rev, before, type, at, entry FROM entries ORDER BY seq",
          "SELECT * FROM contents ORDER BY n",
          "SELECT * FROM streams ORDER BY id",
          "SELECT * FROM types ORDER BY id",
          "SELECT * FROM stream_pages ORDER BY stream, page",
          "SELECT * FROM nodes ORDER BY level, n",
          "SELECT * FROM checkpoints ORDER BY size",
        ].map((sql) => database.prepare(sql).raw().all());
      } finally {
        database.close();
      }
    };
    const original = dump(template);
    await fc.assert(
      fc.asyncProperty(fc.nat(statSync(template).size - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const file = fresh();
        const bytes = readFileSync(file);
        bytes[at] = (bytes[at] ?? 0) ^ flip;
        writeFileSync(file, bytes);
        const verdict = await verifyFile(file).then((report) => report.verdict, codeOf);
        if (verdict === "OK") expect(dump(file)).toEqual(original);
        expect(verdict).toMatch(/^(OK|TAMPERED|CORRUPT|DERIVED|UNDECIDED|[A-Z]+_[A-Z_]+)$/);
      }),
      { numRuns: process.env.RUNLEDGER_LONG === "1" ? 1_000 : 60 },
    );
  });
});

describe("J04 what is no ledger", () => {
  test("J04 a path where nothing is: no verdict, and nothing is made", async () => {
    const directory = emptyDirectory();
    await expect(verifyFile(join(directory, "none.ledger"))).rejects.toMatchObject({ code: "NOT_FOUND" });

    expect(readdirSync(directory)).toEqual([]);
  });

  test("J04 an empty file, an empty database, another schema: no verdict that is OK", async () => {
    const directory = emptyDirectory();
    const [empty, blank, other] = ["empty", "blank", "other"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(empty, "");
    new Database(blank).exec("VACUUM").close();
    new Database(other).exec("CREATE TABLE entries (seq INTEGER PRIMARY KEY, entry TEXT)").close();
    for (const file of [empty, blank, other]) {
      const before = readFileSync(file);
      const verdict = await verifyFile(file).then((report) => report.verdict, codeOf);
      expect(["NOT_FOUND", "STORE_FOREIGN"]).toContain(verdict);
      expect(readFileSync(file)).toEqual(before);
    }
    expect(readdirSync(directory).sort()).toEqual(["blank", "empty", "other"]);
    expect(existsSync(join(directory, "empty-wal"))).toBe(false);
  });

  test("J04 a ledger whose entries are all gone", async () => {
    const file = fresh();
    damage(file, "DELETE FROM entries");
    const report = await verifyFile(file);

    expect(report.exitCode).not.toBe(0);
    expect(formatReport(report)).toContain("0 entries checked");
  });
});
