/** Processes that work on one run queue, and what they said. Whoever is killed is replaced by a new one, under a new name.
 *  Invariant: one that is being stopped is left alone until everything is answered that it had in hand. */
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../src/index.js";
import type { Ledger, ListedClaim } from "../../src/index.js";
import { startChild } from "./child.js";
import type { Child, Finished } from "./child.js";

export type Kind = "loop" | "worker";

/** A line of a child. `fenced`: the ledger refused a write; `lost`: its worker tells it so. */
export interface Said {
  readonly what: "claimed" | "completing" | "done" | "fenced" | "lost";
  readonly by: string;
  readonly key: string;
  readonly generation: number;
  readonly doing?: string;
  readonly reason?: string;
}

/** A stop past the lease: how much was in hand, and how much of that was refused to the one that woke. */
export interface Stop {
  readonly inHand: number;
  readonly refused: number;
}

/** What is read while the store may be away: asked again until it is there. */
export async function inOutages<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof LedgerError) || error.code !== "STORE_UNAVAILABLE") throw error;
      await sleep(50);
    }
  }
}

/** One that woke up says what became of its claims, however busy the machine is; one that does not know of them never does. */
const answerMsMax = 60_000;

interface Member {
  readonly name: string;
  readonly kind: Kind;
  readonly child: Child;
  readonly ready: Promise<void>;
  busy: boolean;
}

export interface FleetOptions {
  readonly path: string;
  readonly ledger: Ledger;
  readonly width: number;
  readonly leaseMs: number;
  /** By how many ms the clocks of the hosts are wrong; the members are on them in turn. */
  readonly skewsMs: readonly number[];
  /** Do they ask again for what the store refused for certain? */
  readonly patient: boolean;
  /** Called behind each item that somebody says is done. */
  readonly onDone: (done: number) => void;
}

export class Fleet {
  readonly said: Said[] = [];
  readonly killed: Promise<Finished>[] = [];
  readonly stops: Promise<Stop>[] = [];
  private readonly options: FleetOptions;
  private readonly members = new Set<Member>();
  private readonly answered = new Set<string>();
  private names = 0;
  private done = 0;

  constructor(options: FleetOptions) {
    this.options = options;
  }

  start(kind: Kind): void {
    const { path, width, leaseMs, skewsMs, patient } = this.options;
    const name = `${kind}${++this.names}`;
    const hear = (line: string): void => {
      if (line !== "ready") this.hear({ ...(JSON.parse(line) as Omit<Said, "by">), by: name });
    };
    const args = [path, name, kind, String(width), String(leaseMs), ...(patient ? ["patient"] : [])];
    const child = startChild("queue-worker.mjs", args, hear, { skewMs: skewsMs[this.names % skewsMs.length]! });
    this.members.add({ name, kind, child, ready: child.line("ready"), busy: false });
  }

  /** Kills one that `chance`, from 0 to below 1, picks out, and starts another; false when none is to be had now. */
  kill(chance: number): boolean {
    const member = this.pick(chance);
    if (member === undefined) return false;
    this.members.delete(member);
    member.child.process.kill("SIGKILL");
    this.killed.push(member.child.finished);
    this.start(member.kind);
    return true;
  }

  /** Stops one until all of its leases are over, and then lets it go on; false when none is to be had now. */
  stop(chance: number): boolean {
    const member = this.pick(chance);
    if (member === undefined) return false;
    this.stops.push(this.stopPastLease(member));
    return true;
  }

  /** Throws when one ended that nobody ended: what it had in hand might never be done. */
  requireAll(): void {
    const gone = [...this.members].find(({ child }) => child.process.exitCode !== null);
    if (gone !== undefined) throw new Error(`${gone.name} ended by itself: ${gone.child.stderr()}`);
  }

  /** Asks all to end, and tells how they did. */
  async end(): Promise<readonly Finished[]> {
    const members = [...this.members];
    await Promise.all(members.map(({ ready }) => ready));
    for (const { child } of members) child.process.kill("SIGTERM");
    return Promise.all(members.map(({ child }) => child.finished));
  }

  /** Leaves no process behind, whatever became of the test. */
  async abandon(): Promise<void> {
    for (const { child } of this.members) child.process.kill("SIGKILL");
    await Promise.all([...this.members].map(({ child }) => child.finished));
  }

  private hear(said: Said): void {
    this.said.push(said);
    if (said.what !== "claimed" && said.what !== "completing") this.answered.add(`${said.key} ${said.generation}`);
    if (said.what === "done") this.options.onDone(++this.done);
  }

  private pick(chance: number): Member | undefined {
    const idle = [...this.members].filter(({ busy }) => !busy);
    return idle[Math.floor(chance * idle.length)];
  }

  private async stopPastLease(member: Member): Promise<Stop> {
    const { leaseMs } = this.options;
    member.busy = true;
    await member.ready;
    let claims = await this.freeze(member);
    // All hands of a process keep step, and between two items they are empty.
    for (let tries = 0; claims.length === 0 && tries < 50; tries++) {
      member.child.process.kill("SIGCONT");
      await sleep(10);
      claims = await this.freeze(member);
    }
    const until = Math.max(Date.now() + leaseMs, ...claims.map(({ expiresAt }) => expiresAt));
    // By the wall clock, as leases are.
    while (Date.now() <= until) await sleep(20);
    member.child.process.kill("SIGCONT");
    const inHand = claims.map(({ runId, generation }) => `queue/${runId} ${generation}`);
    const deadline = performance.now() + answerMsMax;
    while (!inHand.every((claim) => this.answered.has(claim))) {
      if (member.child.process.exitCode !== null) throw new Error(`${member.name} ended with claims in hand`);
      if (performance.now() > deadline) throw new Error(`${member.name} says nothing of ${inHand.join(", ")}`);
      await sleep(20);
    }
    member.busy = false;
    const refused = new Set(
      this.said.flatMap(({ what, key, generation }) =>
        what === "fenced" || what === "lost" ? [`${key} ${generation}`] : [],
      ),
    );
    return { inHand: inHand.length, refused: inHand.filter((claim) => refused.has(claim)).length };
  }

  /** Stops it, and tells what it has in hand. */
  private async freeze({ name, child }: Member): Promise<readonly (ListedClaim & { readonly runId: string })[]> {
    child.process.kill("SIGSTOP");
    const { ledger } = this.options;
    const { items } = await inOutages(() => ledger.queue.list({ status: "claimed", limit: 10_000 }));
    return items.flatMap(({ runId, claim }) => (claim?.holder === name ? [{ ...claim, runId }] : []));
  }
}
