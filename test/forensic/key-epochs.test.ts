/** The mutation harness, the keys that sign checkpoints: two changes of keys in a journal of 340 entries. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNote } from "../../src/journal/note.js";
import type { SignerKey } from "../../src/journal/note-keys.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { codesOf, copyOf, setColumns, start, verifyRows } from "./journal.js";
import { checkpointOf, keyOf, origin } from "./signed-journal.js";

const [one, two, three, stranger] = [keyOf(1), keyOf(2), keyOf(3), keyOf(9)];
const trusted = [one, two, three].map(({ verifier }) => verifier.text);

type Change = readonly [position: number, key: SignerKey];
type Kept = readonly [size: number, ...signers: SignerKey[]];

const changes: readonly Change[] = [
  [150, two],
  [260, three],
];

function keyChanged(key: string): RawEvent {
  return { stream: "journal/main", type: "journal.keyChanged", data: { key } };
}

/** A journal whose keys change at these positions. */
function journalWith(first: SignerKey | null, changed: readonly Change[]): RawRows {
  const journal = new RawJournal(start, origin, first?.verifier.text);
  while (journal.next < 340) {
    const change = changed.find(([position]) => position === journal.next);
    const event: RawEvent =
      change === undefined
        ? { stream: "log/long", type: "log.said", data: { line: journal.next } }
        : keyChanged(change[1].verifier.text);
    journal.append(start + journal.next * 1_000, [event]);
  }
  return journal.rows;
}

const template = journalWith(one, changes);

/** The journal with these stored checkpoints. */
function stored(checkpoints: readonly Kept[], rows: RawRows = template): RawRows {
  const notes = checkpoints.map(([size, ...signers]) => ({ size, note: checkpointOf(rows, size, signers) }));
  return { ...copyOf(rows), checkpoints: notes };
}

const inOrder: readonly Kept[] = [
  [100, one],
  [150, one],
  [151, one, two],
  [200, two],
  [261, two, three],
  [330, three],
];

describe("the key of a size", () => {
  test("signs it, and the first one behind a change has both", async () => {
    const report = await verifyRows(stored(inOrder), { keys: trusted });

    expect(report).toMatchObject({ verdict: "OK", findings: [], signed: { to: 329 }, checked: { checkpoints: 6 } });
    expect(await verifyRows(stored(inOrder))).toMatchObject({ verdict: "OK", findings: [] });
  });

  test.each<[string, readonly Kept[]]>([
    ["none is stored", []],
    ["none is stored behind the last change", inOrder.slice(0, 4)],
    [
      "the first one behind a change came later",
      [
        [100, one],
        [240, one, two],
        [330, three, two],
      ],
    ],
    [
      "old keys sign on beside the new one",
      [
        [100, one],
        [151, one, two],
        [200, two, one],
        [261, one, two, three],
      ],
    ],
    [
      "others sign too",
      [
        [100, stranger, one],
        [151, one, two, stranger],
      ],
    ],
  ])("is satisfied when %s", async (_, checkpoints) => {
    expect(await verifyRows(stored(checkpoints))).toMatchObject({ verdict: "OK", findings: [] });
  });

  test("alone signs one from outside, however soon behind the change", async () => {
    for (const size of [151, 200, 260])
      expect(await verifyRows(template, { from: checkpointOf(template, size, [two]), keys: trusted })).toMatchObject({
        verdict: "OK",
        findings: [],
        anchored: { to: size - 1 },
      });
  });

  test("is not asked for where the event that names it is not in order", async () => {
    const rows = stored(inOrder);
    setColumns(rows, 150, { id: "0".repeat(64) });

    expect(codesOf(await verifyRows(rows))).toEqual(["E_ID#150"]);
  });

  test("is the first one that the journal names, which nobody else signs for", async () => {
    const rows = journalWith(null, [[150, one]]);

    expect(await verifyRows(stored([[100], [151, one], [330, one]], rows))).toMatchObject({ findings: [] });
    expect(codesOf(await verifyRows(stored([[100], [151]], rows)))).toEqual(["E_KEY_EPOCH#150"]);
  });
});

describe("T40 T60 checkpoints that the keys of the journal do not explain", () => {
  test.each<[string, readonly Kept[], string[]]>([
    [
      "a key that was rotated out, over a later size",
      [
        [100, one],
        [151, one, two],
        [200, one],
      ],
      ["E_KEY_EPOCH#150"],
    ],
    [
      "a key that was rotated out, at the head",
      [
        [100, one],
        [151, one, two],
        [261, two, three],
        [340, two],
      ],
      ["E_KEY_EPOCH#260"],
    ],
    ["a key before its time", [[100, two]], ["E_KEY_EPOCH"]],
    [
      "the first one behind a change without the key before",
      [
        [100, one],
        [151, two],
      ],
      ["E_KEY_EPOCH#150"],
    ],
    [
      "the first one behind a change without the new key",
      [
        [100, one],
        [151, one],
      ],
      ["E_KEY_EPOCH#150"],
    ],
    [
      "a change whose key no checkpoint carries",
      [
        [100, one],
        [300, one, three],
      ],
      ["E_KEY_EPOCH#260"],
    ],
    ["a stranger's key", [[330, stranger]], ["E_KEY_EPOCH#260"]],
    ["no signature at all", [[330]], ["E_KEY_EPOCH#260"]],
  ])("%s", async (_, checkpoints, codes) => {
    const report = await verifyRows(stored(checkpoints), { keys: trusted });

    expect(codesOf(report).filter((code) => code.startsWith("E_"))).toEqual(codes);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });

  test.each([
    [1, []],
    [150, []],
    [151, ["E_KEY_EPOCH#150"]],
    [260, ["E_KEY_EPOCH#150"]],
    [261, ["E_KEY_EPOCH#260"]],
    [340, ["E_KEY_EPOCH#260"]],
  ])("from outside, of %d entries, signed by the first key", async (size, codes) => {
    const rows = copyOf(template);
    const report = await verifyRows(rows, { from: checkpointOf(rows, size, [one]), keys: trusted });

    expect(codesOf(report)).toEqual(codes);
    expect(report.anchored.to).toBe(codes.length === 0 ? size - 1 : null);
  });

  test("are named by name and id, whatever is in the key", async () => {
    const numbers = Array.from({ length: 40 }, (_, number) => keyOf(number));
    const plus = numbers.find(({ verifier }) => verifier.text.split("+").length > 3)!;
    const rows = journalWith(plus, []);
    const { findings } = await verifyRows(stored([[100, stranger]], rows));

    expect(findings).toMatchObject([{ code: "E_KEY_EPOCH", want: `${origin}+${plus.verifier.id}` }]);
  });

  test("the change of keys left out: what the new key signed is not explained", async () => {
    const rows = journalWith(one, []);

    expect(
      codesOf(
        await verifyRows(
          stored(
            [
              [100, one],
              [200, two],
            ],
            rows,
          ),
          { keys: trusted },
        ),
      ),
    ).toEqual(["E_KEY_EPOCH"]);
    expect(codesOf(await verifyRows(rows, { from: checkpointOf(rows, 200, [two]), keys: trusted }))).toEqual([
      "E_KEY_EPOCH",
    ]);
  });

  test("a change that somebody forged who has no key of the journal: no checkpoint has the key before it", async () => {
    const rows = journalWith(one, [[300, stranger]]);
    const forged = stored(
      [
        [100, one],
        [301, stranger],
        [340, stranger],
      ],
      rows,
    );

    expect(codesOf(await verifyRows(forged))).toEqual(["E_KEY_EPOCH#300"]);
    expect(codesOf(await verifyRows(forged, { keys: [one.verifier.text] }))).toEqual(["E_KEY_EPOCH#300"]);
  });

  test.each([
    ["of another name", keyOf(2, "testing/other").verifier.text],
    ["whose id is not its own", two.verifier.text.replace(two.verifier.id, "00000000")],
    ["that is none", "key"],
  ])("T60 a change to a key %s", async (_, key) => {
    const journal = new RawJournal(start, origin, one.verifier.text);
    journal.append(start, [keyChanged(key)]);

    expect(codesOf(await verifyRows(journal.rows))).toEqual(["E_JOURNAL_EVENT#1"]);
  });

  test("T60 a journal that opens with a key of another name", async () => {
    const journal = new RawJournal(start, origin, keyOf(2, "testing/other").verifier.text);

    expect(codesOf(await verifyRows(journal.rows))).toEqual(["E_GENESIS#0"]);
  });

  test("T39 another key under the id of a known one: its signature fails, and is not taken for the other", async () => {
    const rows = stored([[330, three]]);
    const strange = parseNote(checkpointOf(template, 330, [stranger])).signatures[0]!;
    const line = Buffer.concat([Buffer.from(three.verifier.id, "hex"), strange.signature]).toString("base64");
    rows.checkpoints[0] = { size: 330, note: `${checkpointOf(template, 330, [])}\n— ${origin} ${line}\n` };

    expect(codesOf(await verifyRows(rows))).toEqual(["E_CHECKPOINT_SIG"]);
  });
});

test("T38 no changed character of a checkpoint from outside leaves it to anchor under the key", async () => {
  const journal = new RawJournal(start, origin, one.verifier.text);
  journal.append(start, [{ stream: "log/short", type: "log.said" }]);
  const note = checkpointOf(journal.rows, 2, [one]);
  expect(await verifyRows(journal.rows, { from: note, keys: trusted })).toMatchObject({ anchored: { to: 1 } });

  await fc.assert(
    fc.asyncProperty(fc.nat(note.length - 1), fc.integer({ min: 0, max: 0x7f }), async (at, code) => {
      fc.pre(note.charCodeAt(at) !== code);
      const from = note.slice(0, at) + String.fromCharCode(code) + note.slice(at + 1);
      const report = await verifyRows(journal.rows, { from, keys: trusted });

      expect(report.anchored.to).toBeNull();
      expect(report.exitCode).toBeGreaterThan(0);
    }),
  );
});
