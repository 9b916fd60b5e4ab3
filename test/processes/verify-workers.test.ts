/** Verifying with threads: real threads on real files, through the built library. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { EventReference, NewEvent, VerifyReport } from "../../src/index.js";
import { runChild, startChild } from "./child.js";

const entries = 200_001;
const directory = mkdtempSync(join(tmpdir(), "ranges-"));
const path = join(directory, "state.ledger");

interface Told {
  readonly report?: VerifyReport;
  readonly error?: string;
  readonly threads: number;
  readonly ended: number;
  readonly progress: readonly (readonly [done: number, total: number])[];
  /** The most memory that the process took. */
  readonly peakMiB: number;
}

async function verifier(...args: readonly string[]): Promise<Told> {
  const { code, stderr, lines } = await runChild("range-verifier.mjs", args);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(lines.at(-1)!) as Told;
}

beforeAll(async () => {
  const ledger = await openLedger(path);
  let cause: EventReference | undefined;
  for (let tx = 0; tx < 200; tx++) {
    const streams = Array.from({ length: 10 }, (_each, place) => ({
      stream: `log/${(tx * 7 + place) % 40}`,
      events: Array.from({ length: 100 }, (_line, line) => ({
        type: "log.said",
        data: { tx, line, ...(line === 50 && { text: content(`said in ${tx} at ${place}`) }) },
      })),
    }));
    const { position, ids } = await ledger.append(streams, { ...(cause !== undefined && { cause }) });
    cause = { position, id: ids.at(-1)! };
  }
  await ledger.close();
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("three threads give the report of one, with progress all along, and end", { timeout: 300_000 }, async () => {
  const [alone, together] = [await verifier(path, "1"), await verifier(path, "3")];

  expect(alone).toMatchObject({ threads: 0, report: { verdict: "OK", size: entries, findings: [] } });
  expect(together).toMatchObject({ threads: 2, ended: 2 });
  expect(together.report).toEqual(alone.report);
  const { progress } = together;
  expect(progress.length).toBeGreaterThan(6);
  expect(progress.map(([done]) => done)).toEqual(progress.map(([done]) => done).sort((one, two) => one - two));
  expect(progress.at(-1)).toEqual([entries, entries]);
});

test("a thread that is killed costs time and nothing else", { timeout: 300_000 }, async () => {
  const told = await verifier(path, "3", "kill");

  expect(told).toMatchObject({ threads: 2, ended: 2, report: { verdict: "OK", size: entries, findings: [] } });
});

test.each([
  ["a verification that is stopped", "abort", "ABORTED"],
  ["a hook that throws", "throw", "a hook that throws"],
])("%s ends its threads", { timeout: 300_000 }, async (_, accident, error) => {
  expect(await verifier(path, "3", accident)).toMatchObject({ error, threads: 2, ended: 2 });
});

test("threads verify one position while another process appends", { timeout: 300_000 }, async () => {
  const copy = join(directory, "live.ledger");
  copyFileSync(path, copy);
  const appender = startChild("appender.mjs", [copy, "one", "10000000", "thing/1", "64"]);
  await appender.line("{");

  const sizes: number[] = [];
  for (let round = 0; round < 2; round++) {
    const { report, threads } = await verifier(copy, "2");
    expect(report).toMatchObject({ verdict: "OK", findings: [] });
    expect(threads).toBe(1);
    sizes.push(report!.size);
  }
  appender.process.kill();
  await appender.finished;

  expect(sizes[0]).toBeGreaterThan(entries);
  expect(sizes[1]).toBeGreaterThan(sizes[0]!);
});

const many = process.env.RUNLEDGER_LONG === "1" ? 3_000_000 : 300_000;
const large = `${many} entries in ${many / 100} streams are verified in bounded memory, by one thread and by two`;
test(large, { timeout: 600_000 }, async () => {
  const file = join(directory, "large.ledger");
  const ledger = await openLedger(file);
  const event = (number: number): NewEvent => ({
    type: "job.stepFinished",
    data: {
      attempt: 1,
      durationMs: number % 5_000,
      output: "0123456789abcdef".repeat(4),
      step: `step-${number % 997}`,
    },
  });
  for (let first = 1; first < many; first += 1_000)
    await ledger.append(
      Array.from({ length: 10 }, (_stream, place) => ({
        stream: `job/${Math.floor(first / 1_000)}-${place}`,
        events: Array.from({ length: 100 }, (_event, index) => event(first + place * 100 + index)),
      })),
    );
  await ledger.close();

  const [alone, together] = [await verifier(file, "1"), await verifier(file, "2")];
  process.stdout.write(`peak memory: ${alone.peakMiB} MiB in one thread, ${together.peakMiB} MiB with two\n`);
  rmSync(file);

  expect(alone).toMatchObject({ threads: 0, report: { verdict: "OK", size: many + 1 } });
  expect(together).toMatchObject({ threads: 1, report: { verdict: "OK", size: many + 1 } });
  expect(alone.peakMiB).toBeLessThan(300);
  expect(together.peakMiB).toBeLessThan(300);
});
