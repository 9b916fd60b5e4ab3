/** The loop that every host would write: claim while there are free hands, work, settle, wait.
 *  Invariants: no failure ends it, and each is reported once; when `stop` has resolved no item is claimed by it any more, but
 *  for those whose store did not answer until their lease was over. Source: design section 12, decision 0023. */
import type { Engine } from "../engine/engine.js";
import { checkMembers } from "../kernel/members.js";
import type { Scheduled } from "../kernel/clock.js";
import { RunningJob } from "./running-job.js";
import type { Claimed, JobSource } from "./running-job.js";
import type { Queue } from "./queue.js";
import { WorkWatch } from "./work-watch.js";
import { Claims } from "./worker-claims.js";
import { parseDrain } from "./worker-options.js";
import type { WorkerPlan, WorkerStopOptions } from "./worker-options.js";
import { Reports } from "./worker-reports.js";

/** How long a handler whose signal was aborted has to end before its item is given back under it. */
const endingMs = 1_000;

/** A worker, made by `ledger.worker`. @public */
export class LedgerWorker {
  /** Resolves when it has stopped, whoever stopped it. */
  readonly stopped: Promise<void>;
  private readonly plan: WorkerPlan;
  private readonly source: JobSource;
  private readonly claims: Claims;
  private readonly watch: WorkWatch;
  private readonly jobs = new Map<string, RunningJob>();
  private readonly listener = (): void => void this.stop();
  private stopping = false;
  private drain: Scheduled | null = null;
  /** On the monotonic clock: when handlers are told to end. */
  private drainAt = Infinity;

  /** @internal */
  constructor(engine: Engine, queue: Queue, plan: WorkerPlan) {
    this.plan = plan;
    const { clock, randomBytes } = engine.options;
    const reports = new Reports(plan.onError);
    const chance = (): number => Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32;
    const { leaseMs, retry, handle } = plan;
    this.source = { engine, queue, clock, reports, leaseMs, chance, retry, handle };
    this.claims = new Claims({ ...this.source, holder: plan.holder });
    this.watch = new WorkWatch({ ...this.source, pollMs: plan.pollMs });
    for (const signal of plan.signals) process.once(signal, this.listener);
    const hands = Array.from({ length: plan.concurrency }, () => this.work());
    this.stopped = Promise.all(hands).then(() => this.drain?.cancel());
  }

  /** Claims nothing more, lets what is in hand go on for a while (`drainMs`), then aborts its signals, gives back what has not
   *  ended within another second, claimable at once as after a crash, and resolves. Stopping again shortens the while. */
  async stop(options: WorkerStopOptions = {}): Promise<void> {
    checkMembers(options, "options", ["drainMs"]);
    const drainMs = parseDrain(options.drainMs ?? this.plan.drainMs);
    this.stopping = true;
    for (const signal of this.plan.signals) process.removeListener(signal, this.listener);
    this.watch.end();
    this.endBy(drainMs);
    return this.stopped;
  }

  /** Stops at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** One hand. */
  private async work(): Promise<void> {
    while (!this.stopping) {
      const found = await this.claims.next([...this.plan.exclude, ...this.jobs.keys()]);
      if (found === null) await this.watch.rest(this.claims.backoffMs());
      else if (found.claimed === null) await this.watch.work(found.vain);
      else await this.run(found.claimed);
    }
  }

  private async run(claimed: Claimed): Promise<void> {
    const job = new RunningJob(this.source, claimed);
    if (this.stopping) return job.giveBack();
    this.jobs.set(job.runId, job);
    this.watch.more();
    await job.run();
    this.jobs.delete(job.runId);
  }

  private endBy(drainMs: number): void {
    const { clock } = this.source;
    const drainAt = clock.monotonic() + drainMs;
    if (drainAt >= this.drainAt) return;
    this.drainAt = drainAt;
    this.drain?.cancel();
    if (drainMs === 0) this.endJobs();
    else this.drain = clock.schedule(drainMs, () => this.endJobs());
  }

  private endJobs(): void {
    for (const job of this.jobs.values()) job.drain();
    this.drain = this.source.clock.schedule(endingMs, () => {
      for (const job of this.jobs.values()) job.abandon();
    });
  }
}
