/** Verifies a ledger where it must not write: as another user (`user`), on a file system that is mounted read-only, in a mount
 *  namespace of its own (`media`), or as it is (`owner`). usage: media-verifier.mjs PATH user|media|owner */
import { execFileSync } from "node:child_process";
import { writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { openRawReader } from "../../dist/src/index.js";
import { formatReport, verify } from "../../dist/src/forensic/index.js";

const [path, how] = process.argv.slice(2);
const directory = dirname(path);
if (how === "media") {
  execFileSync("mount", ["--bind", directory, directory]);
  execFileSync("mount", ["-o", "remount,bind,ro", directory]);
}
// Permissions mean nothing to root.
if (how === "user" && process.getuid() === 0) {
  process.setgroups([]);
  process.setgid(65_534);
  process.setuid(65_534);
}
let writable = "yes";
try {
  if (how !== "owner") writeFileSync(join(directory, "new"), "");
} catch (error) {
  writable = error.code;
}
const reader = await openRawReader(path);
const report = await verify(reader);
await reader.close();
const { verdict, size, copied, evidence } = report;
writeSync(1, JSON.stringify({ writable, verdict, size, copied, evidence, text: formatReport(report) }));
