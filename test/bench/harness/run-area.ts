/** What a host does with a run, as a command: one event that changes two documents of about 400 bytes. */
import { accept, defineCommand, defineEvents, openLedger, refuse } from "../../../src/index.js";
import type { Command, Ledger } from "../../../src/index.js";
import { defineProjection } from "../../../projections/define-projection.js";
import { jobEvent, jobEvents } from "./events.js";

/** The last step of a run, and what came before it in figures. */
interface Run {
  status: string;
  readonly owner: string;
  readonly labels: readonly string[];
  steps: number;
  busyMs: number;
  attempt: number;
  last: object;
  createdAt: number;
  updatedAt: number;
}

interface Attempt {
  readonly run: string;
  readonly settings: object;
  state: string;
  steps: number;
  last: object;
  createdAt: number;
  updatedAt: number;
}

const runEvents = defineEvents("shift", { open: false }, { "shift.stepFinished": {} });
const runOf = ({ stream }: { readonly stream: string }): string => stream.slice("shift/".length);

const runs = defineProjection<Run>()({
  name: "bench-run",
  version: 1,
  indexes: { status: ({ status, createdAt }) => [status, createdAt] },
  on: {
    "shift.stepFinished": {
      key: runOf,
      apply(run, { data, at }) {
        if (run === undefined)
          return {
            status: "running",
            owner: "orders-team@example.com",
            labels: ["region:eu-central", "tier:standard", "kind:import", "source:schedule"],
            steps: 1,
            busyMs: data["durationMs"] as number,
            attempt: data["attempt"] as number,
            last: data,
            createdAt: at,
            updatedAt: at,
          };
        run.steps++;
        run.busyMs += data["durationMs"] as number;
        run.attempt = data["attempt"] as number;
        run.last = data;
        run.updatedAt = at;
        return run;
      },
    },
  },
});

const attempts = defineProjection<Attempt>()({
  name: "bench-attempt",
  version: 1,
  indexes: { run: ({ run, createdAt }) => [run, createdAt] },
  on: {
    "shift.stepFinished": {
      key: (event) => `${runOf(event)}/1`,
      apply(attempt, event) {
        const { data, at } = event;
        if (attempt === undefined)
          return {
            run: runOf(event),
            settings: { image: "registry.example.com/import:4.11.0", memoryMiB: 512, retries: 3, timeoutMs: 600_000 },
            state: "running",
            steps: 1,
            last: data,
            createdAt: at,
            updatedAt: at,
          };
        attempt.steps++;
        attempt.last = data;
        attempt.updatedAt = at;
        return attempt;
      },
    },
  },
});

const finishStep = defineCommand("shift.finishStep", {
  reads: [
    (input: { readonly run: string; readonly step: object }) => ({ run: runs.get(input.run) }),
    (input) => ({ attempt: attempts.get(`${input.run}/1`) }),
  ],
  decide: ({ run, attempt }, input, context) => {
    if (run !== null && run.status !== "running") return refuse("ILLEGAL_TRANSITION", { status: run.status });
    return accept([{ stream: `shift/${input.run}`, type: "shift.stepFinished", data: input.step }], {
      steps: (attempt?.steps ?? 0) + 1,
      at: context.at,
    });
  },
});

/** A step of a run; the same number has the same data. The run is named by the stream of a job. */
export function step(stream: string, index: number): Command<{ readonly steps: number; readonly at: number }> {
  return finishStep({ run: stream.slice("job/".length), step: jobEvent(index).data! });
}

/** Opens a ledger for such commands, and for the appends of the others. */
export function openRunLedger(path: string): Promise<Ledger> {
  return openLedger(path, { events: [jobEvents, runEvents], projections: [runs, attempts], commands: [finishStep] });
}
