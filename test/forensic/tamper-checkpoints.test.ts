/** The mutation harness, what only a checkpoint tells: entries written anew with all hashes, tails cut off or replaced, whole
 *  files put back. Each is tried at the first, the middle and the last place, and at the edge of a tile; where the chain
 *  cannot tell, a test shows both verdicts. */
import { describe, expect, test } from "vitest";
import { formatReport } from "../../src/forensic/index.js";
import type { VerifyReport } from "../../src/forensic/index.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { codesOf, editCovered, everywhere, last, row, start, verifyRows } from "./journal.js";
import {
  checkpointOf,
  kept,
  key,
  keyOf,
  origin,
  rootAt,
  signedRows,
  storeCheckpoints,
  storedSizes,
  stranger,
  vkey,
} from "./signed-journal.js";

const keys = [vkey];

/** An entry changed, and every later one hashed anew. */
function rewritten(position: number): RawRows {
  const rows = signedRows();
  editCovered(rows, position, (fields) => (fields["meta"] = { by: "mallory" }));
  return rows;
}

/** The rows without those from a position on, as a store that never had them would hold them. */
function cut(rows: RawRows, size: number): RawRows {
  const entries = rows.entries.slice(0, size);
  const used = new Set(entries.map(({ type }) => type));
  const contents = rows.contents.filter(({ n }) => lastContentOf(entries) >= Number(n));
  return {
    ...rows,
    entries,
    contents,
    types: rows.types.filter(({ id }) => used.has(id)),
    streamPages: rows.streamPages.filter(({ seqs }) => (seqs?.at(-1) ?? 0) < size),
    streams: rows.streams.flatMap((stream) => {
      const end = entries.findLast((entry) => entry.stream === stream.id);
      return end === undefined ? [] : [{ ...stream, rev: end.rev, seq: end.seq }];
    }),
    checkpoints: rows.checkpoints.filter((checkpoint) => Number(checkpoint.size) <= size),
  };
}

function lastContentOf(entries: RawRows["entries"]): number {
  const numbers = entries.flatMap(({ entry }) => [...String(entry).matchAll(/"n":(\d+)\}/g)].map(([, n]) => Number(n)));
  return Math.max(0, ...numbers);
}

function where(report: VerifyReport): string[] {
  return report.findings.map((finding) => `${finding.code} ${finding.where}`);
}

/** Nothing is wrong as far as the file alone can tell, and that is what the report says. */
function expectUnanchored(report: VerifyReport): void {
  expect(report).toMatchObject({ verdict: "OK", findings: [], anchored: { to: null, unanchored: report.size } });
  expect(formatReport(report)).toMatch(
    /info {6}anchored {3}no checkpoint from outside: \d+ events? rests? on this ledger alone/,
  );
}

describe("T03 an entry written anew, with every hash behind it", () => {
  test.each(everywhere)("#%d: the root of each later stored checkpoint is another", async (position) => {
    const report = await verifyRows(rewritten(position));
    const [first, ...later] = storedSizes.filter((size) => size > position);

    expect(where(report)).toEqual(first === undefined ? [] : [`E_ROOT stored checkpoint of ${first}`]);
    const more = [/head is #339 [0-9a-f]{64}$/, /; so 1 later one$/, /; so 2 later ones$/];
    if (first !== undefined) expect(report.findings[0]?.message).toMatch(more[later.length]!);
    expect(report.exitCode).toBe(first === undefined ? 0 : 1);
    expect(report.verdict).toBe(first === undefined ? "OK" : "TAMPERED");
  });

  test.each([
    [1, "#0 to #99"],
    [175, "#100 to #255"],
    [255, "#100 to #255"],
    [256, "#256 to #329"],
  ])("#%d: signed checkpoints tell between which entries it is", async (position, range) => {
    const { findings } = await verifyRows(rewritten(position), { keys });

    expect(findings[0]?.message).toContain(`what differs is in ${range};`);
  });
});

describe("T04 the same, by somebody who has no key", () => {
  test.each([1, 175, 255, 256])("#%d, the checkpoints changed to fit: their signatures do not", async (position) => {
    const rows = rewritten(position);
    rows.checkpoints = storedSizes.map((size) => {
      const before = kept(size);
      return { size, note: checkpointOf(rows, size, []) + before.slice(before.indexOf("\n\n") + 1) };
    });
    const later = storedSizes.filter((size) => size > position);

    const report = await verifyRows(rows, { keys });
    expect(where(report).filter((each) => each.startsWith("E_"))).toEqual(
      later.map((size) => `E_CHECKPOINT_SIG stored checkpoint of ${size}`),
    );
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
    // The key that the journal names refuses them too, though it vouches for none.
    expect(codesOf(await verifyRows(rows))).toEqual(later.map(() => "E_CHECKPOINT_SIG"));
  });

  test("the checkpoints signed with another key: the journal's own is missing", async () => {
    const rows = rewritten(1);
    storeCheckpoints(rows, [stranger]);

    const report = await verifyRows(rows, { keys });
    expect(codesOf(report)).toEqual(["E_KEY_EPOCH", "E_KEY_EPOCH", "E_KEY_EPOCH", "W_CHECKPOINT_MISSING"]);
    expect(report.exitCode).toBe(1);
  });

  test("the journal made to name that other key: nothing is signed by the one that is trusted", async () => {
    const rows = rewritten(1);
    editCovered(rows, 0, (fields) => ((fields["data"] as Record<string, unknown>)["key"] = stranger.verifier.text));
    storeCheckpoints(rows, [stranger]);

    expectUnanchored(await verifyRows(rows));
    const report = await verifyRows(rows, { keys });
    expect(codesOf(report)).toEqual(["W_CHECKPOINT_MISSING"]);
    expect(report).toMatchObject({ verdict: "UNDECIDED", exitCode: 3 });
  });

  test.each([1, 339])("#%d, the checkpoints deleted: missing, which cannot be decided", async (position) => {
    const rows = rewritten(position);
    rows.checkpoints = [];

    expectUnanchored(await verifyRows(rows));
    const report = await verifyRows(rows, { keys });
    expect(codesOf(report)).toEqual(["W_CHECKPOINT_MISSING"]);
    expect(report).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, signed: null });
  });

  test("only the later checkpoints deleted: signed to the last one that is left", async () => {
    const rows = rewritten(300);
    rows.checkpoints.pop();
    const report = await verifyRows(rows, { keys });

    expect(report).toMatchObject({ verdict: "OK", signed: { to: 255 }, anchored: { to: null } });
  });
});

describe("T05 T02 all of it written anew, checkpoints signed with the journal's key", () => {
  test.each(everywhere)(
    "#%d: in order by itself and unanchored; the checkpoint from outside tells",
    async (position) => {
      const rows = rewritten(position);
      storeCheckpoints(rows, [key]);

      expectUnanchored(await verifyRows(rows, { keys }));
      const report = await verifyRows(rows, { keys, from: kept(340) });
      expect(where(report)).toEqual(["E_INCONSISTENT given checkpoint of 340"]);
      expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, anchored: { to: null } });
    },
  );

  test("what came before the change is not under suspicion when an earlier checkpoint shows it", async () => {
    const rows = rewritten(300);
    storeCheckpoints(rows, [key]);
    const report = await verifyRows(rows, { from: [kept(340), kept(256)] });

    expect(report.findings[0]?.message).toContain("what differs is in #256 to #339;");
    expect(report.anchored).toMatchObject({ to: 255, unanchored: 84 });
  });

  test("a checkpoint of what came before says nothing", async () => {
    const rows = rewritten(300);
    storeCheckpoints(rows, [key]);

    expect(await verifyRows(rows, { from: kept(300) })).toMatchObject({
      verdict: "OK",
      anchored: { to: 299, unanchored: 40 },
    });
  });
});

test("J01 the last two of five entries taken away, of which somebody noted the head", async () => {
  const journal = new RawJournal(start, origin);
  for (let line = 1; line < 5; line++)
    journal.append(start + line, [{ stream: `log/${line}`, type: "log.said", data: { line } }]);
  const noted = checkpointOf(journal.rows, 5, []);
  const rows = {
    ...journal.rows,
    entries: journal.rows.entries.slice(0, 3),
    streams: journal.rows.streams.slice(0, 3),
  };

  expectUnanchored(await verifyRows(rows));
  const report = await verifyRows(rows, { from: noted });
  expect(where(report)).toEqual(["E_SHORTER_THAN_CHECKPOINT given checkpoint of 5"]);
  expect(report.findings[0]).toMatchObject({
    want: `5 entries, root ${rootAt(journal.rows, 5)}`,
    have: `3 entries, head ${journal.idAt(2)}`,
  });
});

describe("T06 the tail cut off", () => {
  test.each([339, 338, 330, 300, 257, 256, 255, 100, 1])(
    "to %d entries: in order by itself and unanchored; the checkpoint from outside tells, with both heads",
    async (size) => {
      const rows = cut(signedRows(), size);
      storeCheckpoints(rows, [key]);

      expectUnanchored(await verifyRows(rows));
      const report = await verifyRows(rows, { from: kept(340), keys: size < 100 ? [] : keys });
      expect(where(report)).toEqual(["E_SHORTER_THAN_CHECKPOINT given checkpoint of 340"]);
      expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, anchored: { to: null } });
      expect(report.findings[0]).toMatchObject({
        message: `the journal ends with #${size - 1}, the checkpoint covers #0 to #339`,
        want: expect.stringMatching(/^340 entries, root [0-9a-f]{64}$/) as string,
        have: expect.stringMatching(
          new RegExp(`^${size} entr(y|ies), head ${String(row(rows, size - 1).id)}$`),
        ) as string,
      });
    },
  );

  test("to nothing", async () => {
    const rows = cut(signedRows(), 0);

    expect(await verifyRows(rows)).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, reason: "nothing to check" });
    const report = await verifyRows(rows, { from: kept(340), keys });
    expect(where(report)).toEqual(["E_SHORTER_THAN_CHECKPOINT given checkpoint of 340"]);
    expect(report.findings[0]).toMatchObject({
      message: "the journal has no entries, the checkpoint covers #0 to #339",
      have: "0 entries, head unknown",
    });
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test("and a stored checkpoint left that covers it", async () => {
    const rows = cut(signedRows(), 300);
    rows.checkpoints = signedRows().checkpoints;

    expect(where(await verifyRows(rows))).toEqual(["E_SHORTER_THAN_CHECKPOINT stored checkpoint of 330"]);
  });
});

describe("T08 the tail replaced by other events", () => {
  test.each([1, 100, 255, 256, 257, 300, 338])(
    "from #%d on: in order by itself and unanchored; the checkpoint from outside tells, with both heads",
    async (from) => {
      const forked = signedRows();
      for (let position = from; position <= last; position++)
        editCovered(forked, position, (fields) => (fields["actor"] = `mallory ${position}`));
      storeCheckpoints(forked, [key]);

      expectUnanchored(await verifyRows(forked, { keys }));
      const report = await verifyRows(forked, { from: kept(340), keys });
      expect(where(report)).toEqual(["E_INCONSISTENT given checkpoint of 340"]);
      expect(report.findings[0]?.message).toContain(`; the head is #339 ${String(row(forked, last).id)}`);
      expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
    },
  );

  test("by fewer and by more than there were", async () => {
    const shorter = cut(rewritten(300), 320);
    storeCheckpoints(shorter, [key]);

    expectUnanchored(await verifyRows(shorter));
    expect(codesOf(await verifyRows(shorter, { from: kept(340) }))).toEqual(["E_SHORTER_THAN_CHECKPOINT"]);
    expect(codesOf(await verifyRows(shorter, { from: kept(310) }))).toEqual(["E_INCONSISTENT"]);
    expect(codesOf(await verifyRows(rewritten(300), { from: kept(310) }))).toContain("E_INCONSISTENT");
  });
});

describe("T20 an older copy put back", () => {
  test("is shorter than the checkpoint that was kept", async () => {
    const older = cut(signedRows(), 300);

    expectUnanchored(await verifyRows(older));
    expect(codesOf(await verifyRows(older, { from: kept(330), keys }))).toEqual(["E_SHORTER_THAN_CHECKPOINT"]);
  });

  test("is consistent with an older checkpoint, and says how old it is", async () => {
    const older = cut(signedRows(), 300);
    const headAt = Number(row(older, 299).at);
    const report = await verifyRows(older, { from: kept(256), keys, now: headAt + 12 * 86_400_000 + 5 });

    expect(report).toMatchObject({ verdict: "OK", anchored: { to: 255, unanchored: 44 } });
    expect(formatReport(report)).toMatch(
      /\ninfo {6}age {8}#255 is of 2026-01-01T\S+Z, the head \d+ seconds later, 12 days ago\n/,
    );
  });
});

describe("T34 the whole journal turned into an older format without signatures", () => {
  function downgraded(): RawRows {
    const rows = signedRows();
    for (let position = 0; position <= last; position++) editCovered(rows, position, (fields) => (fields["v"] = 0));
    rows.checkpoints = [];
    return rows;
  }

  test.each([
    ["nothing from outside", {}],
    ["a checkpoint from outside", { from: kept(300) }],
    ["a key and a checkpoint from outside", { from: kept(300), keys }],
  ])("with %s: of a format that this version does not know, which it cannot decide", async (_, options) => {
    const report = await verifyRows(downgraded(), options);

    expect(codesOf(report).filter((code) => code.startsWith("E_"))).toEqual(
      Array.from({ length: Math.min(340, 100) }, (__, position) => `E_FORMAT_VERSION#${position}`),
    );
    expect(report).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, anchored: { to: null }, root: null });
  });

  test("of the last entries alone leaves a checkpoint of those before them in force", async () => {
    const rows = signedRows();
    rows.checkpoints = [];
    for (let position = 320; position <= last; position++) editCovered(rows, position, (fields) => (fields["v"] = 0));

    expect(await verifyRows(rows, { from: kept(300) })).toMatchObject({ exitCode: 3, anchored: { to: 299 } });
    expect(await verifyRows(rows, { from: kept(330) })).toMatchObject({ exitCode: 3, anchored: { to: null } });
  });
});

test("a journal that was changed and not covered names the entry, and the checkpoints besides", async () => {
  const rows = signedRows();
  rows.entries[175] = { ...row(rows, 175), entry: String(row(rows, 175).entry).replace("line 175", "line 176") };
  const report = await verifyRows(rows, { from: kept(300), keys: [keyOf(1).verifier.text] });

  expect(codesOf(report)).toEqual(["E_ID#175", "E_INCONSISTENT", "E_ROOT"]);
  expect(report).toMatchObject({ firstBad: 175, exitCode: 1, signed: { to: 99 } });
});
