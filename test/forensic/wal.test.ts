/** T22: the write-ahead log deleted, cut, or put in place of another. SQLite binds a log to no file, so what it then shows may
 *  be older, mixed or nothing; that is what is verified, the log's hash is in the report, and nothing is touched. */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { formatReport, verify } from "../../src/forensic/index.js";
import type { VerifyOptions, VerifyReport } from "../../src/forensic/index.js";
import { openLedger, openRawReader } from "../../src/index.js";
import { content } from "../../src/journal/content.js";
import { emptyDirectory, listing } from "../store/place.js";

/** The files of a ledger at one moment, while it was open. */
interface Moment {
  readonly file: Buffer;
  readonly log: Buffer;
  readonly memory: Buffer;
  readonly size: number;
  /** How many entries the file has without its log. */
  readonly sizeInFile: number;
  readonly note: string;
}

let early: Moment;
let late: Moment;
let other: Moment;

async function moments(origin: string, steps: number): Promise<Moment[]> {
  const directory = mkdtempSync(join(tmpdir(), "runledger-wal-"));
  const path = join(directory, "state.ledger");
  const found: Moment[] = [];
  const ledger = await openLedger(path, { origin });
  for (let step = 0; step < steps; step++) {
    for (let n = 0; n < 130; n++)
      await ledger.append(`log/${n % 3}`, [
        { type: "log.said", data: { step, n, text: n % 10 === 0 ? content(`${origin} ${step} ${n}`) : "x".repeat(n) } },
      ]);
    // A new log begins: the file has everything up to here.
    const outside = new Database(path);
    outside.pragma("wal_checkpoint(TRUNCATE)");
    outside.close();
    const sizeInFile = (await ledger.status()).size;
    for (let n = 0; n < 40; n++) await ledger.append("log/late", [{ type: "log.said", data: { step, n } }]);
    const { size } = await ledger.status();
    const { note } = await ledger.checkpoint();
    const [file, log, memory] = ["", "-wal", "-shm"].map((suffix) => readFileSync(path + suffix)) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    found.push({ file, log, memory, size, sizeInFile, note });
  }
  await ledger.close();
  rmSync(directory, { recursive: true });
  return found;
}

beforeAll(async () => {
  [early, late] = (await moments("testing/one", 2)) as [Moment, Moment];
  [, other] = (await moments("testing/other", 2)) as [Moment, Moment];
});

/** Puts files together as an attacker would. */
function put(file: Buffer, log: Buffer | null, memory: Buffer | null): string {
  const path = join(emptyDirectory(), "state.ledger");
  writeFileSync(path, file);
  if (log !== null) writeFileSync(`${path}-wal`, log);
  if (memory !== null) writeFileSync(`${path}-shm`, memory);
  return path;
}

/** Verifies, and asks what holds for every one of them. */
async function verified(path: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const before = listing(dirname(path));
  const reader = await openRawReader(path);
  const report = await verify(reader, options);
  await reader.close();

  expect(withoutMemory(listing(dirname(path)))).toEqual(withoutMemory(before));
  expect(existsSync(`${path}-shm`)).toBe("state.ledger-shm" in before);
  expect(report.evidence.unchanged).toBe(true);
  const names = existsSync(`${path}-wal`) ? [path, `${path}-wal`] : [path];
  expect(report.evidence.files.map(({ name, sha256 }) => [name, sha256])).toEqual(
    names.map((name) => [name, createHash("sha256").update(readFileSync(name)).digest("hex")]),
  );
  for (const { sha256 } of report.evidence.files) expect(formatReport(report)).toContain(sha256);
  const shown = shownBySqlite(path);
  if (shown === null) expect(report.verdict).not.toBe("OK");
  else expect(report.checked.entries).toBe(shown);
  return report;
}

/** SQLite makes the index of a log anew when nobody is alive; it holds nothing that the log does not. */
function withoutMemory(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...files, "state.ledger-shm": "" };
}

/** How many entries plain SQLite shows, on a copy; null when it cannot read them. */
function shownBySqlite(path: string): number | null {
  const copy = join(emptyDirectory(), "copy");
  copyFileSync(path, copy);
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  try {
    const database = new Database(copy);
    onTestFinished(() => void database.close());
    return database.prepare("SELECT entry FROM entries ORDER BY seq").all().length;
  } catch {
    return null;
  }
}

const memories = [
  ["with its shared memory", (moment: Moment) => moment.memory],
  ["without shared memory", () => null],
] as const;

describe.each(memories)("T22 a ledger that was copied while it was open, %s", (_, memoryOf) => {
  test("is in order, and its own checkpoint covers all of it", async () => {
    const report = await verified(put(late.file, late.log, memoryOf(late)), { from: late.note });

    expect(report).toMatchObject({ verdict: "OK", size: late.size, anchored: { to: late.size - 1, unanchored: 0 } });
  });

  test("with its log deleted is shorter: a checkpoint tells, the file alone does not", async () => {
    const path = put(late.file, null, memoryOf(late));

    expect(await verified(path)).toMatchObject({ verdict: "OK", size: late.sizeInFile, anchored: { to: null } });
    const told = await verified(path, { from: late.note });
    expect(told.findings.map(({ code }) => code)).toEqual(["E_SHORTER_THAN_CHECKPOINT"]);
    expect(told).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test.each([0.2, 0.5, 0.9])(
    "with its log cut to %d of its length is a prefix, up to the last whole commit",
    async (part) => {
      const path = put(late.file, late.log.subarray(0, Math.floor(late.log.length * part)), memoryOf(late));

      const alone = await verified(path);
      expect(alone).toMatchObject({ verdict: "OK", findings: [] });
      expect(alone.size).toBeGreaterThanOrEqual(late.sizeInFile);
      expect(alone.size).toBeLessThan(late.size);
      const told = await verified(path, { from: late.note });
      expect(told.findings.map(({ code }) => code)).toEqual(["E_SHORTER_THAN_CHECKPOINT"]);
    },
  );

  test.each([0.1, 0.5, 0.9])(
    "with one byte of its log changed at %d of its length ends before that commit",
    async (part) => {
      const log = Buffer.from(late.log);
      const at = Math.floor(log.length * part);
      log[at] = log[at]! ^ 1;
      const path = put(late.file, log, memoryOf(late));

      const alone = await verified(path);
      expect(alone).toMatchObject({ verdict: "OK", findings: [] });
      expect(alone.size).toBeLessThan(late.size);
      const told = await verified(path, { from: late.note });
      expect(told.findings.map(({ code }) => code)).toEqual(["E_SHORTER_THAN_CHECKPOINT"]);
    },
  );

  const swaps: readonly (readonly [string, () => readonly [file: Moment, log: Moment]])[] = [
    ["its own log of an earlier moment", () => [late, early]],
    ["its own log of a later moment", () => [early, late]],
    ["the log of another ledger", () => [late, other]],
  ];

  test.each(swaps)("with %s is what it then shows: never in order beyond what it really was", async (__, pair) => {
    const [moment, swapped] = pair();
    const path = put(moment.file, swapped.log, memoryOf(moment));

    const alone = await verified(path);
    // SQLite may take the pages of the log for newer ones: then the rows do not fit together, or it is an older journal.
    if (alone.verdict === "OK") {
      expect(alone.origin).toBe("testing/one");
      expect([early.size, early.sizeInFile, late.sizeInFile]).toContain(alone.size);
    } else expect(alone.failures).toBeGreaterThan(0);

    const told = await verified(path, { from: late.note });
    expect(told.verdict).not.toBe("OK");
    expect(told.exitCode).not.toBe(0);
  });
});
