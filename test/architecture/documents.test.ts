/** What the documents list is what the code has: error codes, findings, tables, decisions, links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { exitCodeOf } from "../../src/cli/exit.js";
import { findingKinds } from "../../src/forensic/findings.js";
import { LedgerError } from "../../src/kernel/errors.js";
import type { LedgerErrorCode } from "../../src/kernel/errors.js";
import { schema } from "../../src/store/sqlite/schema.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const decisions = readdirSync(join(root, "src/decisions")).filter((name) => /^\d{4}-/.test(name));

describe("src/ERRORS.md", () => {
  const rows = [...read("src/ERRORS.md").matchAll(/^\| `([A-Z_]+)`( ³| ʳ| ᶠ)? \|/gm)];

  test("has one row for each code of an error, and no other", () => {
    const [, union = ""] = /export type LedgerErrorCode =([\s\S]*?);\n\n/.exec(read("src/kernel/errors.ts")) ?? [];
    const codes = [...union.matchAll(/"([A-Z_]+)"/g)].map(([, code]) => code);

    expect(rows).toHaveLength(codes.length);
    expect(new Set(rows.map(([, code]) => code))).toEqual(new Set(codes));
  });

  test("marks the codes with which the command ends otherwise than with 1", () => {
    for (const [, code, mark] of rows) {
      const error = new LedgerError(code as LedgerErrorCode, "");
      const found = [exitCodeOf(error, true), exitCodeOf(error, false)];

      const marks: Readonly<Record<string, readonly number[]>> = { " ³": [3, 3], " ʳ": [1, 3], " ᶠ": [75, 75] };
      expect([code, found]).toEqual([code, marks[mark ?? ""] ?? [1, 1]]);
    }
  });
});

describe("src/FORMAT.md", () => {
  const format = read("src/FORMAT.md");
  const section = (number: number): string => format.split(/^## \d+\. /m)[number] ?? "";

  test("names every code of a finding in section 10, and no other", () => {
    const named = [...section(10).matchAll(/`([EW]_[A-Z_]+[A-Z])`/g)].map(([, code]) => code);

    expect(new Set(named)).toEqual(new Set(Object.keys(findingKinds)));
  });

  test("lists every table of the SQLite file in section 12", () => {
    const listed = [...section(12).matchAll(/^\| `(\w+)` \|/gm)].map(([, table]) => table);

    expect(listed).toEqual(schema.filter(({ type }) => type === "table").map(({ name }) => name));
  });
});

test("every public name says what it is", () => {
  for (const name of readdirSync(join(root, "test/api")).filter((file) => file.endsWith(".api.md"))) {
    const bare = [...read(`test/api/${name}`).matchAll(/^\/\/ @public \(undocumented\)\nexport \w+ (\w+)/gm)];

    expect([name, bare.map(([, exported]) => exported)]).toEqual([name, []]);
  }
});

test("the list of decisions has every page, under its title", () => {
  const index = read("src/decisions/README.md");

  for (const name of decisions) {
    const [, number, title] = /^# (\d{4}) (.*)$/m.exec(read(`src/decisions/${name}`)) ?? [];
    expect(index).toContain(`| [${number}](${name}) | ${title} |`);
  }
});

test("a link from one document to another leads to a file that is there", () => {
  const documents = [
    "README.md",
    "src/GUIDE.md",
    "CHANGELOG.md",
    "src/ARCHITECTURE.md",
    "src/ERRORS.md",
    "src/FORMAT.md",
    "src/decisions/README.md",
    "test/README.md",
    "fixtures/README.md",
    "projections/README.md",
    ...decisions.map((name) => `src/decisions/${name}`),
  ];
  for (const document of documents)
    for (const [, path = ""] of read(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      expect([document, path, existsSync(join(root, dirname(document), path))]).toEqual([document, path, true]);
});

test("every file that test/order.ts starts first is there", () => {
  const named = [...read("test/order.ts").matchAll(/"(test\/.*\.test\.ts)"/g)].map(([, path = ""]) => path);

  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
