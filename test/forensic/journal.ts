/** The journal that is attacked: 340 entries, across the edge of a page of 256, with tx of several events, several streams
 *  (one of them longer than a page), contents (named again, of every size, one erased), causes, labels and an area. */
import { verify } from "../../src/forensic/index.js";
import type { FindingCode, VerifyOptions, VerifyReport } from "../../src/forensic/index.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import type { RawContent, RawEntry } from "../../src/journal/raw-reader.js";
import { RangeProver } from "../../src/forensic/ranges-prover.js";
import type { RangeWorkers } from "../../src/forensic/ranges.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { ArrayRawReaderOptions, RawRows } from "../../src/testing/array-raw-reader.js";
import { fieldsOf, RawJournal, resealAfter, sealed } from "../../src/testing/raw-journal.js";

export const start: number = Date.UTC(2026, 0, 1);

/** Where each mutation is tried: early, in the middle, at the edge of a page, near the end. All are events of the
 *  long stream, alone in their tx, with neighbours that are the same. */
export const places: readonly number[] = [40, 175, 255, 256, 337];

/** The last position. */
export const last = 339;
/** The places, and both ends. */
export const everywhere: readonly number[] = [0, 1, ...places, last];

const template = makeJournal();

/** The journal, with the key of its checkpoints if it has one. */
export function makeJournal(key?: string): RawRows {
  const journal = new RawJournal(start, "testing/tampered", key);
  let at = start;
  const next = (): number => (at += 1_000);
  journal.append(next(), [
    { stream: "journal/main", type: "area.defined", data: { area: "order", kinds: ["order"], open: true } },
    { stream: "order/1", type: "order.placed", data: { total: 12.5 }, actor: "ann" },
  ]);
  const texts = ["", "small", "x".repeat(1_500), "é😀".repeat(400)];
  const references = texts.map((text) => {
    const reference = journal.content(text);
    journal.append(next(), [{ stream: "note/1", type: "note.written", data: { text: reference }, actor: "ann" }]);
    return reference;
  });
  const two = [journal.content("one of two"), journal.content('{"a":1}', "application/json")];
  journal.append(next(), [
    { stream: "note/1", type: "note.written", data: { list: [two[0], two[1]], again: references[2] }, actor: "bob" },
    { stream: "note/2", type: "note.written", data: { text: two[0] }, actor: "bob", meta: { tenant: "north" } },
    { stream: "order/1", type: "order.changed", tv: 2, data: {}, command: "c-17", fence: ["order/1", 1, 3] },
  ]);
  // A content that was erased, and the event that says so.
  const gone = journal.content("to be forgotten");
  journal.append(next(), [{ stream: "note/2", type: "note.written", data: { text: gone } }]);
  const erasing = journal.append(next(), [
    { stream: "journal/main", type: "content.erased", data: { digests: [gone.$content], reason: "asked for" } },
  ]);
  const erased = journal.rows.contents[gone.n - 1] as RawContent;
  journal.rows.contents[gone.n - 1] = { ...erased, media: null, salt: null, bytes: null, plain: null, erased: erasing };

  while (journal.next < 340) {
    const seq = journal.next;
    const event = { stream: "log/long", type: "log.said", data: { line: seq, text: `line ${seq}` } };
    if (seq % 50 === 20) {
      journal.append(next(), [
        event,
        {
          stream: `order/${seq}`,
          type: "order.placed",
          data: { total: seq },
          cause: journal.idAt(seq - 1),
          corr: `o-${seq}`,
        },
        { ...event, data: { line: -seq } },
      ]);
    } else if (seq % 50 === 30) {
      const kept = journal.content(`kept at ${seq}`);
      journal.append(next(), [
        {
          stream: "note/3",
          type: "note.written",
          data: { text: kept, first: references[1] },
          cause: journal.idAt(seq - 9),
        },
      ]);
    } else journal.append(next(), [event]);
  }
  return journal.rows;
}

/** The rows of the journal, to be changed. */
export function journalRows(): RawRows {
  return copyOf(template);
}

/** The same rows, to be changed. */
export function copyOf(rows: RawRows): RawRows {
  return {
    entries: [...rows.entries],
    streams: [...rows.streams],
    types: [...rows.types],
    streamPages: [...rows.streamPages],
    contents: [...rows.contents],
    nodes: rows.nodes === null ? null : [...rows.nodes],
    checkpoints: [...rows.checkpoints],
    projections: [...rows.projections],
    folded: [...rows.folded],
    documents: [...rows.documents],
    problems: [...rows.problems],
  };
}

/** Another journal with the same streams, to take entries from. */
export function otherRows(): RawRows {
  const journal = new RawJournal(start, "testing/other");
  for (let seq = 1; seq < 340; seq++)
    journal.append(start + seq * 1_000, [{ stream: "log/long", type: "log.said", data: { line: seq, other: true } }]);
  return journal.rows;
}

/** Verifies rows, three times: with the cheap step, without it, and in ranges. All must see the same. */
export async function verifyRows(rows: RawRows, options: VerifyOptions = {}): Promise<VerifyReport> {
  const quickly = await verify(arrayRawReader(rows), options);
  const slowly = await verify(arrayRawReader(rows, { asBytes: true }), options);
  const shown = JSON.stringify([quickly.findings, quickly.checked, quickly.head, quickly.verdict, quickly.failures]);
  const again = JSON.stringify([slowly.findings, slowly.checked, slowly.head, slowly.verdict, slowly.failures]);
  if (shown !== again) throw new Error(`the cheap step and the slow look must see the same:\n${shown}\n${again}`);
  const rangeEntries = Math.min(48, Math.ceil(rows.entries.length / 5));
  const apart = await verify(arrayRawReader(rows), { ...options, workers: () => rangesOf(rows, rangeEntries) });
  if (JSON.stringify(apart) !== JSON.stringify(quickly))
    throw new Error(`ranges must give the same report:\n${JSON.stringify(quickly)}\n${JSON.stringify(apart)}`);
  return quickly;
}

/** Workers that prove ranges of rows in this thread, and hand over what they proved as threads do. All is left to them,
 *  unless gaps are asked for. */
export function rangesOf(
  rows: RawRows,
  rangeEntries: number,
  options: ArrayRawReaderOptions & { readonly gapEntriesMax?: number } = {},
): RangeWorkers {
  const prover = RangeProver.open(arrayRawReader(rows, options));
  return {
    count: 2,
    rangeEntries,
    gapEntriesMax: options.gapEntriesMax ?? 0,
    prove: async (range) => structuredClone(await (await prover).prove(range)),
    close: async () => {},
  };
}

/** The codes of a report, each with its position: `E_ID#17`. */
export function codesOf(report: VerifyReport): string[] {
  return report.findings.map(({ code, position }) => (position === null ? code : `${code}#${position}`));
}

/** How often a code stands in a report. */
export function countOf(report: VerifyReport, code: FindingCode): number {
  return report.findings.filter((finding) => finding.code === code).length;
}

export function row(rows: RawRows, position: number): RawEntry {
  const found = rows.entries[position];
  if (found === undefined) throw new Error(`no row at ${position}`);
  return found;
}

/** Changes the fields of an entry and writes the text again; the id stays what it was. */
export function edit(rows: RawRows, position: number, change: (fields: Record<string, unknown>) => void): void {
  const fields = { ...fieldsOf(row(rows, position)) } as unknown as Record<string, unknown>;
  change(fields);
  rows.entries[position] = { ...row(rows, position), entry: canonicalize(fields) };
}

/** The same, with the id that belongs to the new text. */
export function editSealed(rows: RawRows, position: number, change: (fields: Record<string, unknown>) => void): void {
  edit(rows, position, change);
  rows.entries[position] = sealed(row(rows, position), String(row(rows, position).entry));
}

/** The same, and every later entry is hashed afresh, so that the chain holds. */
export function editCovered(rows: RawRows, position: number, change: (fields: Record<string, unknown>) => void): void {
  const { id } = row(rows, position);
  editSealed(rows, position, change);
  resealAfter(rows, position, id);
}

/** Puts other text or bytes in place of an entry, with the id that belongs to them, and hashes every later entry afresh. */
export function replaceCovered(rows: RawRows, position: number, change: (entry: string) => string | Uint8Array): void {
  const { id, entry } = row(rows, position);
  rows.entries[position] = sealed(row(rows, position), change(String(entry)));
  resealAfter(rows, position, id);
}

/** Applies a change to a fresh journal and says what is found, with the first bad position and the exit code. */
export async function attack(
  change: (rows: RawRows) => void,
): Promise<{ readonly found: string[]; readonly firstBad: number | null; readonly exitCode: number }> {
  const rows = journalRows();
  change(rows);
  const report = await verifyRows(rows);
  if (report.checked.entries !== rows.entries.length)
    throw new Error(`checked ${report.checked.entries} of ${rows.entries.length} entries`);
  return { found: codesOf(report), firstBad: report.firstBad, exitCode: report.exitCode };
}

/** Changes columns of a row. */
export function setColumns(rows: RawRows, position: number, columns: Partial<RawEntry>): void {
  rows.entries[position] = { ...row(rows, position), ...columns };
}
