/** Corrupt journals as evidence: what `verify` said of them once, it says for ever. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { findingKinds, formatReport, verify } from "../../src/forensic/index.js";
import { arrayRawReader, emptyRows } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { codesOf, verifyRows } from "./journal.js";

const folder = new URL("../../fixtures/corrupt/", import.meta.url);
const names = readdirSync(folder).sort();

/** The hash of all of them, name by name. It changes when a fixture is added, and must not change otherwise. */
const evidence = "f09aa98d0326c65a1a2ae20f5322ee2cf9ad0d748b880c0276899cff5a48f77b";

/** The projections of the fixtures: they fold what was once written, and so never change. */
const counters = defineProjection<{ n: number }>()({
  name: "counters",
  version: 1,
  indexes: { n: ({ n }) => [n] },
  on: { "counter.raised": { key: ({ stream }) => stream, apply: (counter) => ({ n: (counter?.n ?? 0) + 1 }) } },
});
const dice = defineProjection<{ n: number }>()({
  name: "dice",
  version: 1,
  on: { "die.thrown": { key: ({ stream }) => stream, apply: () => ({ n: Math.random() }) } },
});

interface Expected {
  readonly fault: string;
  /** Default `full`. */
  readonly level?: "deep";
  /** Checkpoints from outside, and keys, that verify is given. */
  readonly from?: readonly string[];
  readonly keys?: readonly string[];
  readonly verdict: string;
  readonly exitCode: number;
  readonly firstBad: number | null;
  readonly findings: readonly string[];
}

/** The first line says what is wrong and what must be found; each other line is a row of a table. */
function read(name: string): { readonly expected: Expected; readonly rows: RawRows } {
  const [first, ...lines] = readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n");
  const rows = emptyRows();
  for (const line of lines) {
    const { table, row } = JSON.parse(line, (_, value: unknown) =>
      isBytes(value) ? Buffer.from(value.base64, "base64") : value,
    ) as { table: keyof RawRows; row: never };
    (rows[table] ??= []).push(row);
  }
  return { expected: JSON.parse(first ?? "") as Expected, rows };
}

function isBytes(value: unknown): value is { readonly base64: string } {
  return typeof value === "object" && value !== null && "base64" in value;
}

test("no corrupt fixture was changed or taken away", () => {
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\n`).update(readFileSync(new URL(name, folder)));

  expect(hash.digest("hex")).toBe(evidence);
});

describe("fixtures/corrupt", () => {
  test.each(names)("%s", async (name) => {
    const { expected, rows } = read(name);
    const { from = [], keys = [] } = expected;
    const report = await (expected.level === "deep"
      ? verify(arrayRawReader(rows), { level: "deep", projections: [counters, dice], from, keys })
      : verifyRows(rows, { from, keys }));

    expect(codesOf(report)).toEqual(expected.findings);
    expect(report).toMatchObject({
      verdict: expected.verdict,
      exitCode: expected.exitCode,
      firstBad: expected.firstBad,
    });
    expect(formatReport(report)).toContain(`${rows.entries.length} entries checked`);
  });

  test.each(names)("%s says the same of the journal at the deep level", async (name) => {
    const { expected, rows } = read(name);
    const { from = [], keys = [], findings } = expected;
    const report = await verify(arrayRawReader(rows), { level: "deep", projections: [counters, dice], from, keys });

    expect(codesOf(report)).toEqual(findings);
    expect(report.verdict).toBe(expected.verdict);
  });

  test("has one for each kind of finding", () => {
    const found = new Set(
      names.flatMap((name) => read(name).expected.findings.map((finding) => finding.split("#")[0])),
    );

    expect(found).toEqual(new Set(Object.keys(findingKinds)));
  });
});
