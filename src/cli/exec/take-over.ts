/** Taking over a run that nobody owns any more.
 *  Invariants: nothing of the run is changed before its claim is ours, the command is the recorded one, and what the last
 *  holder started is gone; where one of these cannot be had, the claim is given back and the run stays as it was (row H-06).
 *  Source: decision 0027. */
import { LedgerError } from "../../index.js";
import type { Ledger, QueueEntry, RunEntry } from "../../index.js";
import { listLimitMax } from "../../kernel/limits.js";
import { isoTime } from "../figures.js";
import { holderName, isExecRun, readPlan } from "./exec-run.js";
import type { CommandPlan, OwnedRun } from "./exec-run.js";
import { HeldClaim } from "./held-claim.js";
import { endGroup } from "./process-group.js";
import type { ProcessTable } from "./process-table.js";
import { Stop } from "./stop.js";

const pageMax = 1_000;

/** What the command line says of it. */
export interface TakeOverWish {
  /** The command that was given, if one was. */
  readonly command: readonly string[] | null;
  readonly retries?: number | undefined;
  readonly leaseMs?: number | undefined;
}

export interface TakenOver {
  readonly run: OwnedRun;
  readonly claim: HeldClaim;
}

/** Takes a run over. `ILLEGAL_TRANSITION`: it is over; `NOT_READY`: somebody owns it, or what its last holder started cannot be
 *  ended; `REQUEST_CONFLICT`: it is of another command, or of none. */
export async function takeOver(
  ledger: Ledger,
  runId: string,
  wish: TakeOverWish,
  { stop, table }: { readonly stop: Stop; readonly table: ProcessTable | null },
): Promise<TakenOver> {
  const found = await ledger.runs.get(runId);
  if (found === null) throw new LedgerError("NOT_FOUND", `${runId} must be a run, found none of this id`);
  refuseState(found);
  const recorded = await readPlan(ledger, found);
  if (recorded === null)
    throw new LedgerError("REQUEST_CONFLICT", `${runId} must be a run of a command, found one that exec did not make`, {
      details: { runId },
    });
  const leaseMs = wish.leaseMs ?? recorded.leaseMs;
  const since = performance.now();
  const work = await ledger.queue.claimNext({ holder: holderName(), leaseMs, runId });
  if (work === null) throw await notClaimable(ledger, runId);
  const { fence, item } = work;
  // What is heard before the run is ours to work on concerns nobody when it is not to be had.
  const early = new Stop();
  let hearing = early;
  const claim = new HeldClaim(ledger, { fence, leaseMs, since }, watchOf({ because: (why) => hearing.because(why) }));
  if (item.cancel !== null) early.because({ type: "cancelled", reason: item.cancel.reason });
  try {
    await prepare(ledger, runId, { recorded, command: wish.command, claim, table });
    const { attempts } = await ledger.attempts.list(runId, { limit: listLimitMax });
    const run = (await ledger.runs.get(runId))!; // it is there, and ours
    const { retries } = wish;
    hearing = stop;
    const heard = early.why();
    if (heard !== null) stop.because(heard);
    return {
      claim,
      run: {
        ...recorded,
        ...(retries !== undefined && { retries }),
        runId,
        leaseMs,
        fence,
        since,
        isStarted: run.status !== "queued",
        attempts: run.attempts,
        failures: attempts.filter(({ status }) => status === "failed").length,
      },
    };
  } catch (error) {
    claim.stop();
    // What was refused leaves the run as it was, for others.
    const reason = error instanceof LedgerError ? error.code : "failed";
    await ledger.queue.park(fence, { reason }).catch(() => {});
    throw error;
  }
}

/** A run that its holder left. */
export interface Abandoned {
  readonly runId: string;
  /** Where what it left may still be, and can be ended. */
  readonly host: string | null;
}

/** The runs of `exec` that nobody owns and that are not over, the oldest first; with a command, those of that command. */
export async function findAbandoned(ledger: Ledger, command: readonly string[] | null): Promise<readonly Abandoned[]> {
  const found: RunEntry[] = [];
  for (const status of ["queued", "running"] as const) {
    for (let after: string | null = null; ;) {
      const page = await ledger.runs.list({ status, limit: pageMax, ...(after !== null && { after }) });
      for (const run of page.runs)
        if (
          run.owner === null &&
          isExecRun(run) &&
          (await isOnQueue(ledger, run)) &&
          (await isOf(ledger, run, command))
        )
          found.push(run);
      if (page.next === null) break;
      after = page.next;
    }
  }
  found.sort((one, other) => one.createdAt - other.createdAt);
  return Promise.all(found.map(async (run) => ({ runId: run.runId, host: await hostOf(ledger, run) })));
}

async function hostOf(ledger: Ledger, { runId, attempt }: RunEntry): Promise<string | null> {
  return attempt === null ? null : ((await ledger.attempts.get(runId, attempt))?.process?.host ?? null);
}

/** What hears of a claim tells whoever works. */
export function watchOf(stop: Pick<Stop, "because">): ConstructorParameters<typeof HeldClaim>[2] {
  return {
    lost: (error) => stop.because({ type: "lost", error }),
    cancelled: (reason) => stop.because({ type: "cancelled", reason }),
  };
}

interface Preparing {
  readonly recorded: CommandPlan;
  readonly command: readonly string[] | null;
  readonly claim: HeldClaim;
  readonly table: ProcessTable | null;
}

/** Ends what the last holder left behind, processes first. */
async function prepare(ledger: Ledger, runId: string, { recorded, command, claim, table }: Preparing): Promise<void> {
  if (command !== null && !isSame(command, recorded.command))
    throw new LedgerError(
      "REQUEST_CONFLICT",
      `${runId} must be resumed with the command it was made with, found another`,
      {
        details: { runId },
        hint: "leave the command out, or use another --run",
      },
    );
  const run = (await ledger.runs.get(runId))!; // it was there, and runs do not go away
  refuseState(run, claim.fence.generation);
  if (run.status === "queued") return;
  if (run.attempt !== null) {
    const process = (await ledger.attempts.get(runId, run.attempt))?.process ?? null;
    const end =
      process === null
        ? ({ type: "cannot", reason: "its process is not on record" } as const)
        : await endGroup(process, table);
    if (end.type === "cannot")
      throw new LedgerError("NOT_READY", `what ${run.attempt} of ${runId} started must be gone, found: ${end.reason}`, {
        details: { runId, attemptId: run.attempt, process },
        hint: "where it is certain that it is gone, cancel the run and make another: ledger.runs.requestCancel",
      });
  }
  await ledger.runs.prepareResume({ runId }, { fence: claim.fence });
}

/** `generation`: that of our own claim. */
function refuseState({ runId, status, owner }: RunEntry, generation: number | null = null): void {
  if (status !== "running" && status !== "queued")
    throw new LedgerError("ILLEGAL_TRANSITION", `${runId} must not be over to be resumed, found it ${status}`, {
      details: { runId, status },
      hint: `\`runledger run ${runId}\` tells what became of it; a new run needs another --run, or none`,
    });
  if (owner === null || owner.generation === generation) return;
  const { holder, expiresAt } = owner;
  throw new LedgerError(
    "NOT_READY",
    `${runId} must have no owner to be resumed, found ${holder}, whose claim ends at ${isoTime(expiresAt)}`,
    { details: { runId, holder, expiresAt }, hint: "a claim that is renewed goes on; one that is not ends then" },
  );
}

async function notClaimable(ledger: Ledger, runId: string): Promise<LedgerError> {
  const item = await ledger.queue.get(runId);
  const found =
    item === null
      ? "it is not on the queue"
      : item.status === "claimed"
        ? `${item.claim?.holder} was faster`
        : `its item is ${item.status}${item.availableAt === null ? "" : ` until ${isoTime(item.availableAt)}`}`;
  return new LedgerError("NOT_READY", `${runId} must be claimable to be resumed, found that ${found}`, {
    details: { runId, status: item?.status ?? null },
  });
}

/** Those of which the item can be had, now or once a lease has run out. */
const claimableStatuses: ReadonlySet<string> = new Set<QueueEntry["status"]>(["queued", "claimed", "parked"]);

/** A run whose item somebody ended, and not the run with it, can be claimed by nobody, and must not stand before the others. */
async function isOnQueue(ledger: Ledger, { runId }: RunEntry): Promise<boolean> {
  const item = await ledger.queue.get(runId);
  return item !== null && claimableStatuses.has(item.status);
}

async function isOf(ledger: Ledger, run: RunEntry, command: readonly string[] | null): Promise<boolean> {
  try {
    const plan = await readPlan(ledger, run);
    return plan !== null && (command === null || isSame(command, plan.command));
  } catch (error) {
    // One whose command was erased cannot be resumed, and must not stand before those that can.
    if (error instanceof LedgerError && error.code === "CONTENT_ERASED") return false;
    throw error;
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
