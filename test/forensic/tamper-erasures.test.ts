/** Erasures that are not what they say, and contents that came back, wherever in the journal: attacks T18 and T19. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference } from "../../src/index.js";
import type { RawContent } from "../../src/journal/raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { damage } from "../cli/damage.js";
import { ledgerPath, open } from "../engine/fixture.js";
import { codesOf, start, verifyRows } from "./journal.js";

const size = 340;
/** First, in the middle, at both sides of the edge of a page, and last. */
const erasedAt: readonly number[] = [3, 170, 255, 256, 339];

interface Named {
  /** Named at #1, and its row is empty. */
  readonly gone: ContentReference;
  /** Named at #2, and stored. */
  readonly kept: ContentReference;
  /** Named at #338 if that is later, else nowhere. */
  readonly future: ContentReference;
  readonly genesis: string;
}

/** A journal of 340 entries: one content is named at #1 and one at #2, and the entry at `position` is an erasure. */
function journalErasing(position: number, data: (named: Named) => object): RawRows {
  const journal = new RawJournal(start, "testing/erasures");
  const at = (): number => start + journal.next * 1_000;
  const write = (stream: string, text: ContentReference): number =>
    journal.append(at(), [{ stream, type: "note.written", data: { text } }]);
  const [gone, kept] = [journal.content("to be forgotten"), journal.content("to be kept")];
  write("note/1", gone);
  write("note/2", kept);
  // Its row is made when its turn comes; its digest is known before.
  const draft = new RawJournal(start);
  draft.content("x");
  draft.content("x");
  const future = draft.content("not yet named");
  while (journal.next < size) {
    if (journal.next === position)
      journal.append(at(), [
        {
          stream: "journal/main",
          type: "content.erased",
          data: data({ gone, kept, future, genesis: journal.idAt(0) }),
        },
      ]);
    else if (journal.next === 338 && position < 338) write("note/3", journal.content("not yet named"));
    else journal.append(at(), [{ stream: "log/long", type: "log.said", data: { line: journal.next } }]);
  }
  empty(journal.rows, gone.n, position);
  return journal.rows;
}

function empty(rows: RawRows, n: number, erased: number): void {
  rows.contents[n - 1] = { ...rows.contents[n - 1]!, media: null, salt: null, bytes: null, plain: null, erased };
}

/** The row of the content named at #1, as it was before it was erased. */
const original = ((): RawContent => {
  const journal = new RawJournal(start);
  journal.content("to be forgotten");
  return journal.rows.contents[0]!;
})();

describe.each(erasedAt)("an erasure at #%d", (position) => {
  test("of what was named before is authorised, and said to be", async () => {
    const report = await verifyRows(
      journalErasing(position, ({ gone }) => ({ digests: [gone.$content], reason: "x" })),
    );

    expect(report).toMatchObject({ verdict: "OK", findings: [], exitCode: 0 });
    expect(report.lines.find(({ check }) => check === "erased")?.message).toBe(`1 content, authorised at #${position}`);
  });

  const bad: readonly (readonly [string, (named: Named) => object, readonly string[]])[] = [
    [
      "T18 of another digest, one that nothing has",
      () => ({ digests: ["ab".repeat(32)], reason: "x" }),
      ["E_ERASURE#1", `E_ERASURE#${position}`],
    ],
    [
      "T18 of another digest, that of a content that is stored",
      ({ kept }) => ({ digests: [kept.$content], reason: "x" }),
      ["E_ERASURE#1", "W_ERASED_PRESENT#2"],
    ],
    [
      "T18 of a content that is named later, or never",
      ({ gone, future }) => ({ digests: [gone.$content, future.$content], reason: "x" }),
      [`E_ERASURE#${position}`, ...(position < 338 ? ["W_ERASED_PRESENT#338"] : [])],
    ],
    [
      "T18 of the genesis",
      ({ gone, genesis }) => ({ digests: [gone.$content, genesis], reason: "x" }),
      [`E_ERASURE#${position}`],
    ],
    ["T18 of nothing", () => ({ digests: [], reason: "x" }), ["E_ERASURE#1", `E_ERASURE#${position}`]],
    [
      "T18 of what is no digest",
      ({ gone }) => ({ digests: [gone.$content, gone], reason: "x" }),
      [`E_ERASURE#${position}`],
    ],
    ["T18 without a reason", ({ gone }) => ({ digests: [gone.$content] }), [`E_ERASURE#${position}`]],
    [
      "T18 with a reason that no writer takes",
      ({ gone }) => ({ digests: [gone.$content], reason: "x".repeat(201) }),
      [`E_ERASURE#${position}`],
    ],
  ];

  test.each(bad)("%s", async (_, data, found) => {
    const report = await verifyRows(journalErasing(position, data));

    expect([...new Set(codesOf(report))].sort()).toEqual([...found].sort());
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test("T18 of itself: of a content that no entry names before it does", async () => {
    // The content that an entry names first is numbered behind all that were named before it.
    const itself = { ...original, n: 3, digest: "cd".repeat(32) };
    const own = { $content: itself.digest, bytes: 1, n: 3 };
    const rows = journalErasing(position, ({ gone }) => ({ digests: [gone.$content, own.$content], own, reason: "x" }));
    rows.contents.length = 2;
    rows.contents.push({ ...itself, media: null, salt: null, bytes: null, plain: null, erased: position });
    const report = await verifyRows(rows);

    expect(codesOf(report)).toContain(`E_ERASURE#${position}`);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test("T19 of a content that is there again is a warning, and no failure", async () => {
    const rows = journalErasing(position, ({ gone }) => ({ digests: [gone.$content], reason: "x" }));
    rows.contents[0] = original;
    const report = await verifyRows(rows);

    expect(codesOf(report)).toEqual(["W_ERASED_PRESENT#1"]);
    expect(report.findings[0]?.message).toContain(`#${position}`);
    expect(report.exitCode).toBe(0);
  });

  test("T18 that is named by a row which another erasure emptied", async () => {
    const rows = journalErasing(position, ({ gone }) => ({ digests: [gone.$content], reason: "x" }));
    empty(rows, 1, position - 1);
    const report = await verifyRows(rows);

    expect(codesOf(report)).toEqual(["E_ERASURE#1"]);
    expect(report.findings[0]).toMatchObject({ want: `${position}`, have: `${position - 1}` });
  });
});

test("T19 a content that was put back into the file is a warning, and can be erased again", async () => {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append("a/1", [{ type: "note.written", data: { text: content("to be forgotten") } }]);
  const [event] = await ledger.readStream("a/1").toArray();
  const { text } = event!.data as unknown as { text: ContentReference };
  await ledger.close();
  const columns = "media = ?, salt = ?, bytes = ?, plain = NULL, erased = NULL";
  const [row] = rowsOf(path);
  const again = await openLedger(path);
  await again.erase([text.$content], { reason: "first" });
  await again.close();
  damage(path, `UPDATE contents SET ${columns} WHERE n = 1`, row!.media, row!.salt, row!.bytes);

  const tampered = await open(path);
  const report = await tampered.verify();
  const second = await tampered.erase([text.$content], { reason: "it came back" });

  expect([codesOf(report), report.exitCode]).toEqual([["W_ERASED_PRESENT#1"], 0]);
  expect(second.position).toBe(3);
  expect(await tampered.verify()).toMatchObject({ verdict: "OK", findings: [] });
  await expect(tampered.content(text)).rejects.toMatchObject({ code: "CONTENT_ERASED", details: { erasedBy: 3 } });
  await expect(tampered.erase([text.$content], { reason: "again" })).rejects.toMatchObject({
    details: { erasedBy: 3 },
  });
});

function rowsOf(path: string): { media: string; salt: Buffer; bytes: Buffer }[] {
  const database = new Database(path, { readonly: true });
  try {
    return database.prepare("SELECT media, salt, bytes FROM contents ORDER BY n").all() as never;
  } finally {
    database.close();
  }
}
