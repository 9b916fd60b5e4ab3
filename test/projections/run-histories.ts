/** Histories of runs and their attempts that can happen: at each step one of the things that can happen to its run does. */
import fc from "fast-check";
import { attemptOutcomes } from "../../src/journal/events/attempt.js";
import { finalRunStatuses } from "../../src/journal/events/run.js";
import type { HistoryEvent } from "../../src/testing/history.js";

interface Run {
  status: "none" | "queued" | "running" | "over";
  open: string | null;
  readonly numbers: Map<string, number>;
}

/** A step of a history: at it one of the things that can happen to its run happens. */
export type Step = { readonly run: string; readonly pick: number; readonly waitMs: number; readonly more: number };

const processes = [undefined, { host: "h", boot: "b", pid: 7, startedAt: "12" }];
const exits = [undefined, { code: 0 }, { code: 255 }, { signal: "SIGKILL" }];
const errors = [undefined, "it failed", { of: ["a", 1] }];
const times = [undefined, 0, 9e12];

function historyOf(steps: readonly Step[]): readonly HistoryEvent[] {
  const runs = new Map<string, Run>();
  const history: HistoryEvent[] = [];
  let at = Date.UTC(2026, 0, 1);
  for (const { run: runId, pick, waitMs, more } of steps) {
    at += waitMs;
    const run = runs.get(runId) ?? { status: "none", open: null, numbers: new Map<string, number>() };
    runs.set(runId, run);
    const oneOf = <Value>(values: readonly Value[]): Value => values[more % values.length]!;
    const add = (type: string, data: object): void => void history.push({ stream: `run/${runId}`, type, data, at });
    const cancel = (reason: string): void => {
      if (run.open === null) return;
      add("attempt.cancelled", { attemptId: run.open, reason, exit: oneOf(exits) });
      run.open = null;
    };
    const can: (() => void)[] = [];
    if (run.status === "none")
      can.push(() => {
        run.status = "queued";
        const definition = more % 2 === 0 ? null : { name: "d", digest: "cd".repeat(32) };
        add("run.created", {
          definition,
          title: oneOf([undefined, "t"]),
          input: oneOf(errors),
          parent: oneOf([undefined, "p"]),
        });
      });
    if (run.status === "queued")
      can.push(() => {
        run.status = "running";
        add("run.started", {});
      });
    if (run.status === "running")
      can.push(() => {
        const attempt = run.open;
        cancel("abandoned");
        add("run.resumePrepared", { attempt, captures: more % 3 });
      });
    if (run.status === "running" && run.open === null)
      can.push(() => {
        const node = oneOf(["a", "b.1"]);
        const number = (run.numbers.get(node) ?? 0) + 1;
        run.numbers.set(node, number);
        run.open = `${node}.${number}`;
        add("attempt.started", { attemptId: run.open, node, number, process: oneOf(processes) });
      });
    if (run.open !== null)
      can.push(
        () => cancel("no use"),
        () => {
          const reported = { reportedStartedAt: oneOf(times), reportedFinishedAt: times[(more + 1) % times.length] };
          const outcome = oneOf(attemptOutcomes);
          const durationMs = oneOf([undefined, 0, 12]);
          add("attempt.finished", {
            attemptId: run.open,
            outcome,
            exit: oneOf(exits),
            error: oneOf(errors),
            durationMs,
            ...reported,
          });
          run.open = null;
        },
      );
    if (run.status === "queued" || run.status === "running")
      can.push(
        () => add("run.cancelRequested", { reason: "no use" }),
        () => {
          cancel("the run ended");
          run.status = "over";
          add("run.finished", {
            status: oneOf(finalRunStatuses),
            exit: oneOf(exits),
            reason: oneOf([undefined, "r"]),
            error: oneOf(errors),
          });
        },
      );
    can[pick % Math.max(1, can.length)]?.();
  }
  return history;
}

export const runSteps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    run: fc.constantFrom("r1", "r2", "r3"),
    pick: fc.nat(20),
    waitMs: fc.constantFrom(0, 1, 500, 5_000),
    more: fc.nat(2_000),
  }),
  { maxLength: 60 },
);

export const runHistories: fc.Arbitrary<readonly HistoryEvent[]> = runSteps.map(historyOf);
