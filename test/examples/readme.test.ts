import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { version } from "../../src/kernel/version.js";
import { directory } from "../engine/fixture.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");

test("the README's example is the example file, and does what it says", () => {
  const example = readFileSync(join(root, "test/examples/first-ledger.mjs"), "utf8");
  expect(readme).toContain(`\`\`\`js\n${example}\`\`\``);

  const folder = directory();
  const child = spawnSync(process.execPath, [join(root, "test/examples/first-ledger.mjs")], {
    cwd: folder,
    encoding: "utf8",
  });

  expect(child.stderr).toBe("");
  const lines = child.stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^#1 order\.placed order\/7@1 [0-9a-f]{12}$/);
  expect(lines[1]).toMatch(/^#2 order\.paid order\/7@2 [0-9a-f]{12}$/);
  expect(lines[2]).toMatch(/^OK: 3 events, head [0-9a-f]{12}$/);
  expect(existsSync(join(folder, "state.ledger"))).toBe(true);
  expect(existsSync(join(folder, "state.ledger-wal"))).toBe(false);
});

test("the README's commands for checkpoints and proofs do what they say", { timeout: 60_000 }, () => {
  const [, commands = ""] = /```sh\n([\s\S]*?)```/.exec(readme) ?? [];
  const runledger = `runledger() { "${process.execPath}" "${join(root, "dist/src/cli/main.js")}" "$@"; }`;
  const [cwd, KEYS] = [directory(), directory()];

  const child = spawnSync("bash", ["-euc", `${runledger}\n${commands}`], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], KEYS },
  });

  expect([child.stderr, child.status]).toEqual([expect.not.stringContaining("runledger: "), 0]);
  expect(child.stdout).toMatch(/\ninfo +anchored +to #1 /);
  expect(child.stdout.match(/verdict    VERIFIED/g)).toHaveLength(2);
  expect(readFileSync(join(cwd, "week.consistency"), "utf8")).toMatch(/^old 2\n/);
  expect(child.stdout).toMatch(/(\n— example\.com\/audit \S+){2}\n$/);
});

test("every document that another names is there", () => {
  for (const [, path] of readme.matchAll(/\]\(([^)#:]+)\)/g))
    expect([path, existsSync(join(root, path!))]).toEqual([path, true]);
});

test("the engine records the version of its package", () => {
  expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).toMatchObject({ version });
});
