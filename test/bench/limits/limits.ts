/** The limits of this machine, measured beside everything else so that the ratios can be read. */
import { createHash, hash } from "node:crypto";
import { canonicalize, entryId } from "../../../src/index.js";
import { jobEvent } from "../harness/events.js";
import type { Bench } from "../harness/measure.js";
import { block, interleave, latency, oneCaller, rate, spreadOf } from "../harness/rounds.js";
import type { Turn } from "../harness/rounds.js";
import { short } from "../harness/report.js";
import { openPerCallStore } from "./per-call-store.js";
import { openPlainSqlite } from "./plain-sqlite.js";
import { appendBlocks, overwriteBlocks } from "./raw-disk.js";

/** Measures them all and says a figure for each. */
export async function measureLimits(bench: Bench): Promise<void> {
  await measureDisk(bench);
  await measureProcessor(bench);
}

async function measureDisk({ settings, scratch, figure }: Bench): Promise<void> {
  const raw = overwriteBlocks(scratch.path("overwrite"));
  const appended = appendBlocks(scratch.path("append"));
  const full = openPlainSqlite(scratch.path("full.db"), "FULL");
  const normal = openPlainSqlite(scratch.path("normal.db"), "NORMAL");
  const perCall = openPerCallStore(scratch.path("per-call.db"));
  const turn =
    (operation: () => void): Turn =>
    () =>
      oneCaller(settings.turnMs, operation);
  let run = 0;
  const turns = {
    "overwrite 4 KiB + fdatasync": turn(() => raw.write()),
    "append 4 KiB + fdatasync": turn(() => appended.write()),
    "SQLite FULL, 1 event a transaction": turn(() => full.insert(1)),
    "SQLite NORMAL, 1 event a transaction": turn(() => normal.insert(1)),
    "per-call store, append to a new run": turn(() => perCall.append(`new-${run++}`, jobEvent(run))),
    "per-call store, enqueue + claim + renew + complete": turn(() => {
      perCall.enqueue(`queued-${run}`);
      const claimed = perCall.claim("worker", Date.now());
      if (claimed !== `queued-${run++}`) throw new Error("the one queued run must be claimed");
      perCall.renew(claimed, "worker", Date.now() + 60_000);
      perCall.complete(claimed, "worker");
    }),
  };
  const samples = await interleave(turns, settings.rounds);
  for (const [what, taken] of Object.entries(samples)) {
    figure({
      what,
      value: spreadOf(taken, rate),
      unit: "/s",
      note: `p50 ${spreadOf(taken, latency(50)).median.toFixed(2)} ms, p99 ${spreadOf(taken, latency(99)).median.toFixed(2)} ms`,
    });
  }
  const groups = { "10": 10, "64": 64, "100": 100, "1,000": 1_000, "10,000": 10_000 };
  for (const [name, events] of Object.entries(groups)) {
    const [taken] = Object.values(
      await interleave({ group: turn(() => full.insert(events)) }, Math.min(settings.rounds, 5)),
    );
    figure({
      what: `SQLite FULL, ${name} events a transaction`,
      value: spreadOf(taken!, (sample) => rate(sample) * events),
      unit: "events/s",
    });
  }
  for (const each of [raw, appended, full, normal, perCall]) each.close();
}

async function measureProcessor({ settings, figure }: Bench): Promise<void> {
  const data = Array.from({ length: 1_000 }, (_, index) => jobEvent(index).data);
  const texts = data.map((each, index) =>
    `{"at":1700000000000,"data":${canonicalize(each)},"prev":"${entryId(String(index))}","rev":${index},"seq":${index}}`.padEnd(
      340,
    ),
  );
  const repeat =
    (work: (index: number) => unknown): Turn =>
    () =>
      block(100_000, () => {
        for (let count = 0; count < 100_000; count++) work(count % 1_000);
      });
  const samples = await interleave(
    {
      "SHA-256 of 340 bytes, crypto.hash string to hex": repeat((index) => hash("sha256", texts[index]!, "hex")),
      "SHA-256 of 340 bytes, createHash": repeat((index) => createHash("sha256").update(texts[index]!).digest("hex")),
      "JSON.parse of an entry": repeat((index) => JSON.parse(texts[index]!)),
      "JSON.stringify of its data": repeat((index) => JSON.stringify(data[index])),
      "canonicalize of its data": repeat((index) => canonicalize(data[index])),
    },
    Math.min(settings.rounds, 5),
  );
  for (const [what, taken] of Object.entries(samples))
    figure({ what, value: spreadOf(taken, rate), unit: "/s", note: `${short(1e6 / spreadOf(taken, rate).median)} µs` });
}
