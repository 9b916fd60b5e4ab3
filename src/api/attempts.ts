/** The attempts of runs: each time that somebody worked on a node of one. */
import { checkMembers } from "../kernel/members.js";
import { parseAttemptId, parseRunId } from "../kernel/names.js";
import { cancel, finish, start } from "../commands/attempt.js";
import type { AttemptWritten } from "../commands/attempt.js";
import type { CancelAttemptInput, FinishAttemptInput, StartAttemptInput } from "../commands/attempt-input.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";
import { attemptKey, attempts } from "../../projections/attempt.js";
import type { Attempt } from "../../projections/attempt.js";
import { executeOne } from "./execute-one.js";

/** Which attempts of a run to list. @public */
export interface AttemptListOptions {
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** The attempts, as `ledger.attempts`. Who may write is as with `ledger.runs`: what is expected is the revision of the run.
 *  Other refusals: `NOT_FOUND`, `ILLEGAL_TRANSITION`, `ATTEMPT_CLOSED` (it ended, and in another way). @public */
export class Attempts {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Begins the next attempt of a node. A run has one open attempt at a time (`ILLEGAL_TRANSITION`); one that was interrupted
   *  is cancelled in the same commit. */
  start(attempt: StartAttemptInput, options: ExecuteOptions = {}): Promise<Executed & Told<AttemptWritten>> {
    return executeOne(this.engine, start(attempt), options);
  }

  /** Ends an attempt as it came to its end. Said again as it was said, it writes nothing and needs no revision. */
  finish(attempt: FinishAttemptInput, options: ExecuteOptions = {}): Promise<Executed & Told<AttemptWritten>> {
    return executeOne(this.engine, finish(attempt), options);
  }

  /** Ends an attempt before it came to its end. Said again as it was said, it writes nothing and needs no revision. */
  cancel(attempt: CancelAttemptInput, options: ExecuteOptions = {}): Promise<Executed & Told<AttemptWritten>> {
    return executeOne(this.engine, cancel(attempt), options);
  }

  /** One attempt; null when there is none. */
  async get(runId: string, attemptId: string): Promise<Readonly<Attempt> | null> {
    const key = attemptKey(parseRunId(runId, "runId"), parseAttemptId(attemptId, "attemptId"));
    return this.engine.projection(attempts).get(key);
  }

  /** The attempts of a run in the order in which they were started. */
  async list(
    runId: string,
    options: AttemptListOptions = {},
  ): Promise<{ readonly attempts: readonly Readonly<Attempt>[]; readonly next: string | null }> {
    parseRunId(runId, "runId");
    checkMembers(options, "options", ["after", "limit"]);
    const { after, limit } = options;
    const { documents, next } = await this.engine.projection(attempts).find({
      index: "run",
      prefix: [runId],
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    return { attempts: documents.map(({ document }) => document), next };
  }
}
