/** The commands that the demo runs: small programs, written into its folder, that know nothing of a ledger. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Prints the hash of each file under a folder. */
const hashFiles = `import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

for (const name of readdirSync(process.argv[2], { recursive: true }).sort()) {
  if (!name.endsWith(".js")) continue;
  const bytes = readFileSync(join(process.argv[2], name));
  console.log(createHash("sha256").update(bytes).digest("hex"), name);
}
`;

/** Prints how many lines the files under a folder have, and fails the first time, before it has counted any. */
const countLines = `import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

if (!existsSync("tried-once")) {
  writeFileSync("tried-once", "");
  console.error("the disk of this demo is never there the first time");
  process.exit(7);
}
let lines = 0;
for (const name of readdirSync(process.argv[2], { recursive: true }))
  if (name.endsWith(".js")) lines += readFileSync(join(process.argv[2], name), "utf8").split("\\n").length - 1;
console.log(lines, "lines");
`;

/** Does numbered steps, one line in a file each, and goes on behind the last one that it finds there. */
const steps = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

const [file, count] = process.argv.slice(2);
const done = existsSync(file) ? readFileSync(file, "utf8").split("\\n").length - 1 : 0;
for (let step = done + 1; step <= Number(count); step++) {
  appendFileSync(file, \`step \${step}\\n\`);
  console.log("step", step);
  await setTimeout(100);
}
`;

/** Their names, as they stand in the folder. */
export const programs = { hashFiles: "hash-files.mjs", countLines: "count-lines.mjs", steps: "steps.mjs" } as const;

/** Puts them into a folder. */
export function writePrograms(folder: string): void {
  writeFileSync(join(folder, programs.hashFiles), hashFiles);
  writeFileSync(join(folder, programs.countLines), countLines);
  writeFileSync(join(folder, programs.steps), steps);
}
