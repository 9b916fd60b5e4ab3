/** Real processes: they run the built library, as hosts do. */
import { expect } from "vitest";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lines: readonly string[];
  readonly stderr: string;
}

export interface Child {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves when a line starts with this. */
  line(start: string): Promise<void>;
  /** What it said of its errors so far. */
  stderr(): string;
}

/** `hear` is told each line as it comes. `skewMs`: by how much the clock of the child's host is wrong. */
export function startChild(
  program: string,
  args: readonly string[],
  hear?: (line: string) => void,
  { skewMs = 0 }: { readonly skewMs?: number } = {},
): Child {
  const path = fileURLToPath(new URL(`../children/${program}`, import.meta.url));
  const preload =
    skewMs === 0 ? [] : ["--import", new URL(`../children/skewed-clock.mjs?ms=${skewMs}`, import.meta.url).href];
  const child = spawn(process.execPath, [...preload, path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  let rest = "";
  let stderr = "";
  let waiting: { start: string; resolve: () => void }[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const whole = (rest + text).split("\n");
    rest = whole.pop()!;
    for (const line of whole) {
      lines.push(line);
      hear?.(line);
      for (const each of waiting) if (line.startsWith(each.start)) each.resolve();
      waiting = waiting.filter(({ start }) => !line.startsWith(start));
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) =>
      resolve({ code, signal, lines: [...lines, rest].filter((line) => line !== ""), stderr }),
    );
  });
  return {
    process: child,
    finished,
    line: (start) => new Promise((resolve) => waiting.push({ start, resolve })),
    stderr: () => stderr,
  };
}

export function runChild(program: string, args: readonly string[]): Promise<Finished> {
  return startChild(program, args).finished;
}

/** A child that was to be killed at the k-th of so many steps was. Or it ended well, near the end: what is tried again while a machine
 *  is busy, as scrubs are, may have taken the run that counted the steps one or two more. */
export function expectKilled({ code, signal, stderr }: Finished, k: number, steps: number): void {
  const endedWell = code === 0 && k > steps - 4;
  expect([k, endedWell ? "SIGKILL" : signal, stderr]).toEqual([k, "SIGKILL", ""]);
}
