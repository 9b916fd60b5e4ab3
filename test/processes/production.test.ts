/** The built library in processes of its own, with `NODE_ENV` as hosts set it. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freshPlace, runSeed, sharedStoreNames } from "../engine/fixture.js";

const program = fileURLToPath(new URL("../children/stock-digest.mjs", import.meta.url));

function run(environment: "development" | "production"): readonly string[] {
  const told = execFileSync(process.execPath, [program, String(runSeed), ...sharedStoreNames.map(freshPlace)], {
    encoding: "utf8",
    env: { ...process.env, NODE_ENV: environment },
  });
  return told.trimEnd().split("\n");
}

test("D13 on every store production leaves the same bytes and digests as development", () => {
  const [memory, ...others] = run("development");

  expect(memory).toMatch(/^[0-9a-f]{64} ([0-9a-f]{64}) \1 OK$/);
  expect(others).toEqual([memory, memory, memory]);
  expect(run("production")).toEqual([memory, ...others]);
});
