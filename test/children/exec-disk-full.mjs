/** Runs in a mount namespace of its own: `exec` of a command whose output does not fit beside the ledger.
 *  usage: exec-disk-full.mjs DIRECTORY (frees|stays|before) */
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLedger } from "../../dist/src/index.js";

const [directory, end] = process.argv.slice(2);
execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "runledger-test", directory]);
const ballast = join(directory, "ballast");
writeFileSync(ballast, Buffer.alloc(1024 * 1024, 1));
const file = join(directory, "state.ledger");
const main = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));
await (await openLedger(file)).close();
if (end === "before") fill();
const output = "yes 0123456789012345678901234567890123456789 | head -c 6000000";
const script =
  end === "frees" ? `${output}; rm ${ballast}; exit 4` : `cat /dev/zero > ${ballast} 2>/dev/null; ${output}; exit 4`;
const done = spawnSync(process.execPath, [main, "exec", "--ledger", file, "--run", "r1", "--", "sh", "-c", script], {
  cwd: "/",
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
});
rmSync(ballast, { force: true });
rmSync(`${ballast}-2`, { force: true });
const ledger = await openLedger(file);
const run = await ledger.runs.get("r1");
const { captures } = await ledger.sessions.list("r1");
const report = await ledger.verify({ level: "deep" });
await ledger.close();
const { verdict, findings } = report;
process.stdout.write(
  JSON.stringify({
    code: done.status,
    bytes: done.stdout.length,
    stderr: done.stderr,
    run,
    captures,
    verdict,
    findings: findings.length,
  }),
);

/** Leaves no byte of room. */
function fill() {
  const rest = openSync(`${ballast}-2`, "w");
  try {
    for (const size of [65_536, 4_096, 1]) while (wrote(rest, size));
  } finally {
    closeSync(rest);
  }
}

function wrote(handle, size) {
  try {
    return writeSync(handle, Buffer.alloc(size, 1)) > 0;
  } catch (error) {
    if (error.code === "ENOSPC") return false;
    throw error;
  }
}
