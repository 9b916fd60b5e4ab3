/** Who asks for what: producers, workers with the fences that they hold or held, operators, hosts, and callers that send again.
 *  It knows what callers know, what they were told, and nothing of the ledger. */
import type { Fence } from "../../kernel/claim.js";
import { claimKey } from "../model/call.js";
import type { Call, Wish, WishedClaim } from "../model/call.js";
import type { Draw } from "./draw.js";
import type { Told } from "./send.js";

/** A worker: one claims, works and stops; now and then it is stopped itself. */
export interface Worker {
  readonly name: string;
  /** The fences of what it works on, as far as it knows. */
  readonly held: Fence[];
}

/** What kinds of things are asked for, and how often. */
const wishes = {
  enqueue: 16,
  enqueueChild: 6,
  enqueueOwned: 4,
  enqueueAgain: 5,
  claimNext: 24,
  hold: 40,
  holdStale: 8,
  holdForged: 6,
  list: 8,
  want: 9,
  cancel: 3,
  say: 3,
  sendAgain: 5,
  sendOther: 2,
};

const holds = { renew: 8, complete: 6, park: 6, release: 4, requeue: 7, append: 4 };

const leases: readonly number[] = [1, 1_000, 5_000, 30_000, 600_000, 3_600_000];

export class Workload {
  private readonly draw: Draw;
  private readonly runsMax: number;
  private readonly issued: Fence[] = [];
  private readonly identified: Call[] = [];
  /** Runs that were released, and may come again. */
  private readonly released: string[] = [];
  /** Whose continuation a run was, as it was asked for. */
  private readonly parents = new Map<string, string>();
  private runs = 0;
  private ids = 0;

  constructor(draw: Draw, runsMax: number) {
    this.draw = draw;
    this.runsMax = runsMax;
  }

  /** What is asked for next, by this worker or somebody near it, at about this time. */
  next(worker: Worker, now: number): Call {
    const kind = this.draw.weighed(wishes);
    switch (kind) {
      case "enqueue":
        return this.one(this.newItem(now));
      case "enqueueChild":
        return this.one({ ...this.newItem(now), parent: this.someParent() });
      case "enqueueOwned":
        return this.one({ ...this.newItem(now), claim: this.claim(worker.name) });
      case "enqueueAgain":
        return this.one(this.secondLife(worker, now));
      case "claimNext":
        return this.one(this.claimNext(worker));
      case "hold": {
        const fence = this.heldBy(worker);
        return fence === null ? this.one(this.claimNext(worker)) : this.under(fence, now);
      }
      case "holdStale": {
        const fence = this.draw.one(this.issued);
        return fence === undefined ? this.one(this.newItem(now)) : this.under(fence, now);
      }
      case "holdForged": {
        // Of what is owned still, as a rule: there every part of a fence matters.
        const fence = this.draw.one(this.draw.chance(0.7) ? this.issued.slice(-4) : this.issued);
        return fence === undefined ? this.one(this.newItem(now)) : this.under(this.forge(fence), now);
      }
      case "list":
        return this.list(worker, now);
      case "want":
        return this.one(this.want(worker, now));
      case "cancel":
        return this.one({ type: "requestCancel", runId: this.someRun(), reason: "asked for" });
      case "say":
        return this.call([this.say(this.someRun())], null, false);
      case "sendAgain":
        return this.draw.one(this.identified) ?? this.one(this.newItem(now));
      case "sendOther": {
        const first = this.draw.one(this.identified);
        return first === undefined ? this.one(this.newItem(now)) : { ...this.one(this.newItem(now)), id: first.id };
      }
    }
  }

  /** A worker was told; what it got it holds, and what it let go of it does not. */
  told(worker: Worker, call: Call, told: Told): void {
    if (told.type !== "accepted") {
      if (told.type === "refused" && told.code === "FENCED") letGo(worker, call.fence);
      return;
    }
    const claimed = told.fence;
    if (claimed !== null) {
      this.issued.push(claimed);
      if (!worker.held.some(({ key }) => key === claimed.key)) worker.held.push(claimed);
    }
    for (const wish of call.wishes) {
      if (wish.type === "enqueue" && wish.parent !== undefined) this.parents.set(wish.runId, wish.parent);
      if (wish.type === "release") this.released.push(wish.runId);
    }
    const isEnded = call.wishes.some(({ type }) => ["complete", "park", "release", "requeue"].includes(type));
    if (isEnded) letGo(worker, call.fence);
  }

  /** Claims for a worker, with its own token. */
  claimNext(worker: Worker): Wish {
    const exclude = this.draw.chance(0.25) ? [this.someRun(), this.someRun()] : [];
    return { type: "claimNext", exclude, ...this.claim(worker.name) };
  }

  private one(wish: Wish): Call {
    return this.call([wish], null, this.draw.chance(0.4));
  }

  private call(asked: readonly Wish[], fence: Fence | null, hasId: boolean, isList = false): Call {
    const canRepeat = hasId && asked.every(({ type }) => type !== "append");
    const call: Call = { wishes: asked, isList, fence, id: canRepeat ? `id ${++this.ids}` : null };
    if (canRepeat) this.identified.push(call);
    return call;
  }

  private under(fence: Fence, now: number): Call {
    return this.call([this.holding(fence, now)], fence, this.draw.chance(0.3));
  }

  private holding(fence: Fence, now: number): Wish {
    const { draw } = this;
    const runId = runOf(fence);
    const type = draw.weighed(holds);
    const reason = this.why();
    switch (type) {
      case "renew":
        return { type, runId, leaseMs: draw.one(leases) };
      case "complete":
        return { type, runId };
      case "park":
        return { type, runId, ...(draw.chance(0.7) && { availableAt: this.timeOrNever(now) }), ...reason };
      case "release":
        return { type, runId, ...reason };
      case "requeue": {
        const failuresMax = draw.chance(0.5) ? { failuresMax: draw.integer(0, 2) } : {};
        return { type, runId, ...(draw.chance(0.7) && { availableAt: this.time(now) }), ...reason, ...failuresMax };
      }
      case "append":
        return this.say(runId);
    }
  }

  /** Several as one: under a fence or without, some of which undo what later ones need. */
  private list(worker: Worker, now: number): Call {
    const fence = this.heldBy(worker);
    const { draw } = this;
    const asked: Wish[] = [];
    const count = draw.one([1, 1, 2, 3]);
    while (asked.length < count) {
      const run = fence !== null && draw.chance(0.4) ? { ...fence, key: claimKey(this.someRun()) } : fence;
      const held = run === null ? null : this.holding(run, now);
      const kind = draw.weighed({
        hold: held === null || held.type === "append" ? 0 : 6,
        claim: 1,
        cancel: 1,
        enqueue: 2,
      });
      if (kind === "hold") asked.push(held!);
      else if (kind === "claim") asked.push(this.claimNext(worker));
      else if (kind === "cancel") asked.push({ type: "requestCancel", runId: this.someRun(), reason: "in a list" });
      else asked.push({ ...this.newItem(now), ...(draw.chance(0.4) && { parent: this.someRun() }) });
    }
    return this.call(asked, draw.chance(0.8) ? fence : null, draw.chance(0.4), true);
  }

  private newItem(now: number): Wish & { readonly type: "enqueue" } {
    const { draw } = this;
    this.runs = Math.min(this.runs + 1, this.runsMax);
    return {
      type: "enqueue",
      runId: `r${this.runs}`,
      ...(draw.chance(0.3) && { availableAt: this.time(now) }),
      ...(draw.chance(0.4) && { priority: draw.integer(-3, 3) }),
      ...(draw.chance(0.3) && { affinity: draw.one(["worker 1", "worker 2", "worker 3"]) }),
      ...(draw.chance(0.3) && { reclaimsMax: draw.integer(0, 2) }),
      ...(draw.chance(0.2) && { input: `what to do ${draw.integer(1, 9)}` }),
    };
  }

  /** Somebody wants a run by a time, often one that is being worked on: that counts when its holder lets go. */
  private want(worker: Worker, now: number): Wish {
    const held = this.draw.chance(0.6) ? this.heldBy(worker) : null;
    const runId = held === null ? this.someRun() : runOf(held);
    return { type: "requeue", runId, availableAt: this.time(now), ...this.why() };
  }

  /** What was released comes again, as it was or otherwise; so does what was not. */
  private secondLife(worker: Worker, now: number): Wish {
    const { draw } = this;
    const gone = draw.one(this.released.slice(-4));
    if (gone === undefined || draw.chance(0.3)) return { ...this.newItem(now), runId: this.someRun() };
    const parent = this.parents.get(gone);
    return {
      ...this.newItem(now),
      runId: gone,
      ...(parent !== undefined && draw.chance(0.5) && { parent }),
      ...(draw.chance(0.3) && { claim: this.claim(worker.name) }),
    };
  }

  /** One that has, or had, a continuation, or any. */
  private someParent(): string {
    const { draw } = this;
    const freed = this.released.flatMap((runId) => this.parents.get(runId) ?? []).slice(-2);
    if (freed.length > 0 && draw.chance(0.4)) return draw.one(freed);
    const parents = [...this.parents.values()].slice(-4);
    return parents.length > 0 && draw.chance(0.4) ? draw.one(parents) : this.someRun();
  }

  private claim(holder: string): WishedClaim {
    return { holder, leaseMs: this.draw.one(leases), token: this.draw.token() };
  }

  private say(runId: string): Wish {
    return { type: "append", stream: `host/${runId}`, says: this.draw.integer(0, 999) };
  }

  /** One that was claimed lately, or any. */
  private someRun(): string {
    const lately = this.issued.slice(-4);
    if (lately.length > 0 && this.draw.chance(0.6)) return runOf(this.draw.one(lately));
    return `r${this.draw.integer(1, Math.max(1, this.runs))}`;
  }

  private why(): { readonly reason?: string } {
    return this.draw.chance(0.3) ? { reason: `because of ${this.draw.integer(1, 9)}` } : {};
  }

  private heldBy({ held }: Worker): Fence | null {
    return held.length === 0 ? null : this.draw.one(held);
  }

  private time(now: number): number {
    return Math.max(0, now + this.draw.one([-60_000, 0, 1, 1_000, 10_000, 600_000]));
  }

  private timeOrNever(now: number): number | null {
    return this.draw.chance(0.4) ? null : this.time(now);
  }

  /** What a fence is that was never given out: of another claim, journal, run or owner. */
  private forge(fence: Fence): Fence {
    switch (this.draw.one(["generation", "later", "incarnation", "token", "key"] as const)) {
      case "generation":
        return { ...fence, generation: Math.max(1, fence.generation - 1) };
      case "later":
        return { ...fence, generation: fence.generation + 1 };
      case "incarnation":
        return { ...fence, incarnation: 2 };
      case "token":
        return { ...fence, token: "a token of nobody" };
      case "key":
        return { ...fence, key: claimKey(this.someRun()) };
    }
  }
}

function letGo({ held }: Worker, fence: Fence | null): void {
  const index = held.findIndex(({ key }) => key === fence?.key);
  if (index >= 0) held.splice(index, 1);
}

function runOf({ key }: Fence): string {
  return key.slice("queue/".length);
}
