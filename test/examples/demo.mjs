/** Runs the README's example in a fresh folder, and shows what the command line says of the ledger that it leaves. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "runledger-demo-"));
const run = (path, ...args) => {
  const file = fileURLToPath(new URL(path, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: folder, stdio: "inherit" });
  if (status !== 0) process.exitCode = status ?? 1;
};

console.log("$ node first-ledger.mjs");
run("first-ledger.mjs");
console.log("\n$ runledger log");
run("../../dist/src/cli/main.js", "log");
console.log("\n$ runledger verify");
run("../../dist/src/cli/main.js", "verify");
rmSync(folder, { recursive: true, force: true });
