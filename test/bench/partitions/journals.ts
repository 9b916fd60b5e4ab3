/** Making, keeping open and writing to many journals of one database. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openLedger } from "../../../src/index.js";
import type { Ledger } from "../../../src/index.js";
import { jobEvent, jobEvents, jobStream } from "../harness/events.js";
import type { Figure } from "../harness/report.js";
import { spread } from "../harness/statistics.js";

const callers = 64;
const openingAtOnce = 16;
const mebi = 2 ** 20;

/** The address of one of many journals. */
export function addressOf(url: string, journal: number): string {
  return `${url}?journal=tenant_${journal}`;
}

export function openJournal(url: string, journal: number): Promise<Ledger> {
  return openLedger(addressOf(url, journal), { events: [jobEvents] });
}

/** So many journals, some at a time: a server makes connections one after the other, and thousand at once wait too long. */
export async function openJournals(url: string, first: number, count: number): Promise<readonly Ledger[]> {
  const ledgers: Ledger[] = [];
  for (let at = first; at < first + count; at += openingAtOnce) {
    const length = Math.min(openingAtOnce, first + count - at);
    ledgers.push(...(await Promise.all(Array.from({ length }, (_, index) => openJournal(url, at + index)))));
  }
  return ledgers;
}

/** Time, disk and rows of the catalogues of so many new journals. */
export async function makeJournals(url: string, count: number): Promise<readonly Figure[]> {
  const before = await sizesOf(url);
  const times: number[] = [];
  for (let journal = 0; journal < count; journal++) {
    const started = performance.now();
    const ledger = await openJournal(url, journal);
    times.push(performance.now() - started);
    await ledger.close();
  }
  const after = await sizesOf(url);
  const per = (name: keyof typeof before): number => (after[name] - before[name]) / count;
  return [
    { what: `making a journal, of ${count}`, value: spread(times), unit: "ms" },
    one("its disk", per("bytes") / 1_024, "KiB"),
    one("its relations: tables, indexes, and what keeps their long values", per("relations"), "rows of pg_class"),
    one("its rows of catalogues", per("rows"), "rows"),
  ];
}

interface Sizes {
  readonly bytes: number;
  readonly relations: number;
  readonly rows: number;
}

async function sizesOf(url: string): Promise<Sizes> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("CHECKPOINT");
  const { rows } = await client.query<Record<keyof Sizes, string>>(
    `SELECT pg_database_size(current_database()) AS bytes, (SELECT count(*) FROM pg_class) AS relations,
       (SELECT count(*) FROM pg_class) + (SELECT count(*) FROM pg_attribute) + (SELECT count(*) FROM pg_constraint)
         + (SELECT count(*) FROM pg_type) + (SELECT count(*) FROM pg_depend) + (SELECT count(*) FROM pg_proc)
         + (SELECT count(*) FROM pg_trigger) + (SELECT count(*) FROM pg_index) AS rows`,
  );
  await client.end();
  const [{ bytes, relations, rows: found }] = rows as [Record<keyof Sizes, string>];
  return { bytes: Number(bytes), relations: Number(relations), rows: Number(found) };
}

interface Backends {
  readonly count: number;
  readonly privateMiB: number;
}

/** The connections that this process has, but for the one that asks, and the memory that is theirs alone. */
async function backends(url: string): Promise<Backends> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  await client.end();
  const kibi = rows.map(({ pid }) => {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/Private_Dirty:\s+(\d+)/.exec(rollup)?.[1] ?? 0);
  });
  return {
    count: rows.length,
    privateMiB: kibi.reduce((sum, each) => sum + each, 0) / 1_024 / Math.max(rows.length, 1),
  };
}

/** What one ledger takes that does nothing, writes, waits. */
export async function measureConnections(url: string, idleMs: number): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const look = async (what: string): Promise<void> => {
    const { count, privateMiB } = await backends(url);
    figures.push(one(`connections of a ledger: ${what}`, count, "", `${privateMiB.toFixed(1)} MiB of memory each`));
  };
  const ledger = await openJournal(url, 0);
  await look("just opened");
  const work = async (): Promise<void> => {
    await ledger.append(jobStream(0), [jobEvent(0)]);
    await ledger.read({ limit: 10 }).toArray();
  };
  await work();
  await look("behind an append and a read");
  for (let round = 0; round < 200; round++) await Promise.all(Array.from({ length: callers }, work));
  await look("behind 12,800 appends and reads of 64 callers");
  const subscription = ledger.subscribe({ from: "head" });
  const waiting = subscription.next().then(() => subscription.next());
  await pause(500);
  await look("while a subscription waits");
  await subscription.return();
  await waiting.catch(() => {});
  await pause(idleMs);
  await look(`after ${idleMs / 1_000} s of nothing`);
  await ledger.close();
  return figures;
}

/** So many ledgers open in this process at once. */
export async function openMany(url: string, count: number, idleMs: number): Promise<readonly Figure[]> {
  const heapBefore = heapMiB();
  const started = performance.now();
  const ledgers = await openJournals(url, 0, count);
  const openedMs = performance.now() - started;
  const opened = await backends(url);
  const heap = (heapMiB() - heapBefore) / count;
  for (const [index, ledger] of ledgers.entries()) await ledger.append(jobStream(index), [jobEvent(index)]);
  const written = await backends(url);
  await pause(idleMs);
  const idle = await backends(url);
  const closing = performance.now();
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  return [
    one(
      `opening ${count} ledgers, ${openingAtOnce} at a time`,
      openedMs,
      "ms",
      `${heap.toFixed(2)} MiB of this process each`,
    ),
    one("their connections, just opened", opened.count, "", `${opened.privateMiB.toFixed(1)} MiB of memory each`),
    one("their connections, behind an append to each", written.count, "", `${written.privateMiB.toFixed(1)} MiB each`),
    one(`their connections, after ${idleMs / 1_000} s of nothing`, idle.count, ""),
    one("closing them", performance.now() - closing, "ms"),
  ];
}

/** Appends a second of 64 callers over so many journals, from so many processes. */
export async function measureSpread(url: string, count: number, processes: number, ms: number): Promise<Figure> {
  const program = fileURLToPath(new URL("appender.js", import.meta.url));
  const share = Math.ceil(count / processes);
  const children = Array.from({ length: processes }, (_, index) =>
    fork(program, [
      url,
      String(index * share),
      String(Math.min(share, count - index * share)),
      String(callers / processes),
      String(ms),
    ]),
  );
  const ready = await Promise.all(children.map((child) => once(child, "message")));
  for (const child of children) child.send("go");
  const done = await Promise.all(children.map((child) => once(child, "message")));
  await Promise.all(children.map((child) => once(child, "exit")));
  const rates = done.map(([message]) => {
    const { operations, elapsedMs } = message as { readonly operations: number; readonly elapsedMs: number };
    return (operations / elapsedMs) * 1_000;
  });
  const what = `${callers} callers over ${count} journals, ${processes === 1 ? "one process" : `${processes} processes`}`;
  void ready;
  return one(
    what,
    rates.reduce((sum, each) => sum + each, 0),
    "appends/s",
  );
}

function one(what: string, value: number, unit: string, note?: string): Figure {
  return { what, value: { median: value, min: value, max: value }, unit, ...(note === undefined ? {} : { note }) };
}

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss / mebi;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
