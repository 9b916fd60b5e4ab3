/** A built library with a defect in it: a copy of `dist` in which one place of one file is another. */
import { copyFileSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "../processes/child.js";
import type { Defect } from "./defects.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What a checker said of it. `crashed`: it came to no verdict, which shows nothing. */
export type Verdict = "red" | "green" | "crashed";

/** Makes a built library with a defect, or without, in a new folder. What is the same is linked. Answers where it stands. */
export function plant(folder: string, { file, find, put }: Pick<Defect, "file" | "find" | "put">): string {
  const text = readFileSync(join(root, "dist", file), "utf8");
  const count = text.split(find).length - 1;
  if (count !== 1)
    throw new Error(
      `the table of defects is stale: ${JSON.stringify(find)} must stand once in ${file}, found ${count}`,
    );
  const dist = join(folder, "dist");
  for (const each of readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" })) {
    if (!each.endsWith(".js")) continue;
    mkdirSync(dirname(join(dist, each)), { recursive: true });
    if (each !== join(file)) linkOrCopy(join(root, "dist", each), join(dist, each));
  }
  writeFileSync(
    join(dist, file),
    text.replace(find, () => put),
  );
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return dist;
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // the temporary folder is on another disk
  }
}

let free = Math.max(2, availableParallelism());
const waiting: (() => void)[] = [];

/** Has checkers look at a built library, in a process of its own; as many processes at once as there are cores. Answers what each
 *  said, and all that was said. */
export async function judge(
  dist: string,
  checkers: readonly string[],
  seed: number,
  tries: number,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly said: string }> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    const { lines, stderr } = await runChild("defect-driver.mjs", [dist, String(seed), String(tries), ...checkers]);
    const verdicts = checkers.map((name) => verdictOf(name, lines));
    return { verdicts, said: [...lines, stderr].join("\n") };
  } finally {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  }
}

function verdictOf(name: string, lines: readonly string[]): Verdict {
  const found = (["red", "green"] as const).find((verdict) => lines.includes(`${verdict}: ${name}`));
  return found ?? "crashed";
}
