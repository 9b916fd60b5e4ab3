import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";

const entry = fileURLToPath(new URL("digests-of-histories.ts", import.meta.url));
const seed = process.env.RUNLEDGER_SEED ?? "1";
const directory = mkdtempSync(join(tmpdir(), "runledger-production-"));

/** The whole of it in one file, as a host's own build makes it. */
async function bundle(name: string, minify: boolean): Promise<string> {
  await build({
    configFile: false,
    logLevel: "silent",
    ssr: { noExternal: true },
    build: {
      ssr: entry,
      outDir: join(directory, name),
      minify,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "main.mjs" } },
    },
  });
  return join(directory, name, "main.mjs");
}

function run(file: string, environment: "development" | "production"): string {
  return execFileSync(process.execPath, [file, seed], {
    encoding: "utf8",
    env: { ...process.env, NODE_ENV: environment },
    maxBuffer: 64 * 1024 * 1024,
  });
}

let [plain, minified] = ["", ""];
beforeAll(async () => {
  plain = await bundle("plain", false);
  minified = await bundle("minified", true);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("D13 reducers lead to the same digests and patches in production, and from a minified build", () => {
  const development = run(plain, "development");

  expect(development.split("\n").length).toBe(301);
  expect(development).toMatch(/^([0-9a-f]{64}) \1 \1 /);
  expect(run(plain, "production") === development).toBe(true);
  expect(run(minified, "development") === development).toBe(true);
  expect(run(minified, "production") === development).toBe(true);
});
