/** The real engine and the reference model side by side, one call after the other: after each the answers, the events, the engine
 *  time and everything that is listed must be the same. Source: design sections 8 and 9. */
import type { Ledger } from "../../api/ledger.js";
import type { Fence } from "../../kernel/claim.js";
import type { Store } from "../../journal/store.js";
import { canonicalize } from "../../kernel/canonical.js";
import { openLedger } from "../../open-ledger.js";
import { manualClock } from "../manual-clock.js";
import type { ManualClock } from "../manual-clock.js";
import { seededBytes } from "../seeded.js";
import { Draw } from "./draw.js";
import { answerDiffers, eventsDiffer } from "./expect.js";
import { sayCall } from "./notation.js";
import { send } from "./send.js";
import type { Told } from "./send.js";
import { Workload } from "./workload.js";
import type { Worker } from "./workload.js";
import type { Call } from "../model/call.js";
import { LedgerModel } from "../model/ledger-model.js";
import { judgeFence } from "../model/queue-model.js";
import { TimeModel } from "../model/time-model.js";

/** What to compare, and on what. @public */
export interface LockstepOptions {
  readonly seed: number;
  readonly store: Store;
  /** How many calls. Default 60. */
  readonly calls?: number;
  /** How many ledgers are open on the store, each with its own clock. Default 2. */
  readonly ledgers?: number;
}

/** What was compared. @public */
export interface LockstepReport {
  readonly seed: number;
  /** The calls, and what they were answered, in the notation of this project. */
  readonly history: readonly string[];
  /** By what callers were told, how often. */
  readonly answers: Readonly<Record<string, number>>;
  /** Where the engine and the model differ; null: nowhere. */
  readonly difference: string | null;
}

interface Process {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  readonly worker: Worker;
}

/** Runs a history that is drawn from a seed on both, and says where they differ. @public */
export async function compareWithModel(options: LockstepOptions): Promise<LockstepReport> {
  const { seed, store, calls = 60, ledgers = 2 } = options;
  const draw = new Draw(seed, "lockstep");
  const processes: Process[] = [];
  for (let number = 1; number <= ledgers; number++) processes.push(await openOne(store, number, draw));
  const steps = new Lockstep(seed, processes, draw);
  try {
    const { head } = await processes[0]!.ledger.status();
    await steps.run(calls, head.at);
  } finally {
    for (const { ledger } of processes) await ledger.close();
  }
  return steps.report();
}

async function openOne(store: Store, number: number, draw: Draw): Promise<Process> {
  const clock = manualClock();
  if (number > 1) clock.set(clock.now() + draw.one([0, -3_600_000, 5_000, 3_600_000]));
  const ledger = await openLedger(store, {
    origin: "testing/model",
    clock,
    testing: { randomBytes: seededBytes(number) },
  });
  return { ledger, clock, worker: { name: `worker ${number}`, held: [] } };
}

class Lockstep {
  private readonly seed: number;
  private readonly processes: readonly Process[];
  private readonly draw: Draw;
  private readonly workload: Workload;
  private readonly model = new LedgerModel();
  private readonly history: string[] = [];
  private readonly answers: Record<string, number> = {};
  private time!: TimeModel;
  private position = 0;
  private difference: string | null = null;

  constructor(seed: number, processes: readonly Process[], draw: Draw) {
    this.seed = seed;
    this.processes = processes;
    this.draw = draw;
    this.workload = new Workload(draw.for("workload"), 40);
  }

  async run(calls: number, startedAt: number): Promise<void> {
    this.time = new TimeModel(startedAt);
    for (let number = 1; number <= calls && this.difference === null; number++) {
      const process = this.draw.one(this.processes);
      this.pass(process);
      const call = this.workload.next(process.worker, process.clock.now());
      this.difference = await this.step(process, call, `call ${number}`);
    }
  }

  report(): LockstepReport {
    const { seed, history, answers, difference } = this;
    return { seed, history, answers, difference };
  }

  /** Time goes on, mostly for all alike; now and then somebody's clock is set. */
  private pass(asking: Process): void {
    const { draw, processes } = this;
    const ms = draw.chance(0.2) ? this.untilNext(asking) : draw.one([0, 0, 1, 10, 999, 1_000, 4_000, 30_000]);
    for (const { clock } of processes) clock.advance(ms);
    if (!draw.chance(0.05)) return;
    const { clock } = draw.one(processes);
    clock.set(clock.now() + draw.one([-3_600_000, -1_000, 1_000, 60_000, 3_600_000]));
  }

  /** How long it is until something comes or expires, to the millisecond: there `<` and `<=` differ. */
  private untilNext({ clock }: Process): number {
    const at = this.time.foresee(clock);
    const times = this.model.items.map(({ claim, availableAt }) => claim?.expiresAt ?? availableAt ?? 0);
    const next = Math.min(...times.filter((time) => time > at));
    return Number.isFinite(next) ? next - at : 0;
  }

  private async step(process: Process, call: Call, mark: string): Promise<string | null> {
    const { ledger, clock, worker } = process;
    const at = this.time.at(clock);
    const foretold = this.model.ask(call, at);
    const told = await send(ledger, call, mark);
    this.workload.told(worker, call, told);
    this.remember(call, told, worker);
    const wrong = answerDiffers(told, foretold);
    if (wrong !== null) return wrong;
    const events = await ledger.read({ from: this.position + 1 }).toArray();
    const others = eventsDiffer(events, foretold, call.fence);
    if (others !== null) return others;
    this.model.adopt(foretold);
    if (events.length > 0) {
      this.position += events.length;
      this.time.wrote(clock, at);
      const wrongTime = events.find((event) => event.at !== at);
      if (wrongTime !== undefined) return `must be written at ${at}, found ${wrongTime.at}`;
    }
    return (
      (await this.listed(ledger)) ??
      (await this.verified(process, call.fence ?? (told.type === "accepted" ? told.fence : null)))
    );
  }

  /** Everything that is listed, in order, and one item by its id. */
  private async listed(ledger: Ledger): Promise<string | null> {
    const { items } = await ledger.queue.list();
    const found = items.map(({ input: _, ...item }) => canonicalize(item));
    const wanted = this.model.list().map((item) => canonicalize(item));
    const index = wanted.findIndex((item, place) => item !== found[place]);
    if (index >= 0) return `must list ${wanted[index]}, found ${found[index] ?? "nothing"}`;
    if (found.length > wanted.length)
      return `must list ${wanted.length} items, found ${found[wanted.length]} behind them`;
    return null;
  }

  /** Is the fence good now? */
  private async verified({ ledger, clock }: Process, fence: Fence | null): Promise<string | null> {
    if (fence === null) return null;
    const isGood = await ledger.queue.verify(fence);
    const items = new Map(this.model.items.map((item) => [item.runId, item]));
    const wanted = judgeFence(fence, false, { items, at: this.time.at(clock), fence }) === null;
    return isGood === wanted ? null : `verify must say ${wanted} of ${fence.key}@${fence.generation}, found ${isGood}`;
  }

  private remember(call: Call, told: Told, { name }: Worker): void {
    this.history.push(`${name}: ${sayCall(call, told)}`);
    const answer = told.type === "refused" ? `${told.code} ${told.reason ?? ""}`.trim() : told.type;
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }
}
