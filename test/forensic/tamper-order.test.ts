/** The mutation harness, what entries say of each other: order, tx, causes, time. */
import { describe, expect, test } from "vitest";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { fieldsOf } from "../../src/testing/raw-journal.js";
import {
  attack,
  codesOf,
  countOf,
  edit,
  editCovered,
  editSealed,
  journalRows,
  last,
  otherRows,
  places,
  row,
  setColumns,
  verifyRows,
} from "./journal.js";

describe("order", () => {
  test.each([0, 1, ...places])("T09 #%d dropped", async (position) => {
    const { found, firstBad, exitCode } = await attack((rows) => rows.entries.splice(position, 1));

    expect(found).toEqual([`E_SEQ_GAP#${position}`]);
    expect({ firstBad, exitCode }).toEqual({ firstBad: position, exitCode: 1 });
  });

  test("T09 many dropped at once, inside tx and across the edge of a page", async () => {
    const { found } = await attack((rows) => rows.entries.splice(171, 100));

    expect(found).toEqual(["E_SEQ_GAP#171"]);
  });

  test.each(places)("T10 #%d dropped and the others renumbered, text and all", async (position) => {
    const rows = journalRows();
    rows.entries.splice(position, 1);
    for (let at = position; at < rows.entries.length; at++) {
      edit(rows, at, (fields) =>
        Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! - 1, (fields["tx"] as number[])[1]] }),
      );
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report).slice(0, 2)).toEqual([`E_ID#${position}`, `E_PREV#${position}`]);
    expect(report).toMatchObject({ firstBad: position, exitCode: 1 });
  });

  test.each(places)("T10 #%d dropped, the others renumbered and each sealed alone", async (position) => {
    const rows = journalRows();
    rows.entries.splice(position, 1);
    for (let at = position; at < rows.entries.length; at++) {
      editSealed(rows, at, (fields) =>
        Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! - 1, (fields["tx"] as number[])[1]] }),
      );
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report)[0]).toBe(`E_PREV#${position}`);
    expect(report).toMatchObject({ firstBad: position, exitCode: 1 });
  });

  test.each([1, ...places])("T11 #%d and the next one change their places", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      const [one, two] = [row(rows, position), row(rows, position + 1)];
      rows.entries[position] = { ...two, seq: position };
      rows.entries[position + 1] = { ...one, seq: position + 1 };
    });

    expect(found).toEqual([`E_SEQ#${position}`, `E_SEQ#${position + 1}`]);
    expect(firstBad).toBe(position);
  });

  test.each(places)("T11 #%d and the two behind it rotate", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      const three = [row(rows, position + 1), row(rows, position + 2), row(rows, position)];
      three.forEach((each, index) => (rows.entries[position + index] = { ...each, seq: position + index }));
    });

    expect(found[0]).toBe(`E_SEQ#${position}`);
    expect(new Set(found.map((code) => code.split("#")[0]))).toEqual(new Set(["E_SEQ"]));
    expect(firstBad).toBe(position);
  });

  test.each(places)("T12 the bytes of #%d once more, right behind it, the others moved on", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      rows.entries.splice(position + 1, 0, row(rows, position));
      rows.entries.forEach((each, seq) => (rows.entries[seq] = { ...each, seq }));
    });

    expect(found[0]).toBe(`E_SEQ#${position + 1}`);
    expect(found.length).toBeLessThanOrEqual(3);
    expect(firstBad).toBe(position + 1);
  });

  test("T12 the bytes of an early entry once more, at the end", async () => {
    const { found } = await attack((rows) => rows.entries.push({ ...row(rows, 40), seq: 340 }));

    expect(found).toEqual(["E_SEQ#340"]);
  });

  test.each(places)(
    "T12 #%d once more under a new position with the same revision, sealed and covered",
    async (position) => {
      const { found, firstBad } = await attack((rows) => {
        const twin = row(rows, position);
        rows.entries.splice(position + 1, 0, twin);
        rows.entries.splice(position + 2);
        editSealed(rows, position + 1, (fields) =>
          Object.assign(fields, { seq: position + 1, tx: [position + 1, 1], prev: twin.id }),
        );
        setColumns(rows, position + 1, { seq: position + 1, before: position });
        rows.streams = rows.streams.map((stream) =>
          stream.name === "log/long" ? { ...stream, rev: fieldsOf(twin).rev, seq: position + 1 } : stream,
        );
      });

      expect(found).toContain(`E_REV#${position + 1}`);
      expect(firstBad).toBe(position + 1);
    },
  );

  test.each(places)("T13 an event forged in place of #%d, with an id and a link of its own", async (position) => {
    const { found } = await attack((rows) =>
      editSealed(rows, position, (fields) => (fields["data"] = { forged: true })),
    );

    expect(found).toEqual([`E_PREV#${position + 1}`]);
  });

  test.each(places)("T13 an event forged behind #%d, the others renumbered and sealed one by one", async (position) => {
    const rows = journalRows();
    const forged = row(rows, position);
    rows.entries.splice(position + 1, 0, forged);
    editSealed(rows, position + 1, (fields) =>
      Object.assign(fields, { stream: "log/forged", rev: 1, data: {}, prev: forged.id }),
    );
    for (let at = position + 1; at < rows.entries.length; at++) {
      editSealed(rows, at, (fields) =>
        Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! + 1, (fields["tx"] as number[])[1]] }),
      );
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report)).toContain(`E_PREV#${position + 2}`);
    expect(report.exitCode).toBe(1);
  });

  test.each(places)("T14 #%d taken from another journal", async (position) => {
    const { found, firstBad } = await attack(
      (rows) =>
        (rows.entries[position] = {
          ...row(otherRows(), position),
          stream: row(rows, position).stream,
          type: row(rows, position).type,
        }),
    );

    expect(found[0]).toBe(`E_PREV#${position}`);
    expect(found).toContain(`E_PREV#${position + 1}`);
    expect(firstBad).toBe(position);
  });

  test.each(places)("T14 everything from #%d on taken from another journal", async (position) => {
    const rows = journalRows();
    const other = otherRows();
    for (let at = position; at < 340; at++) rows.entries[at] = row(other, at);
    const report = await verifyRows(rows);

    expect(codesOf(report)[0]).toBe(`E_PREV#${position}`);
    expect(countOf(report, "E_PREV")).toBe(1);
    expect(report.exitCode).toBe(1);
  });
});

test("a missing entry explains as many jumps in revisions as it is entries, and no more", async () => {
  const { found } = await attack((rows) => {
    editCovered(rows, 175, (fields) => (fields["rev"] = Number(fields["rev"]) + 1));
    rows.entries.splice(40, 1);
  });

  expect(found.slice(0, 2)).toEqual(["E_SEQ_GAP#40", "E_REV#175"]);
});

describe("tx", () => {
  test.each([
    ["one entry short", 171],
    ["two entries short", 170],
    ["across the edge of a page", 271],
  ])("T07 the journal cut inside a tx, %s", async (_, lastKept) => {
    const rows = journalRows();
    rows.entries.splice(lastKept + 1);
    const report = await verifyRows(rows);

    expect(report.findings.find(({ code }) => code === "E_TX_INCOMPLETE")?.position).toBe(lastKept);
    expect(report.exitCode).toBe(1);
  });

  test("T07 cut inside a tx and gone on with another one", async () => {
    const { found } = await attack((rows) => editCovered(rows, 171, (fields) => (fields["tx"] = [171, 1])));

    expect(found).toEqual(["E_TX#171"]);
  });

  test.each([
    ["a larger count", 175, [175, 2], ["E_TX#176"]],
    ["an earlier first", 175, [174, 2], ["E_TX#175"]],
    ["a count of 0", 175, [175, 0], ["E_TX#175"]],
    ["a count beyond the limit", 175, [175, 10_001], ["E_TX#175"]],
    ["a first behind the entry", 175, [176, 2], ["E_TX#175"]],
    ["three numbers", 175, [175, 1, 1], ["E_TX#175"]],
    ["the last entry with a larger count", last, [last, 2], ["E_TX_INCOMPLETE#339"]],
  ])("a tx with %s", async (_, position, tx, codes) => {
    const { found } = await attack((rows) => editCovered(rows, position, (fields) => (fields["tx"] = tx)));

    expect(found).toEqual(codes);
  });

  test("a tx whose entries differ in its count", async () => {
    const { found } = await attack((rows) => editCovered(rows, 171, (fields) => (fields["tx"] = [170, 4])));

    expect(found).toEqual(["E_TX#171"]);
  });

  test("entries of a tx with two times", async () => {
    const { found } = await attack((rows) => {
      const at = fieldsOf(row(rows, 171)).at + 1;
      editCovered(rows, 171, (fields) => (fields["at"] = at));
      setColumns(rows, 171, { at });
    });

    expect(found).toEqual(["E_TX#171", "W_CLOCK#172"]);
  });
});

describe("causes", () => {
  test.each([
    ["to itself", (rows: RawRows) => row(rows, 175).id],
    ["to a later entry", (rows: RawRows) => row(rows, 200).id],
    ["to no entry", () => "ab".repeat(32)],
  ])("T32 a cause %s", async (_, id) => {
    const { found, exitCode } = await attack((rows) => {
      const cause = id(rows);
      editCovered(rows, 175, (fields) => (fields["cause"] = cause));
    });

    expect(found[0]).toBe("E_CAUSE#175");
    expect(exitCode).toBe(1);
  });

  test("T32 a cause in the same tx", async () => {
    const { found } = await attack((rows) => {
      const cause = row(rows, 170).id;
      editCovered(rows, 171, (fields) => (fields["cause"] = cause));
    });

    expect(found).toEqual(["E_CAUSE#171"]);
  });
});

describe("time", () => {
  function setTime(rows: RawRows, position: number, at: number): void {
    editCovered(rows, position, (fields) => (fields["at"] = at));
    setColumns(rows, position, { at });
  }

  test.each(places)("T29 the time falls at #%d", async (position) => {
    const { found, exitCode } = await attack((rows) => setTime(rows, position, 1_000));

    expect(found[0]).toBe(`W_CLOCK#${position}`);
    expect(exitCode).toBe(0);
  });

  test.each(places)("T29 the time falls by one ms at #%d", async (position) => {
    const { found, exitCode } = await attack((rows) => setTime(rows, position, Number(row(rows, position - 1).at) - 1));

    expect(found).toEqual([`W_CLOCK#${position}`]);
    expect(exitCode).toBe(0);
  });

  test("T29 the time may step by 366 days, and no ms more", async () => {
    const foundAfter = async (stepMs: number): Promise<string[]> => {
      const rows = journalRows();
      const at = Number(row(rows, last - 1).at) + stepMs;
      setTime(rows, last, at);
      return codesOf(await verifyRows(rows, { now: at }));
    };

    expect(await foundAfter(366 * 86_400_000)).toEqual([]);
    expect(await foundAfter(366 * 86_400_000 + 1)).toEqual([`W_CLOCK#${last}`]);
  });

  test.each(places)("T29 the time jumps by ten years at #%d", async (position) => {
    const at = Date.UTC(2036, 0, 1);
    const { found, exitCode } = await attack((rows) => setTime(rows, position, at));

    expect(found).toEqual([`W_CLOCK#${position}`, `W_CLOCK#${position + 1}`]);
    expect(exitCode).toBe(0);
  });

  test("T29 entries ahead of the clock of whoever verifies are a warning, at the first of them", async () => {
    const rows = journalRows();
    const now = Number(row(rows, 175).at) - 1;
    const report = await verifyRows(rows, { now });

    expect(codesOf(report)).toEqual(["W_CLOCK#175"]);
    expect(report.exitCode).toBe(0);
    expect(codesOf(await verifyRows(rows, { now: Number(row(rows, last).at) }))).toEqual([]);
  });

  test("T29 a leap second is no trouble: an hour that repeats a second is a time that stands still", async () => {
    const { found } = await attack((rows) => setTime(rows, 175, Number(row(rows, 174).at)));

    expect(found).toEqual([]);
  });
});
