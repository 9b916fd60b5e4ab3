/** A run with a story, in a journal that is ahead of every clock, so that nothing depends on the day: host A begins it and
 *  sleeps through its lease, host B takes it over and completes it, and A is refused when it wakes. */
import { content, openLedger } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import type { ManualClock } from "../../src/testing/manual-clock.js";
import { newLedgerFile } from "./command.js";

export const t0 = Date.UTC(2100, 0, 1);
export const leaseMs = 10_000;

/** A ledger that somebody filled, from `t0` on: there "now" is the time of its last event. */
export async function filledLedger(fill: (ledger: Ledger, clock: ManualClock) => Promise<unknown>): Promise<string> {
  const file = newLedgerFile();
  const clock = manualClock(t0);
  const ledger = await openLedger(file, { clock });
  await fill(ledger, clock);
  await ledger.close();
  return file;
}

/** A run in the hands of a holder, with an attempt that captures. */
export async function beginRun(ledger: Ledger, runId: string, holder: string, title?: string) {
  await ledger.runs.create({ runId, ...(title !== undefined && { title }) });
  const { fence } = await ledger.queue.enqueue({ runId, claim: { holder, leaseMs } });
  await ledger.runs.start({ runId }, { fence });
  const attemptId = await beginAttempt(ledger, runId, { fence }, 4711);
  return { fence, attemptId };
}

export async function beginAttempt(
  ledger: Ledger,
  runId: string,
  under: { readonly fence: Parameters<Ledger["queue"]["verify"]>[0] },
  pid: number,
): Promise<string> {
  const process = { host: "machine", boot: "boot 1", pid, startedAt: "1" };
  const { attemptId } = await ledger.attempts.start({ runId, node: "exec", process }, under);
  await ledger.sessions.bind({ runId, attemptId }, under);
  return attemptId;
}

export async function say(
  ledger: Ledger,
  runId: string,
  attemptId: string,
  under: object,
  ...lines: string[]
): Promise<void> {
  const records = lines.map((line) => ({ type: "stdout", payload: content(line) }));
  await ledger.sessions.appendEvents({ runId, attemptId, from: 1, records }, under);
}

/** The whole story. */
export async function tellStory(ledger: Ledger, clock: ManualClock): Promise<void> {
  const runId = "build-1";
  const { fence: ofA, attemptId: first } = await beginRun(ledger, runId, "host A", "nightly build");
  await say(ledger, runId, first, { fence: ofA }, "one", "two", "three");
  clock.advance(4_000);
  await ledger.queue.renew(ofA, leaseMs);
  clock.advance(leaseMs + 1_000);
  const claimed = await ledger.queue.claimNext({ holder: "host B", leaseMs });
  const under = { fence: claimed!.fence };
  await ledger.runs.prepareResume({ runId }, under);
  const second = await beginAttempt(ledger, runId, under, 4712);
  await say(ledger, runId, second, under, "one");
  await ledger.sessions
    .appendEvents(
      { runId, attemptId: first, from: 4, records: [{ type: "stdout", payload: content("four") }] },
      {
        fence: ofA,
      },
    )
    .then(
      () => Promise.reject(new Error("it must be refused")),
      () => {},
    );
  clock.advance(2_000);
  await ledger.sessions.finish({ runId, attemptId: second, status: "complete" }, under);
  await ledger.attempts.finish(
    { runId, attemptId: second, outcome: "completed", exit: { code: 0 }, durationMs: 1_900 },
    under,
  );
  await ledger.runs.finish({ runId, status: "completed", exit: { code: 0 } }, under);
}
