/** Runs the command in both ways that the tests need: as its users do, as a process of the built `dist` (`npm test` builds
 *  first), and inside the test, for tables of cases, in the time that a process takes to start. */
import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onCleanup } from "../cleanups.js";
import { runCommandLine } from "../../src/cli/program.js";
import { openLedger } from "../../src/index.js";

export const mainFile: string = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly bytes: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A folder for one test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runledger-cli-"));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where a ledger of one test can be. */
export function newLedgerFile(): string {
  return join(newFolder(), "state.ledger");
}

/** Starts the command and leaves its streams to the test. */
export function start(args: readonly string[], options: RunOptions = {}): ChildProcessWithoutNullStreams {
  const env = { PATH: process.env["PATH"] ?? "", ...options.env };
  return spawn(process.execPath, [mainFile, ...args], {
    env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
}

/** Runs the command to its end. */
export async function runledger(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = start(args, options);
  // A command that refuses its arguments does not read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  return finish(child);
}

/** Runs the command inside this process, on streams of its own; with `terminal` they say that they are one. */
export async function call(
  args: readonly string[],
  options: RunOptions & { readonly terminal?: boolean } = {},
): Promise<Finished> {
  const [stdout, stderr] = [new Collector(options.terminal), new Collector(options.terminal)];
  const stdin = Readable.from(options.input === undefined ? [] : [Buffer.from(options.input)]);
  const code = await runCommandLine(args, { stdin, stdout, stderr, env: options.env ?? {} });
  return { code, bytes: stdout.bytes(), stdout: stdout.bytes().toString(), stderr: stderr.bytes().toString() };
}

class Collector extends PassThrough {
  readonly isTTY: boolean;
  private readonly chunks: Buffer[] = [];

  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
    this.on("data", (chunk: Buffer) => this.chunks.push(chunk));
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

/** Waits for a started command and collects what it says from now on. */
export async function finish(child: ChildProcessWithoutNullStreams): Promise<Finished> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const bytes = Buffer.concat(stdout);
  return { code, bytes, stdout: bytes.toString(), stderr: Buffer.concat(stderr).toString() };
}

/** The objects of an output of JSON lines. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** JSON Lines of small objects, numbered from 1. */
export function numberedLines(count: number): string {
  let text = "";
  for (let number = 1; number <= count; number++) text += `{"number":${number}}\n`;
  return text;
}

/** A ledger with numbered events in `log/a`, from 1, each append a batch of so many. */
export async function ledgerWith(events: number, batch = 1_000): Promise<string> {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  for (let number = 1; number <= events; number += batch) {
    const size = Math.min(batch, events - number + 1);
    await ledger.append(
      "log/a",
      Array.from({ length: size }, (_, index) => ({ type: "line.appended", data: { number: number + index } })),
    );
  }
  await ledger.close();
  return file;
}

/** Writes a file into a folder of its own. */
export function newFile(name: string, content: string | Uint8Array): string {
  const file = join(newFolder(), name);
  writeFileSync(file, content);
  return file;
}
