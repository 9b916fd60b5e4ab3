import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { version } from "../../src/kernel/version.js";
import { directory } from "../engine/fixture.js";
import { addressOf, dropJournal, freshName } from "../postgres/journal.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const guide = read("src/GUIDE.md");
const projections = read("projections/README.md");

/** Every block of code in a document: its language and its text. */
const blocksOf = (text: string): readonly (readonly [string, string])[] =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", code = ""]) => [language, code]);

const [, working, , looking, building, inCi, inCron, moving] = blocksOf(readme).map(([, code]) => code);
const [, , proving, , checkpoints, importing] = blocksOf(guide).map(([, code]) => code);
const main = `"${process.execPath}" "${join(root, "dist/src/cli/main.js")}"`;

function node(example: string, cwd: string): readonly string[] {
  const child = spawnSync(process.execPath, [join(root, "test/examples", example)], { cwd, encoding: "utf8" });
  expect([child.stderr, child.status]).toEqual(["", 0]);
  return child.stdout.trimEnd().split("\n");
}

/** Runs the lines of a block, with the command as a reader has it. */
function bash(code: string | undefined, cwd: string, env: Readonly<Record<string, string>> = {}): string {
  const before = [
    `runledger() { ${main} "$@"; }`,
    // Following ends when it is interrupted.
    `npx() { shift; if [ "$1" = tail ]; then timeout -s INT 2 ${main} tail || [ $? = 124 ]; else ${main} "$@"; fi; }`,
  ];
  const child = spawnSync("bash", ["-euc", [...before, code].join("\n")], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...env },
  });
  expect([child.stderr, child.status]).toEqual([expect.not.stringMatching(/^runledger: [A-Z_]+: /m), 0]);
  return child.stdout;
}

test("every block of code is an example file, or commands that are run here", () => {
  expect(blocksOf(readme)).toEqual([
    ["js", read("test/examples/first-ledger.mjs")],
    ["sh", expect.stringContaining("npm ci")],
    ["js", read("test/examples/first-run.mjs")],
    ["sh", expect.stringContaining("npx runledger runs")],
    ["sh", expect.stringContaining("npx runledger exec --run build-1")],
    ["sh", expect.stringContaining("$CI_COMMIT")],
    ["sh", expect.stringContaining("--resume")],
    ["sh", expect.stringContaining("postgres://")],
    ["text", expect.stringContaining("one file or one schema")],
    ["text", expect.stringContaining("generation 2")],
  ]);
  expect(blocksOf(guide)).toEqual([
    ["js", read("test/examples/shop.mjs")],
    ["js", read("test/examples/shop-day.mjs")],
    ["sh", expect.stringContaining("runledger state")],
    ["js", read("test/examples/worker.mjs")],
    ["sh", expect.stringContaining("runledger keygen")],
    ["sh", expect.stringContaining("npx runledger append")],
    // test/postgres/rights.test.ts runs them.
    ["sql", expect.stringContaining("CREATE ROLE")],
    ["sql", expect.stringContaining("GRANT")],
  ]);
  expect(blocksOf(projections)).toEqual([
    ["ts", read("test/examples/invoices.ts")],
    ["ts", read("test/examples/invoices-replayed.ts")],
  ]);
});

test("the README's example does what it says", () => {
  const folder = directory();
  const lines = node("first-ledger.mjs", folder);

  expect(lines[0]).toMatch(/^#1 order\.placed order\/7@1 [0-9a-f]{12}$/);
  expect(lines[1]).toMatch(/^#2 order\.paid order\/7@2 [0-9a-f]{12}$/);
  expect(lines[2]).toMatch(/^OK: 3 events, head [0-9a-f]{12}$/);
  expect(existsSync(join(folder, "state.ledger"))).toBe(true);
  expect(existsSync(join(folder, "state.ledger-wal"))).toBe(false);
});

test("the guide's commands make a journal of any lines", () => {
  const folder = directory();
  writeFileSync(join(folder, "lines.jsonl"), '{"amount":1}\n{"amount":2}\n');

  expect(bash(importing, folder)).toMatch(/import\/april@2[\s\S]*verdict +OK +3 entries checked/);
});

test("the README's commands for working on it are scripts", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  for (const [, script = ""] of readme.matchAll(/npm (?:run )?(demo|test(?::\w+)?|check|bench)\b/g))
    expect(scripts).toHaveProperty([script]);

  expect(working).toMatch(/^npm ci && npm run demo .*\nnpm ci && npm test /);
});

test("the README's first run is recorded, claimed, completed and verified, and is seen from outside", () => {
  const folder = directory();

  expect(node("first-run.mjs", folder)).toEqual([
    expect.stringMatching(/^\d{8}T\d{6}Z-sum-up-March-\w{8}: completed, OK, 10 events$/),
  ]);
  const said = bash(looking, folder);
  expect(said).toMatch(/^RUN .*\n\S+-sum-up-March-\w{8} +completed /);
  expect(said).toMatch(/\n\S+-sum-up-March-\w{8} +done /);
  expect(said).toMatch(/\nverdict +OK /);
});

test("the README's build is under the ledger", () => {
  const folder = buildable();
  const said = bash(building, folder);

  expect(said).toMatch(/^it is built$/m);
  expect(said).toMatch(/^build-1 +completed .* exit 0 /m);
  expect(said).toMatch(/^#\d+ .* attempt command\.1 completed, exit 0/m);
  expect(said.match(/^it is built$/gm)).toHaveLength(2); // as it came, and from the ledger
  expect(said).toMatch(/\nverdict +OK /);
});

test("the README's build in CI ends with a checkpoint to keep", () => {
  expect(bash(inCi, buildable(), { CI_COMMIT: "1d0c41" })).toMatch(/it is built\nrunledger\/\w+\n\d+\n\S+=\n$/);
});

test("the README's backup in cron is tried again", () => {
  const SITE = directory();
  const script = "if [ -e once ]; then echo saved; else touch once; exit 3; fi\n";
  writeFileSync(join(SITE, "backup.sh"), `#!/bin/sh\n${script}`, { mode: 0o755 });

  const line = inCron?.replace(/^[\d* ]+ {2}/, "");
  expect(bash(line, directory(), { SITE })).toBe("saved\n");
  expect(bash(line, directory(), { SITE })).toBe("saved\n"); // the next night
});

test("the README's way from one file to several machines is gone", async () => {
  const folder = buildable();
  bash(building, folder);
  const journal = freshName();
  const address = /"postgres:[^"]*"/;
  expect(moving).toMatch(address);
  try {
    const said = bash(moving?.replace(address, `'${addressOf(journal)}'`), folder);
    expect(said).toMatch(/^copied [\d,]+ events and [\d,]+ contents: the head is #\d+ [0-9a-f]{64}$/m);
    expect(said).toMatch(/^verdict +OK /m);
    expect(said).toMatch(/^build-1 +completed .* exit 0 /m);
  } finally {
    await dropJournal(journal);
  }
});

/** A project with a build. */
function buildable(): string {
  const folder = directory();
  const build = "node -e \"console.log('it is built')\"";
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "site", private: true, scripts: { build } }));
  return folder;
}

test("the guide's shop does what it says, and is proved from its own module", () => {
  const folder = directory();
  symlinkSync(join(root, "test/examples/shop.mjs"), join(folder, "shop.mjs"));

  expect(node("shop-day.mjs", folder)).toEqual([
    "42 42 true",
    "ALREADY_PAID",
    "[ { key: '9', document: { total: 60, paid: false } } ]",
    "{ total: 42, paid: false }",
    "OK 4",
  ]);
  const said = bash(proving, folder);
  expect(said).toMatch(/4 documents of 2 tables as the events fold them/);
  expect(said).toMatch(/\{\n {2}"total": 42,\n {2}"paid": false\n\}\n$/);
});

test("the guide's worker does what it says", () => {
  expect(node("worker.mjs", directory())).toEqual(["done 1"]);
});

test("the invoices of projections/README.md are folded alike by the ledger and by a replay", async () => {
  const { digests, open } = await import("./invoices-replayed.js");

  expect(open).toBe(12);
  expect(digests[0]).toEqual(digests[1]);
});

test("the guide's commands for checkpoints and proofs do what they say", () => {
  const [cwd, KEYS] = [directory(), directory()];
  const said = bash(checkpoints, cwd, { KEYS });

  expect(said).toMatch(/\ninfo +anchored +to #1 /);
  expect(said.match(/verdict    VERIFIED/g)).toHaveLength(2);
  expect(readFileSync(join(cwd, "week.consistency"), "utf8")).toMatch(/^old 2\n/);
  expect(said).toMatch(/(\n— example\.com\/audit \S+){2}\n$/);
});

test("what the README and the guide point to is there", () => {
  const headings = (text: string): readonly string[] =>
    [...text.matchAll(/^##+ (.*)$/gm)].map(([, heading = ""]) => heading.toLowerCase().replaceAll(" ", "-"));
  for (const [own, text] of [
    ["README.md", readme],
    ["src/GUIDE.md", guide],
  ] as const)
    for (const [, path = "", , heading] of text.matchAll(/\]\(([^)#:]*)(#([^)]+))?\)/g)) {
      const file = path === "" ? own : join(dirname(own), path);
      expect([path, existsSync(join(root, file))]).toEqual([path, true]);
      if (heading !== undefined)
        expect([path, headings(read(file))]).toEqual([path, expect.arrayContaining([heading])]);
    }
});

test("the engine records the version of its package", () => {
  expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).toMatchObject({ version });
});
