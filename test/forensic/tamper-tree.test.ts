/** The mutation harness, the stored nodes of the tree: a cache, whose faults say nothing of the journal. */
import { describe, expect, test } from "vitest";
import { formatReport } from "../../src/forensic/index.js";
import { completedNodes } from "../../src/engine/tree-nodes.js";
import type { RawNode } from "../../src/journal/raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { codesOf, edit, editCovered, journalRows, start, verifyRows } from "./journal.js";

/** The rows with their nodes, to be changed. */
async function withNodes(rows: RawRows): Promise<RawRows & { nodes: RawNode[] }> {
  const ids = rows.entries.map(({ id }) => String(id));
  return { ...rows, nodes: [...(await completedNodes({ ids: async () => [], nodes: async () => [] }, 0, ids))] };
}

/** A journal with three nodes: 768 entries and one more. */
function longRows(): RawRows {
  const journal = new RawJournal(start);
  while (journal.next < 769)
    journal.append(start + journal.next, [{ stream: "log/long", type: "log.said", data: { line: journal.next } }]);
  return journal.rows;
}

const other = "0".repeat(64);
type NodeRows = RawRows & { nodes: RawNode[] };

describe("T28 the stored nodes of the tree", () => {
  test.each<[string, (rows: NodeRows) => void, string[]]>([
    ["the first one changed", (rows) => (rows.nodes[0] = { ...rows.nodes[0]!, hash: other }), ["nodes 1/0"]],
    ["one in the middle changed", (rows) => (rows.nodes[1] = { ...rows.nodes[1]!, hash: other }), ["nodes 1/1"]],
    ["the last one changed", (rows) => (rows.nodes[2] = { ...rows.nodes[2]!, hash: other }), ["nodes 1/2"]],
    ["one that is no hash", (rows) => (rows.nodes[1] = { ...rows.nodes[1]!, hash: 7 }), ["nodes 1/1"]],
    ["the first one missing", (rows) => rows.nodes.shift(), ["nodes 1/0"]],
    ["one in the middle missing", (rows) => rows.nodes.splice(1, 1), ["nodes 1/1"]],
    ["the last one missing", (rows) => rows.nodes.pop(), ["nodes 1/2"]],
    ["all of them missing", (rows) => rows.nodes.splice(0), ["nodes 1/0"]],
    ["one twice", (rows) => rows.nodes.splice(1, 0, rows.nodes[1]!), ["nodes 1/1"]],
    [
      "one of entries that are not there yet",
      (rows) => rows.nodes.push({ level: 1, n: 3, hash: other }),
      ["nodes 1/3"],
    ],
    ["one of a level that is not there yet", (rows) => rows.nodes.push({ level: 2, n: 0, hash: other }), ["nodes 2/0"]],
    ["one of level 0", (rows) => rows.nodes.unshift({ level: 0, n: 0, hash: other }), ["nodes 0/0"]],
    ["one below 0", (rows) => rows.nodes.unshift({ level: 1, n: -1, hash: other }), ["nodes 1/-1"]],
    [
      "two swapped",
      (rows) => {
        const [one, two] = [rows.nodes[0]!, rows.nodes[1]!];
        rows.nodes.splice(0, 2, { ...one, hash: two.hash }, { ...two, hash: one.hash });
      },
      ["nodes 1/0"],
    ],
  ])("%s: derived, and the journal itself in order", async (_, change, where) => {
    const rows = await withNodes(longRows());
    change(rows);
    const report = await verifyRows(rows);

    expect(report.findings.map((finding) => [finding.code, finding.class, finding.where])).toEqual(
      where.map((each) => ["E_CACHE", "derived", each]),
    );
    expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null, failures: 1 });
    expect(formatReport(report)).toContain(
      "verdict   DERIVED    1 finding; the journal itself is in order; 769 entries checked\n",
    );
    expect(formatReport(report)).toContain("ok        chain      #0..#768\n");
  });

  test("as they must be are in order, and counted", async () => {
    const report = await verifyRows(await withNodes(longRows()));

    expect(report).toMatchObject({ verdict: "OK", findings: [] });
    expect(formatReport(report)).toMatch(/ok {8}tree {7}root [0-9a-f]{12}… of 769 entries, 3 stored nodes/);
  });

  test("all of them wrong take one line, which names the entries of the first and counts the others", async () => {
    const rows = await withNodes(longRows());
    rows.nodes = rows.nodes.map((node) => ({ ...node, hash: other }));
    const { findings } = await verifyRows(rows);

    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toBe("the node is not the root of entries #0 to #255; so 2 others of its level");
  });

  test("wrong in two ways take two lines", async () => {
    const rows = await withNodes(longRows());
    rows.nodes.splice(0, 2, { ...rows.nodes[0]!, hash: other });

    expect(codesOf(await verifyRows(rows))).toEqual(["E_CACHE", "E_CACHE"]);
  });

  test("of a type that a number must have", async () => {
    const rows = await withNodes(longRows());
    rows.nodes[1] = { ...rows.nodes[1]!, n: "1" };

    expect(codesOf(await verifyRows(rows))).toEqual(["E_TYPE", "E_CACHE"]);
  });

  test("say nothing more where the entries themselves are not in order", async () => {
    const rows = await withNodes(journalRows());
    edit(rows, 40, (fields) => (fields["data"] = {}));
    const report = await verifyRows(rows);

    expect(codesOf(report)).toEqual(["E_ID#40"]);
    expect(report.verdict).toBe("TAMPERED");
  });

  test("that were left behind when entries were written anew and covered show it", async () => {
    const rows = await withNodes(journalRows());
    editCovered(rows, 175, (fields) => (fields["actor"] = "mallory"));

    expect(codesOf(await verifyRows(rows))).toEqual(["E_CACHE"]);
  });
});
