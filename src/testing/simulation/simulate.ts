/** The simulation: one seed draws processes, workers, their clocks, what they ask, and what goes wrong; then all comes to rest, the
 *  queue drains, and checkers judge. Invariant: the same seed gives the same journal, byte for byte. Source: design section 1.3,
 *  case L04. */
import type { Ledger } from "../../api/ledger.js";
import type { Store } from "../../journal/store.js";
import type { Fence } from "../../kernel/claim.js";
import type { Call, Wish } from "../model/call.js";
import { checkers } from "./checkers/index.js";
import { checkModel } from "./checkers/model.js";
import { Draw } from "./draw.js";
import { readEntries } from "./evidence.js";
import type { Attempt, Evidence, Listing, Stretch, Violation } from "./evidence.js";
import { withHeldWatch } from "./held-watch.js";
import { sayAttempts } from "./notation.js";
import type { Process } from "./process.js";
import type { SimulationReport } from "./report.js";
import { send } from "./send.js";
import type { Told } from "./send.js";
import { Steps } from "./steps.js";
import { Workload } from "./workload.js";
import type { Worker } from "./workload.js";
import { World } from "./world.js";
import type { SimulatedStore } from "./world.js";

/** What to simulate. @public */
export interface SimulateOptions {
  /** Everything is drawn from it. */
  readonly seed: number;
  /** What the processes share, or how it is opened, once for each of them and once for who looks on: then with a busy timeout of
   *  0 ms, for real time does not pass, and with nothing in it. Default: drawn, in memory as a rule, one in a hundred in a file. */
  readonly store?: SimulatedStore | (() => Promise<Store>);
  /** How many calls there are before the queue drains. Default 50. */
  readonly calls?: number;
}

/** Simulates one seed and judges it. It writes to the temporary folder when it draws a file, and holds the `performance.now` of the
 *  process still while it runs: not two at a time. @public */
export function simulate(options: SimulateOptions): Promise<SimulationReport> {
  return withHeldWatch(async () => {
    const draw = new Draw(options.seed, "simulation");
    const kind = draw.weighed<SimulatedStore>({ memory: 79, "async memory": 20, sqlite: 1 });
    const world = await World.open(options.seed, options.store ?? kind, draw.for("world"));
    try {
      return await new Simulation(options, world, draw).run();
    } finally {
      await world.close();
    }
  });
}

const drainTriesMax = 400;

class Simulation {
  private readonly seed: number;
  private readonly callsMax: number;
  private readonly world: World;
  private readonly draw: Draw;
  private readonly workload: Workload;
  private readonly steps = new Steps();
  private readonly attempts: Attempt[] = [];
  private readonly listings: Listing[] = [];
  private readonly stretches: Stretch[] = [];
  private readonly violations: Violation[] = [];
  /** Calls with an id that nobody has heard an answer to. */
  private readonly unheard = new Set<Call>();
  private from = 0;

  constructor({ seed, calls = 50 }: SimulateOptions, world: World, draw: Draw) {
    this.seed = seed;
    this.callsMax = calls;
    this.world = world;
    this.draw = draw;
    this.workload = new Workload(draw.for("workload"), 1_000);
  }

  async run(): Promise<SimulationReport> {
    const { world } = this;
    await world.wake();
    world.isStormy = true;
    await this.first();
    while (this.attempts.length < this.callsMax) {
      await world.happen();
      await this.round();
    }
    world.isStormy = false;
    await world.wake();
    await this.hearAll();
    const open = await this.drain();
    return this.judge(open);
  }

  /** All processes at once are the first to use an area: what they write begins with the same entry. */
  private async first(): Promise<void> {
    await this.stretch(() => {
      for (const process of this.world.alive)
        this.steps.begin(async () => {
          const call = one({ type: "enqueue", runId: `first-${process.number}` }, null);
          await this.attempt(process, process.workers[0]!, call);
        });
    });
  }

  /** Some calls at once. */
  private async round(): Promise<void> {
    const { draw, world } = this;
    // What one process is asked at once shares a commit, and its fate.
    const alone = draw.chance(0.3) ? draw.one(world.alive) : null;
    await this.stretch(() => {
      for (let count = draw.one([1, 1, 2, 3, 4, 8]); count > 0; count--) {
        const process = alone ?? draw.one(world.alive);
        this.steps.begin(() => this.ask(process, draw.one(process.workers)));
      }
    });
    if (draw.chance(0.1)) await this.list(draw.one(world.processes));
  }

  /** Runs steps until none is open, and notes where the journal and the clocks stood. */
  private async stretch(begin: () => void): Promise<void> {
    const { world, attempts } = this;
    const first = attempts.length;
    this.from = await world.head();
    const { now: startedAt, lowestClock } = world;
    begin();
    await this.steps.settled();
    const to = await world.head();
    for (const attempt of attempts.slice(first)) attempt.to = to;
    this.stretches.push({ to, startedAt, lowestClock: Math.min(lowestClock, world.lowestClock) });
  }

  private async ask(process: Process, worker: Worker): Promise<void> {
    const { draw, workload, world } = this;
    const [waiting] = this.unheard;
    const call = waiting !== undefined && draw.chance(0.3) ? waiting : workload.next(worker, process.clock.now());
    const others = world.alive;
    if (call.id !== null && others.length > 0 && draw.chance(0.1)) {
      const other = draw.one(others);
      this.steps.begin(async () => void (await this.attempt(other, worker, call)));
    }
    const told = await this.attempt(process, worker, call);
    if (told?.type !== "accepted" || told.fence === null || !draw.chance(0.4)) return;
    // Work that begins when the claim was had: whoever waits for the claim alone would miss it.
    const { fence } = told;
    this.steps.begin(() => this.work(process, worker, fence));
  }

  private async work(process: Process, worker: Worker, fence: Fence): Promise<void> {
    const runId = fence.key.slice("queue/".length);
    const said = await this.attempt(process, worker, one({ type: "append", stream: `host/${runId}`, says: 1 }, fence));
    if (said?.type === "accepted" && this.draw.chance(0.6))
      await this.attempt(process, worker, one({ type: "complete", runId }, fence));
  }

  private async attempt(process: Process, worker: Worker, call: Call): Promise<Told | null> {
    const { ledger, clock } = process;
    if (ledger === null) return null;
    const mark = `call ${this.attempts.length + 1}`;
    const by = `p${process.number}`;
    const attempt: Attempt = { mark, by, call, from: this.from, to: this.from, told: null, isHeard: true, clock: 0 };
    this.attempts.push(attempt);
    const told = await this.send(ledger, call, mark);
    attempt.told = told;
    attempt.clock = clock.now();
    attempt.isHeard = told.type !== "failed" && (!this.world.isStormy || !this.draw.chance(0.05));
    if (attempt.isHeard) {
      this.unheard.delete(call);
      this.workload.told(worker, call, told);
    } else if (call.id !== null) this.unheard.add(call);
    return attempt.isHeard ? told : null;
  }

  /** What is neither an answer nor bad luck is a fault. */
  private async send(ledger: Ledger, call: Call, mark: string): Promise<Told> {
    try {
      return await send(ledger, call, mark);
    } catch (error) {
      this.report("answered", `${mark} must be answered, found ${String(error)}`);
      return { type: "failed", code: "STORE_IN_DOUBT" };
    }
  }

  /** Null: nothing was listed, or something was written meanwhile. */
  private async list({ ledger, number }: Process): Promise<Listing | null> {
    if (ledger === null) return null;
    const position = await this.world.head();
    try {
      const { items } = await ledger.queue.list({ limit: 1_000 });
      if (position !== (await this.world.head())) return null;
      const listing = { position, by: `p${number}`, items: items.map(({ input: _, ...item }) => item) };
      this.listings.push(listing);
      return listing;
    } catch {
      return null; // bad luck
    }
  }

  /** Whoever has an id sends again until there is an answer. */
  private async hearAll(): Promise<void> {
    const { draw, world } = this;
    for (let tries = 0; this.unheard.size > 0; tries++) {
      if (tries === drainTriesMax)
        return this.report("answered", `${this.unheard.size} calls must be answered, found no answer`);
      const [call] = this.unheard;
      const process = draw.one(world.processes);
      await this.stretch(() =>
        this.steps.begin(async () => void (await this.attempt(process, process.workers[0]!, call!))),
      );
    }
  }

  /** Brings every item to its end; answers the runs that did not come to theirs. */
  private async drain(): Promise<readonly string[]> {
    const { draw, world } = this;
    for (let tries = 0; tries < drainTriesMax; tries++) {
      const process = draw.one(world.processes);
      const listing = await this.list(process);
      if (listing === null) continue;
      const open = openOf(listing);
      if (open.length === 0) return [];
      const [forgotten] = open.filter(({ claim, availableAt }) => claim === null && availableAt === null);
      const worker: Worker = { name: "drainer", held: [] };
      let claimed: Told | null = null;
      await this.stretch(() =>
        this.steps.begin(async () => {
          if (forgotten !== undefined)
            await this.attempt(process, worker, one({ type: "requeue", runId: forgotten.runId }, null));
          const claim = { holder: "drainer", leaseMs: 30_000, token: draw.token() };
          claimed = await this.attempt(process, worker, one({ type: "claimNext", exclude: [], ...claim }, null));
          const fence = claimed?.type === "accepted" ? claimed.fence : null;
          if (fence === null) return;
          const runId = fence.key.slice("queue/".length);
          await this.attempt(process, worker, one({ type: "complete", runId }, fence));
        }),
      );
      if (!isNothing(claimed)) continue;
      const times = open.flatMap(({ claim, availableAt }) => claim?.expiresAt ?? availableAt ?? []);
      const next = Math.min(...times) - process.clock.now();
      world.now += Number.isFinite(next) ? Math.max(1, Math.min(next, 3_600_000)) : 1;
    }
    return openOf(this.listings.at(-1)).map(({ runId }) => runId);
  }

  private async judge(open: readonly string[]): Promise<SimulationReport> {
    const { world, attempts, listings, steps, stretches } = this;
    const head = await world.head();
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    const late = (await world.head()) - head;
    const entries = await readEntries(world.store);
    const { begun, ended } = steps;
    const verified = await this.verify();
    const evidence: Evidence = { entries, attempts, listings, verified, open, begun, ended, late };
    for (const checker of checkers)
      checker.check(evidence, (message, runId = null) => this.report(checker.name, message, runId));
    checkModel({ ...evidence, stretches }, (checker, message, runId) => this.report(checker, message, runId));
    const { seed, violations } = this;
    return {
      of: "calls",
      seed,
      store: world.kind,
      processes: world.processes.length,
      steps: ended,
      answers: countAnswers(attempts),
      faults: world.processes.reduce((sum, { struck }) => sum + struck, 0),
      crashes: world.processes.reduce((sum, { crashes }) => sum + crashes, 0),
      entries: entries.length,
      head: entries.at(-1)?.id ?? "",
      violations,
      history: violations.length === 0 ? [] : sayAttempts(attempts, violations[0]!.runId),
    };
  }

  private async verify(): Promise<Evidence["verified"]> {
    const { ledger } = this.world.processes[0]!;
    if (ledger === null) return { verdict: "closed", findings: [] };
    const { verdict, findings } = await ledger.verify({ level: "deep" });
    return { verdict, findings };
  }

  private report(checker: string, message: string, runId: string | null = null): void {
    this.violations.push({ checker, message, runId });
  }
}

interface OpenItem {
  readonly runId: string;
  readonly status: string;
  readonly availableAt: number | null;
  readonly claim: { readonly expiresAt: number } | null;
}

/** What is not done, of what was listed. */
function openOf(listing: Listing | undefined): readonly OpenItem[] {
  const items = (listing?.items ?? []) as readonly OpenItem[]; // what `list` shows
  return items.filter(({ status }) => status !== "done");
}

function one(wish: Wish, fence: Fence | null): Call {
  return { wishes: [wish], isList: false, fence, id: null };
}

function isNothing(told: Told | null): boolean {
  return told?.type === "accepted" && told.fence === null;
}

function countAnswers(attempts: readonly Attempt[]): Record<string, number> {
  const answers: Record<string, number> = {};
  for (const { told } of attempts) {
    const answer =
      told === null
        ? "none"
        : told.type === "accepted"
          ? "accepted"
          : told.type === "refused" && told.reason !== null
            ? `${told.code} ${told.reason}`
            : told.code;
    answers[answer] = (answers[answer] ?? 0) + 1;
  }
  return answers;
}
