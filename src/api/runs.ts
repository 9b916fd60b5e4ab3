/** The runs of a ledger: what is to be done, how it stands, and who works on it. */
import { invalid } from "../kernel/errors.js";
import { checkMembers, checkObject } from "../kernel/members.js";
import { parseRunId } from "../kernel/names.js";
import { generateRunId } from "../kernel/run-id.js";
import { create, finish, prepareResume, requestCancel, start } from "../commands/run.js";
import type { ResumePrepared, RunWritten } from "../commands/run.js";
import type { CreateRunInput, FinishRunInput, RequestRunCancelInput, RunWriteInput } from "../commands/run-input.js";
import type { Command } from "../commands/define-command.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";
import { readTogether } from "../engine/projector/read-together.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { runs, runStatuses } from "../../projections/run.js";
import type { Run, RunStatus } from "../../projections/run.js";
import { executeOne } from "./execute-one.js";

/** A run to be made. @public */
export interface NewRun extends Omit<CreateRunInput, "runId"> {
  /** Default: `<time>-<name of the definition, or title>-<8 random digits>`. A call with an `id` needs the caller's own, for
   *  sent again it would get another one. */
  readonly runId?: string;
}

/** Who works on a run, and until when unless it is renewed. @public */
export interface RunOwner {
  readonly holder: string;
  readonly generation: number;
  /** Engine time, ms since the epoch. */
  readonly expiresAt: number;
}

/** A run as it is read: with its owner at the same position. @public */
export interface RunEntry extends Readonly<Run> {
  /** Null: nobody has a live claim of it. */
  readonly owner: RunOwner | null;
}

/** Which runs to list. @public */
export interface RunListOptions {
  readonly status?: RunStatus | undefined;
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** The runs, as `ledger.runs`. While a run has a live claim (that of its queue item), whoever writes to it presents the
 *  fence of it as `fence` (`FENCED`); while it has none, the revision that was seen, as `expectedRevision`
 *  (`INVALID_ARGUMENT` without it, `REVISION_CONFLICT` when it is another). Answers have the revision behind the write.
 *  Other refusals: `NOT_FOUND`, `ILLEGAL_TRANSITION` (the run does not stand as it must; `details.status` says how). @public */
export class Runs {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Makes a run, which is not on the run queue before it is enqueued. `ALREADY_EXISTS`: there is one of this id;
   *  `NOT_FOUND`: its definition was not registered; `REQUEST_CONFLICT`: that was registered by another name. */
  async create(run: NewRun = {}, options: ExecuteOptions = {}): Promise<Executed & Told<RunWritten>> {
    checkObject(run, "run", "an object");
    checkObject(options, "options", "an object");
    const { runId = this.nextId(run, options), ...said } = run;
    return this.execute(create({ ...said, runId }), options);
  }

  /** Begins a run that is queued. */
  start(run: RunWriteInput, options: ExecuteOptions = {}): Promise<Executed & Told<RunWritten>> {
    return this.execute(start(run), options);
  }

  /** For whoever took a run over: closes what its last holder left open, in one commit, and says what that was. The run stays
   *  running, and goes on with a new attempt. `ILLEGAL_TRANSITION` unless it is running or waiting. */
  prepareResume(run: RunWriteInput, options: ExecuteOptions = {}): Promise<Executed & Told<ResumePrepared>> {
    return this.execute(prepareResume(run), options);
  }

  /** Asks that a run be ended. Its holder hears of it when it renews; one that nobody owns is cancelled in this commit.
   *  Needs neither a fence nor a revision. */
  requestCancel(run: RequestRunCancelInput, options: ExecuteOptions = {}): Promise<Executed & Told<RunWritten>> {
    return this.execute(requestCancel(run), options);
  }

  /** Ends a run for good. Its queue item is done in the same commit, and the claim over; an open attempt is cancelled, but for
   *  a run that is to be completed, which must have none. Said again as it was said, it writes nothing and needs no revision;
   *  `ILLEGAL_TRANSITION` when it ended in another way. */
  finish(run: FinishRunInput, options: ExecuteOptions = {}): Promise<Executed & Told<RunWritten>> {
    return this.execute(finish(run), options);
  }

  /** One run; null when there is none. Its owner is that at the moment of the call. */
  async get(runId: string): Promise<RunEntry | null> {
    parseRunId(runId, "runId");
    // The time first: a claim that is live at it was live at some moment between.
    const { at } = await this.engine.moment();
    return readTogether([runs, queue], this.engine.reads(), async (documents) => {
      const [run] = await documents.get(runs, [runId]);
      const [item] = await documents.get(queue, [runId]);
      return run == null ? null : viewRun(run, item ?? null, at);
    });
  }

  /** All runs, or those of one status, the newest first. */
  async list(options: RunListOptions = {}): Promise<{
    readonly runs: readonly RunEntry[];
    readonly next: string | null;
  }> {
    checkMembers(options, "options", ["status", "after", "limit"]);
    const { status, after, limit } = options;
    if (status !== undefined && !runStatuses.includes(status))
      throw invalid("options.status", `one of ${runStatuses.join(", ")}`, status);
    const { at } = await this.engine.moment();
    return readTogether([runs, queue], this.engine.reads(), async (documents) => {
      const { documents: found, next } = await documents.find(runs, {
        ...(status === undefined ? { index: "created" } : { index: "status", prefix: [status] }),
        order: "desc",
        ...(after !== undefined && { after }),
        ...(limit !== undefined && { limit }),
      });
      const items = await documents.get(
        queue,
        found.map(({ key }) => key),
      );
      return { runs: found.map(({ document }, index) => viewRun(document, items[index] ?? null, at)), next };
    });
  }

  private execute<Result extends object>(
    command: Command<Result>,
    options: ExecuteOptions,
  ): Promise<Executed & Told<Result>> {
    return executeOne(this.engine, command, options);
  }

  private nextId({ definition, title }: NewRun, { id }: ExecuteOptions): string {
    if (id !== undefined)
      throw invalid(
        "run.runId",
        "the caller's own id of a run beside an id, for sent again it would be another",
        undefined,
      );
    const { clock, randomBytes } = this.engine.options;
    const name = definition?.name ?? title;
    return generateRunId(typeof name === "string" ? name : "", clock.now(), randomBytes(4));
  }
}

function viewRun(run: Run, item: QueueItem | null, at: number): RunEntry {
  const claim = item?.claim ?? null;
  if (claim === null || claim.expiresAt <= at) return { ...run, owner: null };
  const { holder, generation, expiresAt } = claim;
  return { ...run, owner: { holder, generation, expiresAt } };
}
