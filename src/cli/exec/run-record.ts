/** What is written of a run while its command goes on. Each step is one commit, under the fence of the claim. */
import { setTimeout as sleep } from "node:timers/promises";
import { attemptCommands, LedgerError, queueCommands, runCommands, sessionCommands } from "../../index.js";
import type { Command, Ledger } from "../../index.js";
import type { OutputRecord } from "./capture.js";
import type { OwnedRun } from "./exec-run.js";
import type { Exit } from "./exit-code.js";
import type { HeldClaim } from "./held-claim.js";
import type { ProcessIdentity } from "./process-identity.js";

/** How an attempt came to its end. */
export interface AttemptEnd {
  readonly attemptId: string;
  /** Null: its command never ran. */
  readonly exit: Exit | null;
  readonly durationMs: number;
  readonly capture: CaptureEnd;
}

export type CaptureEnd =
  | { readonly status: "complete"; readonly open?: boolean }
  | { readonly status: "failed"; readonly failure: { readonly code: string; readonly message: string } };

/** What follows from it. */
export type Ending =
  | { readonly type: "completed" | "failed" | "tryAgain"; readonly exit: Exit }
  | { readonly type: "cancelled"; readonly reason: string }
  | { readonly type: "drained" };

export interface Head {
  readonly position: number;
  readonly id: string;
}

const node = "command";
/** How long an end waits for room on a full disk. */
const endRoomMs = 2_000;

export class RunRecord {
  /** The last event that this run wrote. */
  head: Head | null = null;
  private readonly ledger: Ledger;
  private readonly run: OwnedRun;
  private readonly claim: HeldClaim;
  private isStarted: boolean;
  private attempts: number;

  constructor(ledger: Ledger, run: OwnedRun, claim: HeldClaim) {
    this.ledger = ledger;
    this.run = run;
    this.claim = claim;
    this.isStarted = run.isStarted;
    this.attempts = run.attempts;
  }

  /** Says that an attempt begins, with the process that will be its command. Answers its id. */
  async startAttempt(process: ProcessIdentity | null): Promise<string> {
    const { runId } = this.run;
    const attemptId = `${node}.${this.attempts + 1}`;
    await this.write([
      ...this.begin(),
      attemptCommands.start({ runId, node, ...(process !== null && { process }) }),
      sessionCommands.bind({ runId, attemptId }),
    ]);
    this.isStarted = true;
    this.attempts++;
    return attemptId;
  }

  /** Records output. */
  async append(attemptId: string, from: number, records: readonly OutputRecord[]): Promise<void> {
    const { runId, fence } = this.run;
    let inDoubt = false;
    await this.insist(async () => {
      const wanted = from + records.length - 1;
      if (inDoubt && (await this.ledger.sessions.get(runId, attemptId))?.events === wanted) return;
      inDoubt = true;
      await this.ledger.sessions.appendEvents({ runId, attemptId, from, records }, { fence });
    }, 0);
  }

  /** Ends an attempt, and with it what follows from how it ended. */
  async end({ attemptId, exit, durationMs, capture }: AttemptEnd, ending: Ending): Promise<void> {
    const { runId } = this.run;
    const said = { runId, attemptId, ...(exit !== null && { exit }) };
    const isOver = ending.type === "completed" || ending.type === "failed" || ending.type === "tryAgain";
    const outcome = ending.type === "completed" ? "completed" : "failed";
    await this.finish(
      [
        sessionCommands.finish({ runId, attemptId, ...capture }),
        isOver
          ? attemptCommands.finish({ ...said, outcome, durationMs })
          : attemptCommands.cancel({ ...said, reason: ending.type === "cancelled" ? ending.reason : ending.type }),
      ],
      ending,
    );
  }

  /** Ends the run, or gives it back, without an attempt. */
  async endWithout(ending: Ending): Promise<void> {
    await this.finish([], ending);
  }

  /** Says that a command could not be started, which is the end of its run. */
  async couldNotStart(exit: Exit, sentence: string): Promise<string> {
    const { runId } = this.run;
    const attemptId = `${node}.${this.attempts + 1}`;
    const reason = "the command could not be started";
    await this.claim.endBy(() =>
      this.write([
        ...this.begin(),
        attemptCommands.start({ runId, node }),
        attemptCommands.finish({ runId, attemptId, outcome: "failed", exit, error: sentence }),
        runCommands.finish({ runId, status: "failed", exit, reason }),
      ]),
    );
    return attemptId;
  }

  private async finish(commands: readonly Command[], ending: Ending): Promise<void> {
    let inDoubt = false;
    const write = async (): Promise<void> => {
      if (inDoubt && (await this.hasEnded(ending))) return;
      inDoubt = true;
      await this.write([...commands, ...this.finishRun(ending)]);
    };
    await this.insist(() => (ending.type === "tryAgain" ? write() : this.claim.endBy(write)), endRoomMs);
  }

  /** Was an end written that got no answer? Said again, it would be refused: the claim has ended with it. */
  private async hasEnded({ type }: Ending): Promise<boolean> {
    const { runId } = this.run;
    if (type === "drained") return (await this.ledger.queue.get(runId))?.status === "parked";
    return (await this.ledger.runs.get(runId))?.status === type;
  }

  private begin(): readonly Command[] {
    return this.isStarted ? [] : [runCommands.start({ runId: this.run.runId })];
  }

  private finishRun(ending: Ending): readonly Command[] {
    const { runId } = this.run;
    switch (ending.type) {
      case "completed":
      case "failed":
        return [runCommands.finish({ runId, status: ending.type, exit: ending.exit })];
      case "cancelled":
        return [runCommands.finish({ runId, status: "cancelled", reason: ending.reason })];
      case "drained":
        return [queueCommands.park({ runId, reason: "drained" })];
      case "tryAgain":
        return [];
    }
  }

  private async write(commands: readonly Command[]): Promise<void> {
    const { position, ids } = await this.ledger.execute(commands, { fence: this.run.fence });
    const id = ids.at(-1);
    if (id !== undefined) this.head = { position, id };
  }

  /** Writes again what the store did not take this time: while it is busy or away and the lease lasts, and for a while when there was
   *  no room, if that can be waited for. */
  private async insist(write: () => Promise<void>, roomMs: number): Promise<void> {
    const end = performance.now() + roomMs;
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, 500)) {
      try {
        await write();
        return;
      } catch (error) {
        if (isFenced(error)) this.claim.lose(error);
        const isWorthIt = isBusy(error) ? this.claim.hasTime : isFull(error) && performance.now() < end;
        if (!isWorthIt || !this.claim.isHeld) throw error;
        await sleep(pauseMs);
      }
    }
  }
}

/** Was it refused because of the claim? */
export function isFenced(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === "FENCED";
}

/** It may take it soon. A database that is started anew must not cost the rest of an output. */
function isBusy(error: unknown): boolean {
  return error instanceof LedgerError && busyCodes.has(error.code);
}

const busyCodes: ReadonlySet<string> = new Set(["STORE_BUSY", "STORE_IN_DOUBT", "STORE_UNAVAILABLE", "OVERLOADED"]);

/** There may be room again. */
function isFull(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "STORE_FULL";
}
