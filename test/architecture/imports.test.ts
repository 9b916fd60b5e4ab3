import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkArchitecture, linesMax, readImports, type Finding } from "./rules.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Files that may be longer than 400 lines, each with the reason why one table or one state machine needs them. */
const longFiles: Readonly<Record<string, string>> = {};

describe("the sources", () => {
  const sources = readSources(["src", "projections"]);

  test("import in the directions of the layout, without cycles", () => {
    const findings = checkArchitecture(sources, { longFiles });

    expect(sources.size).toBeGreaterThan(0);
    expect(findings.map(show)).toEqual([]);
  });

  test("name no store where all stores are meant, but in what they say to people", () => {
    const naming = /\b(sqlite|postgres(ql)?)\b|\bstore\.kind\b/i;
    for (const [file, text] of sources) {
      if (!/^(projections|src\/(kernel|journal|engine|commands|api))\//.test(file)) continue;
      const code = text.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
      expect(naming.exec(code)?.[0], file).toBeUndefined();
    }
  });

  test("name no advisory lock, which would outlive the interest of whoever took it on a shared connection", () => {
    for (const [file, text] of sources) expect(/pg_(try_)?advisory/i.exec(text)?.[0], file).toBeUndefined();
  });

  test("are as long as the list of long files says", () => {
    for (const [file, reason] of Object.entries(longFiles)) {
      expect(sources.get(file)?.split("\n").length ?? 0, `${file} no longer needs its place`).toBeGreaterThan(linesMax);
      expect(reason, `${file} needs a reason`).not.toBe("");
    }
  });
});

describe("a planted fault is reported", () => {
  const bystanders = {
    "src/kernel/errors.ts": "export class LedgerError {}",
    "src/journal/entry.ts": 'import { LedgerError } from "../kernel/errors.js"; export const entry = LedgerError;',
    "projections/run.ts": 'import { produce } from "immer"; export const run = produce;',
    "src/commands/run.ts": "export const decide = 1;",
    "src/engine/writer.ts": "export const writer = 1;",
    "src/api/runs.ts": "export const runs = 1;",
    "src/store/memory/store.ts": "export const memory = 1;",
    "src/store/sqlite/store.ts": 'import Database from "better-sqlite3"; export const sqlite = Database;',
    "src/forensic/verify.ts": "export const verify = 1;",
    "src/testing/laws.ts": "export const laws = 1;",
    "src/cli/main.ts": "export const main = 1;",
    "src/index.ts": 'export { sqlite } from "./store/sqlite/store.js";',
  };
  const check = (planted: Record<string, string>, options = {}): string[] =>
    checkArchitecture(new Map(Object.entries({ ...bystanders, ...planted })), options).map(show);

  test("nothing is reported where nothing is planted", () => {
    expect(check({})).toEqual([]);
  });

  test.each([
    ["src/kernel/a.ts", "../journal/entry.js", "kernel may not import journal"],
    ["src/journal/a.ts", "../../projections/run.js", "journal may not import projections"],
    ["src/journal/a.ts", "../store/sqlite/store.js", "journal may not import store/sqlite"],
    ["projections/a.ts", "../src/commands/run.js", "projections may not import commands"],
    ["src/commands/a.ts", "../engine/writer.js", "commands may not import engine"],
    ["src/engine/a.ts", "../api/runs.js", "engine may not import api"],
    ["src/engine/a.ts", "../store/sqlite/store.js", "engine may not import store/sqlite"],
    ["src/engine/a.ts", "../forensic/verify.js", "engine may not import forensic"],
    ["src/api/a.ts", "../index.js", "api may not import index"],
    ["src/api/a.ts", "../store/memory/store.js", "api may not import store/memory"],
    ["src/store/sqlite/a.ts", "../../engine/writer.js", "store/sqlite may not import engine"],
    ["src/store/sqlite/a.ts", "../../../projections/run.js", "store/sqlite may not import projections"],
    ["src/store/sqlite/a.ts", "../memory/store.js", "store/sqlite may not import store/memory"],
    ["src/forensic/a.ts", "../engine/writer.js", "forensic may not import engine"],
    ["src/forensic/a.ts", "../store/sqlite/store.js", "forensic may not import store/sqlite"],
    ["src/cli/a.ts", "../testing/laws.js", "cli may not import testing"],
    ["src/cli/a.ts", "../store/sqlite/store.js", "cli may not import store/sqlite"],
    ["src/testing/a.ts", "../cli/main.js", "testing may not import cli"],
    ["src/api/a.ts", "../testing/laws.js", "api may not import testing"],
  ])("%s importing %s", (file, specifier, message) => {
    expect(check({ [file]: `import { x } from "${specifier}";` })).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ["a type-only import", 'import type { X } from "TARGET";'],
    ["an inline type import", 'import { type X } from "TARGET";'],
    ["an import for effect", 'import "TARGET";'],
    ["an import that spans lines", 'import {\n  x,\n} from "TARGET";'],
    ["a re-export", 'export { x } from "TARGET";'],
    ["a re-exported type", 'export type { X } from "TARGET";'],
    ["a dynamic import", 'export const x = await import("TARGET");'],
    ["a dynamic import in a template", "export const x = await import(`TARGET`);"],
    ["an import type", 'export type X = import("TARGET").X;'],
    ["an import assignment", 'import x = require("TARGET");'],
    ["a call of require", 'export const x = require("TARGET");'],
    ["the name of the source file", 'import { x } from "../engine/writer.ts";'],
  ])("the wrong direction as %s", (_, text) => {
    const planted = { "src/kernel/a.ts": text.replace("TARGET", "../engine/writer.js") };

    expect(check(planted)).toEqual([expect.stringContaining("kernel may not import engine")]);
  });

  test("words in comments and strings are not imports", () => {
    const text = '// import "../engine/writer.js"\nexport const s = `import { x } from "../engine/writer.js"`;';

    expect(readImports("src/kernel/a.ts", text)).toEqual([]);
    expect(check({ "src/kernel/a.ts": text })).toEqual([]);
  });

  test.each([
    ["src/engine/a.ts", "better-sqlite3", "in src/store/sqlite alone"],
    ["src/store/sqlite/a.ts", "pg", "in src/store/postgres alone"],
    ["src/engine/writer.ts", "immer", "in projections and src/engine/projector* alone"],
    ["src/kernel/canonical.ts", "fast-json-stable-stringify", "nowhere"],
    ["src/api/a.ts", "commander/esm.mjs", "in src/cli alone"],
    ["src/kernel/a.ts", "@scope/name/deep", "@scope/name is imported nowhere"],
    ["src/cli/a.ts", "runledger", "nowhere"],
    ["src/kernel/a.ts", "fs", "nowhere"],
  ])("%s importing the package %s", (file, name, message) => {
    expect(check({ [file]: `import x from "${name}";` })).toEqual([expect.stringContaining(message)]);
  });

  test("each package is welcome in its own place", () => {
    const planted = {
      "src/engine/projector.ts": 'import { produce } from "immer";',
      "src/store/postgres/store.ts": 'import { Client } from "pg";',
      "src/testing/histories.ts": 'import fc from "fast-check";',
      "src/cli/main.ts": 'import { Command } from "commander";',
    };

    expect(check(planted)).toEqual([]);
  });

  test("pure code that reaches for a file", () => {
    expect(check({ "src/journal/a.ts": 'import { readFileSync } from "node:fs";' })).toEqual([
      expect.stringContaining("journal does no I/O and may not import node:fs"),
    ]);
  });

  test("an import of a file that is not there", () => {
    expect(check({ "src/kernel/a.ts": 'import { x } from "./gone.js";' })).toEqual([
      expect.stringContaining("no source file src/kernel/gone.js"),
    ]);
  });

  test("an import computed at run time, except in the command line", () => {
    const text = "export const load = (name: string) => import(name);";

    expect(check({ "src/api/a.ts": text })).toEqual([expect.stringContaining("computed at run time")]);
    expect(check({ "src/cli/define.ts": text })).toEqual([]);
  });

  test("a cycle among files of one folder, even through types", () => {
    const planted = {
      "src/kernel/a.ts": 'import type { B } from "./b.js"; export type A = B;',
      "src/kernel/b.ts": 'import { c } from "./c.js"; export type B = typeof c;',
      "src/kernel/c.ts": 'export { A } from "./a.js";',
    };

    expect(check(planted)).toEqual([
      "src/kernel/a.ts: cycle: src/kernel/a.ts → src/kernel/b.ts → src/kernel/c.ts → src/kernel/a.ts",
    ]);
  });

  test("a file that imports itself", () => {
    expect(check({ "src/kernel/a.ts": 'import { x } from "./a.js";' })).toEqual([expect.stringContaining("cycle")]);
  });

  test("everything re-exported at once", () => {
    const all = { "src/kernel/a.ts": 'export * from "./errors.js";' };
    const named = { "src/kernel/a.ts": 'export * as errors from "./errors.js";' };

    expect(check(all)).toEqual([expect.stringContaining("export-all")]);
    expect(check(named)).toEqual([expect.stringContaining("export-all")]);
  });

  test("a file of 401 lines that is not listed", () => {
    const planted = { "projections/long.ts": "// line\n".repeat(401), "src/kernel/full.ts": "// line\n".repeat(400) };

    expect(check(planted)).toEqual([expect.stringContaining("has 401 lines")]);
    expect(check(planted, { longFiles: { "projections/long.ts": "one table" } })).toEqual([]);
  });

  test.each(["src/kernel/utils/text.ts", "src/kernel/helpers/text.ts", "projections/util.ts"])(
    "the name %s",
    (file) => {
      expect(check({ [file]: "export const x = 1;" })).toEqual([expect.stringContaining("says nothing")]);
    },
  );

  test.each(["src/other.ts", "src/lib/a.ts", "src/projections/run.ts", "src/store/redis/store.ts"])(
    "the place of %s, which the layout does not know",
    (file) => {
      expect(check({ [file]: "export const x = 1;" })).toEqual([expect.stringContaining("outside the layout")]);
    },
  );
});

function show(finding: Finding): string {
  return `${finding.file}: ${finding.rule}: ${finding.message}`;
}

function readSources(folders: readonly string[]): Map<string, string> {
  const sources = new Map<string, string>();
  for (const folder of folders.filter((name) => existsSync(join(root, name)))) {
    for (const item of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(item.parentPath, item.name);
      // Not only .ts: a stray .js or .mts file must not slip past the rules.
      if (item.isFile() && /\.[cm]?[jt]sx?$/.test(item.name)) {
        sources.set(relative(root, path).split(sep).join("/"), readFileSync(path, "utf8"));
      }
    }
  }
  return sources;
}
