/** P9: folding a large journal in memory by the bulk driver, against reading the same rows, parsing them and calling the same
 *  reducer with nothing around it; and against immer, one `produce` a thousand events. */
import Database from "better-sqlite3";
import { produce } from "immer";
import { ReplayFold } from "../../projections/bulk.js";
import { defineProjection } from "../../projections/define-projection.js";
import { eventOf } from "../../projections/event-of.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { checkEntry } from "../../src/journal/entry.js";
import type { EntryFields } from "../../src/journal/entry.js";
import { jobEvents } from "./harness/events.js";
import type { Measure } from "./harness/measure.js";
import { least, short } from "./harness/report.js";
import { block, interleave, rate, ratio, spreadOf } from "./harness/rounds.js";

const pageRows = 1_000;
const documentsMax = 10_000;

/** About 400 bytes. */
interface Job {
  id: string;
  status: string;
  createdAt: number;
  updatedAt: number;
  steps: number;
  attempts: { last: number; most: number };
  last: { step: string; worker: string; output: string; durationMs: number };
  totalMs: number;
  slowest: { step: string; durationMs: number };
  recent: { step: string; at: number }[];
  labels: string[];
}

type Seen = Pick<ProjectionEvent, "position" | "at" | "data">;

/** The documents are touched in an order that has nothing to do with when they were made. */
function keyOf({ position }: Seen): string {
  return `job-${(position * 7_919) % documentsMax}`;
}

function apply(job: Job | undefined, event: Seen): Job | undefined {
  const { attempt, durationMs, output, step, worker } = event.data as Omit<Job["last"], "id"> & { attempt: number };
  const { at } = event;
  if (job === undefined)
    return {
      id: keyOf(event),
      status: "running",
      createdAt: at,
      updatedAt: at,
      steps: 1,
      attempts: { last: attempt, most: attempt },
      last: { step, worker, output, durationMs },
      totalMs: durationMs,
      slowest: { step, durationMs },
      recent: [{ step, at }],
      labels: ["bench", "replay"],
    };
  job.updatedAt = at;
  job.steps += 1;
  job.attempts.last = attempt;
  if (attempt > job.attempts.most) job.attempts.most = attempt;
  job.last = { step, worker, output, durationMs };
  job.totalMs += durationMs;
  if (durationMs > job.slowest.durationMs) job.slowest = { step, durationMs };
  job.recent.push({ step, at });
  if (job.recent.length > 3) job.recent.shift();
  return undefined;
}

/** A document a job, of 10,000. */
export const jobs = defineProjection<Job>()({
  name: "job",
  version: 1,
  indexes: { updated: ({ status, updatedAt }) => [status, updatedAt] },
  on: { "job.stepFinished": { key: keyOf, apply } },
});

const areas = new Map([[jobEvents.area, jobEvents]]);

export const replayMeasure: Measure = {
  ids: ["P9"],
  title: "replay in memory",
  async run({ settings, filled }) {
    const path = await filled.shared(settings.events);
    const database = new Database(path, { readonly: true });
    const page = database
      .prepare<[number, number], string>("SELECT entry FROM entries WHERE seq > ? ORDER BY seq LIMIT ?")
      .pluck();
    const scan = (take: (entry: string) => void): void => {
      for (let after = -1; ;) {
        const rows = page.all(after, pageRows);
        for (const entry of rows) take(entry);
        after += rows.length;
        if (rows.length < pageRows) return;
      }
    };
    const expect = (found: number): void => {
      if (found !== documentsMax) throw new Error(`there must be ${documentsMax} documents, found ${found}`);
    };
    const plain = (): void => {
      const documents = new Map<string, Job>();
      scan((entry) => {
        const { seq: position, type, data, at } = JSON.parse(entry) as EntryFields;
        if (type !== "job.stepFinished") return;
        const event = { position, data, at };
        const key = keyOf(event);
        const made = apply(documents.get(key), event);
        if (made !== undefined) documents.set(key, made);
      });
      expect(documents.size);
    };
    const bulk = (): void => {
      const fold = new ReplayFold([jobs]);
      scan((entry) => fold.fold(eventOf(JSON.parse(entry) as EntryFields, areas)));
      expect([...(fold.tables[0]?.documents() ?? [])].length);
    };
    // As `ledger.at` does it, but for hashing each entry.
    const checked = (): void => {
      const fold = new ReplayFold([jobs]);
      scan((entry) => fold.fold(eventOf(checkEntry(JSON.parse(entry), entry.length), areas)));
      expect([...(fold.tables[0]?.documents() ?? [])].length);
    };
    const drafts = (): void => {
      let documents: Readonly<Record<string, Job>> = {};
      let waiting: ProjectionEvent[] = [];
      const flush = (): void => {
        documents = produce(documents, (draft: Record<string, Job>) => {
          for (const event of waiting) {
            const made = apply(draft[keyOf(event)], event);
            if (made !== undefined) draft[keyOf(event)] = made;
          }
        });
        waiting = [];
      };
      scan((entry) => {
        const event = eventOf(JSON.parse(entry) as EntryFields, areas);
        if (!("unknown" in event) && event.type === "job.stepFinished") waiting.push(event);
        if (waiting.length === pageRows) flush();
      });
      flush();
      expect(Object.keys(documents).length);
    };
    const turns = { plain, bulk, checked, drafts };
    const samples = await interleave(
      {
        plain: () => block(settings.events, turns.plain),
        bulk: () => block(settings.events, turns.bulk),
        checked: () => block(settings.events, turns.checked),
        drafts: () => block(settings.events, turns.drafts),
      },
      settings.name === "quick" ? 2 : Math.min(settings.rounds, 5),
      "all",
    );
    database.close();
    const [plainRate, bulkRate, checkedRate, draftsRate] = [
      samples.plain,
      samples.bulk,
      samples.checked,
      samples.drafts,
    ].map((taken) => short(spreadOf(taken, rate).median));
    const events = short(settings.events);
    return [
      {
        id: "P9",
        what: `bulk replay / scan + parse + plain reducer, ${events}`,
        value: ratio(samples.bulk, rate, samples.plain),
        target: least(0.6, 0.85),
        note: `${bulkRate} to ${plainRate} events/s; ${checkedRate} when the fields of each entry are checked`,
      },
      {
        id: "P9",
        what: `bulk replay / immer, one produce a thousand events, ${events}`,
        value: ratio(samples.bulk, rate, samples.drafts),
        target: least(4),
        note: `${bulkRate} to ${draftsRate} events/s`,
      },
    ];
  },
};
