/** The simulation of `ledger.worker`: the loop that hosts run, on processes that die and stop, with clocks and timers of the world.
 *  Its calls have no marks, so the model does not judge it; claims, generations, order of events and the end of every run are
 *  judged from the journal, and handlers from what they did. Source: case K05, decision 0023. */
import type { Job } from "../../api/job.js";
import { checkers } from "./checkers/index.js";
import { Draw } from "./draw.js";
import { readEntries, runOfStream } from "./evidence.js";
import type { Attempt, Evidence, JournalEntry, Violation } from "./evidence.js";
import { withHeldWatch } from "./held-watch.js";
import type { Process } from "./process.js";
import type { SimulationReport } from "./report.js";
import { send } from "./send.js";
import type { SimulateOptions } from "./simulate.js";
import { World } from "./world.js";

/** Those whose evidence workers leave. */
const judging: ReadonlySet<string> = new Set([
  "settled",
  "acknowledged",
  "owner",
  "generations",
  "fenced",
  "completed",
  "starved",
  "time",
  "verified",
]);

const leaseMs = 2_000;
const roundsMax = 400;

/** Simulates workers for one seed and judges them. Not two at a time, nor beside `simulate`. @public */
export function simulateWorkers({ seed, store, calls = 12 }: SimulateOptions): Promise<SimulationReport> {
  return withHeldWatch(async () => {
    const draw = new Draw(seed, "workers");
    const kind = draw.weighed({ memory: 80, "async memory": 20 });
    const world = await World.open(seed, store ?? kind, draw.for("world"));
    try {
      return await new Workers(seed, calls, world, draw).run();
    } finally {
      await world.close();
    }
  });
}

/** A handler that ran. */
interface Handled {
  readonly runId: string;
  readonly generation: number;
  /** Did it begin when the storm was over? */
  readonly isCalm: boolean;
  /** How long it had its job before it ended, or was told to. */
  heldMs: number;
}

class Workers {
  private readonly seed: number;
  private readonly runs: number;
  private readonly world: World;
  private readonly draw: Draw;
  private readonly attempts: Attempt[] = [];
  private readonly handled: Handled[] = [];
  private readonly violations: Violation[] = [];
  /** Processes whose worker runs, by the ledger that it runs on. */
  private readonly working = new WeakSet<object>();
  private begun = 0;
  private ended = 0;

  constructor(seed: number, runs: number, world: World, draw: Draw) {
    this.seed = seed;
    this.runs = runs;
    this.world = world;
    this.draw = draw;
  }

  async run(): Promise<SimulationReport> {
    const { world, draw } = this;
    await world.wake();
    this.work();
    world.isStormy = true;
    for (let number = 1; number <= this.runs; number++) {
      await this.enqueue(`r${number}`);
      await world.pass(draw.one([0, 10, 500, 1_500]));
      await this.happen();
    }
    world.isStormy = false;
    await world.wake();
    this.work();
    const open = await this.drain();
    for (const process of world.processes) await process.end();
    await world.rest();
    await world.wake();
    return this.judge(open);
  }

  /** Processes that have no worker get one. */
  private work(): void {
    for (const process of this.world.processes) {
      const { ledger } = process;
      if (ledger === null || this.working.has(ledger)) continue;
      this.working.add(ledger);
      ledger.worker({
        queue: {},
        holder: `worker ${process.number}`,
        concurrency: this.draw.integer(1, 3),
        leaseMs,
        drainMs: 0,
        retry: { baseMs: 100, maxMs: 1_000, failuresMax: 3 },
        handle: (job) => this.handle(job, process),
        onError: () => {},
      });
    }
  }

  private async handle(job: Job, process: Process): Promise<void> {
    const { draw, world } = this;
    const { runId, fence } = job;
    const { ledger, clock } = process;
    const handled: Handled = { runId, generation: fence.generation, isCalm: !world.isStormy, heldMs: 0 };
    this.handled.push(handled);
    this.begun++;
    const begunAt = world.now;
    let toldAt = Infinity;
    job.signal.addEventListener("abort", () => void (toldAt = world.now), { once: true });
    try {
      const ms = draw.one([0, 1, 300, leaseMs, 3 * leaseMs]);
      // Some handlers look at their signal, some do not.
      const isDeaf = draw.chance(0.3);
      await new Promise<void>((resolve) => {
        clock.schedule(ms, resolve);
        if (!isDeaf) job.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      handled.heldMs = Math.min(world.now, toldAt) - begunAt;
      if (draw.chance(0.5)) await ledger?.append(`host/${runId}`, [{ type: "host.worked" }], { fence });
      if (draw.chance(0.2)) throw new Error("a handler failed");
      if (draw.chance(0.2)) await job.complete();
    } finally {
      this.ended++;
    }
  }

  private async enqueue(runId: string): Promise<void> {
    const { world, draw, attempts } = this;
    // First, for what is awaited takes its time on a store that is far, and a process may die of what its worker does meanwhile.
    const from = await world.head();
    while (world.alive.length === 0) await world.wake();
    const process = draw.one(world.alive);
    const mark = `call ${attempts.length + 1}`;
    const call = { wishes: [{ type: "enqueue", runId } as const], isList: false, fence: null, id: `enqueue ${runId}` };
    const told = await send(process.ledger!, call, mark);
    attempts.push({ mark, by: `p${process.number}`, call, from, to: 0, told, isHeard: true, clock: 0 });
  }

  /** Processes die, stop and come back; somebody asks that a run be ended. */
  private async happen(): Promise<void> {
    const { world, draw } = this;
    const process = draw.one(world.processes);
    switch (draw.weighed({ nothing: 70, kill: 8, stop: 12, cancel: 10 })) {
      case "kill":
        await process.kill();
        break;
      case "stop":
        process.pausedUntil = world.now + draw.one([500, 3 * leaseMs]);
        break;
      case "cancel":
        // Bad luck, or nothing of that name: then nothing was cancelled.
        await process.ledger?.queue.requestCancel(`r${draw.integer(1, this.runs)}`, "asked for").catch(() => {});
        break;
      case "nothing":
    }
    for (const each of world.processes) if (each.ledger === null && draw.chance(0.5)) await each.start();
    this.work();
  }

  /** Lets the workers work until nothing is open; what is dead is asked for again. */
  private async drain(): Promise<readonly string[]> {
    const { world } = this;
    let open: readonly string[] = [];
    for (let rounds = 0; rounds < roundsMax; rounds++) {
      await world.wake();
      this.work();
      await world.pass(1_000);
      const ledger = world.processes[0]!.ledger;
      const items = (await ledger?.queue.list({ limit: 1_000 }).catch(() => null))?.items ?? null;
      if (items === null) continue;
      const left = items.filter(({ status }) => status !== "done");
      open = left.map(({ runId }) => runId);
      if (open.length === 0) return [];
      for (const { runId, status } of left) if (status === "dead") await ledger?.queue.requeue(runId).catch(() => {}); // asked for in the next round again
    }
    return open;
  }

  private async judge(open: readonly string[]): Promise<SimulationReport> {
    const { world, attempts, seed, violations } = this;
    const head = await world.head();
    await world.pass(10 * leaseMs);
    const late = (await world.head()) - head;
    const entries = await readEntries(world.store);
    const { ledger } = world.processes[0]!;
    const { verdict, findings } = await ledger!.verify({ level: "deep" });
    const verified = { verdict, findings };
    // Handlers of processes that died never end: their promises are gone with them.
    const evidence: Evidence = { entries, attempts, listings: [], verified, open, begun: 1, ended: 1, late };
    const report = (checker: string, message: string, runId: string | null = null): void =>
      void violations.push({ checker, message, runId });
    for (const checker of checkers)
      if (judging.has(checker.name)) checker.check(evidence, (message, runId) => report(checker.name, message, runId));
    if (this.begun === 0) report("settled", "handlers must run, found none that did");
    this.checkHandled(entries, report);
    this.checkRenewed(entries, report);
    return {
      of: "workers",
      seed,
      store: world.kind,
      processes: world.processes.length,
      steps: this.ended,
      answers: {},
      faults: world.processes.reduce((sum, { struck }) => sum + struck, 0),
      crashes: world.processes.reduce((sum, { crashes }) => sum + crashes, 0),
      entries: entries.length,
      head: entries.at(-1)?.id ?? "",
      violations,
      history: violations.length === 0 ? [] : sayEntries(entries, violations[0]!.runId),
    };
  }

  /** What was completed was handled under the fence under which it was completed, unless somebody asked that it be ended. */
  private checkHandled(
    entries: readonly JournalEntry[],
    report: (checker: string, message: string, runId: string) => void,
  ): void {
    const handled = new Set(this.handled.map(({ runId, generation }) => `${runId} ${generation}`));
    const cancelled = new Set(
      entries.flatMap(({ type, stream }) => (type === "queue.cancelRequested" ? (runOfStream(stream) ?? []) : [])),
    );
    for (const { seq, type, stream, fence } of entries) {
      const runId = runOfStream(stream);
      if (type !== "queue.completed" || runId === null || cancelled.has(runId)) continue;
      if (!handled.has(`${runId} ${fence?.[2]}`))
        report("handled", `#${seq} must complete what a handler had, found none of generation ${fence?.[2]}`, runId);
    }
  }

  /** Who had a job for a whole lease renewed its claim meanwhile. In a storm, and on a store that makes trouble of its own, nobody
   *  may have been able to. */
  private checkRenewed(
    entries: readonly JournalEntry[],
    report: (checker: string, message: string, runId: string) => void,
  ): void {
    if (this.world.kind === "async memory") return;
    const renewed = new Set(
      entries.flatMap(({ type, fence }) => (type === "queue.renewed" ? `${fence?.[0]} ${fence?.[2]}` : [])),
    );
    for (const { runId, generation, isCalm, heldMs } of this.handled)
      if (isCalm && heldMs > 0.9 * leaseMs && !renewed.has(`queue/${runId} ${generation}`))
        report("renewed", `generation ${generation} must be renewed within ${heldMs} ms, found that it was not`, runId);
  }
}

/** Letters as in calls; what workers do is in the journal alone. */
const letters: ReadonlyMap<string, string> = new Map([
  ["queue.enqueued", "q"],
  ["queue.claimed", "c"],
  ["queue.renewed", "r"],
  ["queue.parked", "p"],
  ["queue.completed", "s"],
  ["queue.released", "d"],
  ["queue.requeued", "b"],
  ["queue.cancelRequested", "x"],
  ["fence.refused", "✗"],
  ["host.worked", "w"],
]);

function sayEntries(entries: readonly JournalEntry[], runId: string | null): readonly string[] {
  const some = entries.filter(({ stream }) => runId === null || stream.endsWith(`/${runId}`));
  return some.slice(-40).map(({ seq, type, stream, at, fence, data }) => {
    const claim = data["claim"] as { readonly generation: number } | undefined;
    const under = claim?.generation ?? fence?.[2];
    return `#${seq} ${at} ${letters.get(type) ?? type} ${stream}${under === undefined ? "" : `@f${under}`}`;
  });
}
