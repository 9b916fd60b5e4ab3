/** A command that says more than fits into memory: it is passed on and recorded to the byte, and `exec` stays small. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { start } from "../cli/command.js";
import { directory, onCleanup, runSeed } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const mebibyte = 1024 * 1024;
const outputBytes = (long ? 1_024 : 48) * mebibyte;
const peakMiBMax = 128;
/** Who prints it holds no more than some of it either. */
const printingMiBMax = 256;
const writer = fileURLToPath(new URL("../children/wide-writer.mjs", import.meta.url));

interface Weighed {
  readonly bytes: number;
  readonly digest: string;
}

interface Summary {
  readonly received: { readonly lines: number; readonly bytes: number };
  readonly recorded: { readonly lines: number; readonly bytes: number };
}

test(
  `${outputBytes / mebibyte} MiB of output are passed on and recorded to the byte, within ${peakMiBMax} MiB of memory`,
  { timeout: long ? 1_800_000 : 300_000 },
  async () => {
    const folder = directory();
    const path = join(folder, "state.ledger");
    const told = join(folder, "written.json");
    const command = [process.execPath, writer, String(outputBytes), String(runSeed), told];

    const run = await weigh(["exec", "--ledger", path, "--run", "large", "--json", "--", ...command]);
    const session = await weigh(["session", "--ledger", path, "large", "command.1"]);

    const written = JSON.parse(readFileSync(told, "utf8")) as Weighed;
    expect(written.bytes).toBeGreaterThan(outputBytes);
    expect([run.code, run.output]).toEqual([0, written]);
    const { received, recorded } = JSON.parse(run.stderr) as Summary;
    expect(received.bytes).toBe(written.bytes);
    expect(recorded).toEqual(received);
    expect([session.code, session.stderr, session.output]).toEqual([0, "", written]);
    process.stdout.write(
      `${outputBytes / mebibyte} MiB in ${received.lines} records: ${run.seconds} s and ${run.peakMiB} MiB to record, ` +
        `${session.seconds} s and ${session.peakMiB} MiB to print\n`,
    );
    if (process.platform !== "linux") return;
    expect(run.peakMiB).toBeLessThan(peakMiBMax);
    expect(session.peakMiB).toBeLessThan(printingMiBMax);
  },
);

/** Runs a command and weighs its output, and itself. */
async function weigh(args: readonly string[]): Promise<{
  readonly code: number | null;
  readonly output: Weighed;
  readonly stderr: string;
  readonly seconds: string;
  /** The most that it had in memory; 0 where the system does not say. */
  readonly peakMiB: number;
}> {
  const started = performance.now();
  const child = start(args);
  onCleanup(() => void child.kill("SIGKILL"));
  child.stdin.end();
  let peakBytes = 0;
  const look = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid!))), 50);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const output = await weighed(child.stdout);
  const code = await closed;
  clearInterval(look);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  return { code, output, stderr, seconds, peakMiB: Math.ceil(peakBytes / mebibyte) };
}

async function weighed(stream: Readable): Promise<Weighed> {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, digest: digest.digest("hex") };
}

/** The system keeps the peak, so that the last look is as good as all of them. */
function peakOf(pid: number): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    return 0; // gone, or another system
  }
}
