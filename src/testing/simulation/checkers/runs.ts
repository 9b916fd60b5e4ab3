/** What became of each run, from the journal alone. */
import { runOfStream } from "../evidence.js";
import type { Checker, JournalEntry } from "../evidence.js";

/** A run as the journal tells it. */
interface Run {
  readonly runId: string;
  readonly isOpen: boolean;
  readonly createdAt: number;
  readonly priority: number;
  readonly affinity: string | null;
  readonly availableAt: number | null;
  readonly wantedAt: number | null;
  readonly expiresAt: number | null;
  readonly reclaims: number;
  readonly reclaimsMax: number;
}

/** A run is completed at most once, and nothing happens to it afterwards. */
export const completed: Checker = {
  name: "completed",
  check({ entries }, report) {
    const done = new Map<string, number>();
    for (const { seq, stream, type } of entries) {
      const runId = runOfStream(stream);
      if (runId === null) continue;
      const at = done.get(runId);
      if (at !== undefined) report(`${runId} must be done for good at #${at}, found ${type} at #${seq}`, runId);
      if (type === "queue.completed") done.set(runId, seq);
    }
  },
};

/** When a run of the simulation has drained, every item is completed, cancelled or taken off the queue. */
export const starved: Checker = {
  name: "starved",
  check({ entries, open }, report) {
    const runs = new Map<string, Run>();
    for (const entry of entries) tell(runs, entry);
    const left = new Set([...open, ...[...runs.values()].filter(({ isOpen }) => isOpen).map(({ runId }) => runId)]);
    for (const runId of left) report(`${runId} must have come to its end, found it open`, runId);
  },
};

/** Whoever claims gets the item that comes first: by rank, one that is affine as if it were ten minutes older, then by name. */
export const order: Checker = {
  name: "order",
  check({ entries, attempts }, report) {
    // In a list, several may claim with other exclusions: the model looks at those.
    const exclusions = new Map(
      attempts.flatMap(({ mark, call: { isList, wishes } }) => {
        const [wish] = wishes;
        return !isList && wish?.type === "claimNext" ? [[mark, wish.exclude] as const] : [];
      }),
    );
    const runs = new Map<string, Run>();
    for (const entry of entries) {
      const runId = runOfStream(entry.stream);
      const left = exclusions.get(entry.corr ?? "");
      if (entry.type === "queue.claimed" && left !== undefined) {
        const { holder } = entry.data["claim"] as { readonly holder: string };
        const first = [...runs.values()]
          .filter((run) => isClaimable(run, entry.at) && !left.includes(run.runId))
          .sort((one, other) => rank(one, holder) - rank(other, holder) || (one.runId < other.runId ? -1 : 1))[0];
        if (first?.runId !== runId)
          report(`#${entry.seq} must claim ${first?.runId ?? "nothing"}, found ${runId}`, runId);
      }
      tell(runs, entry);
    }
  },
};

function isClaimable({ isOpen, expiresAt, availableAt, reclaims, reclaimsMax }: Run, at: number): boolean {
  if (!isOpen) return false;
  if (expiresAt !== null) return expiresAt <= at && reclaims < reclaimsMax;
  return availableAt !== null && availableAt <= at;
}

function rank({ createdAt, priority, affinity }: Run, holder: string): number {
  return createdAt - 60_000 * priority - (affinity === holder ? 600_000 : 0);
}

/** What an event does to its run. */
function tell(runs: Map<string, Run>, { stream, type, data, at }: JournalEntry): void {
  const runId = runOfStream(stream);
  if (runId === null) return;
  const before = runs.get(runId);
  const claim = data["claim"] as { readonly expiresAt: number; readonly superseded: number | null } | undefined;
  if (type === "queue.enqueued") {
    const { availableAt, priority, affinity, reclaimsMax } = data as unknown as Run;
    const said = { availableAt, priority, affinity, reclaimsMax };
    const nothing = { wantedAt: null, reclaims: 0 };
    runs.set(runId, { runId, isOpen: true, createdAt: at, ...said, ...nothing, expiresAt: claim?.expiresAt ?? null });
    return;
  }
  if (before === undefined) return;
  const change = (changes: Partial<Run>): void => void runs.set(runId, { ...before, ...changes });
  const availableAt = (data["availableAt"] as number | null | undefined) ?? null;
  const over = { expiresAt: null, wantedAt: null };
  switch (type) {
    case "queue.claimed": {
      const wantedAt = before.wantedAt !== null && before.wantedAt > at ? before.wantedAt : null;
      const taken = claim?.superseded === null ? 0 : 1;
      return change({ expiresAt: claim?.expiresAt ?? null, wantedAt, reclaims: before.reclaims + taken });
    }
    case "queue.renewed":
      return change({ expiresAt: data["expiresAt"] as number });
    case "queue.parked":
    case "queue.requeued":
      return change({ ...over, availableAt: sooner(availableAt, before.wantedAt) });
    case "queue.completed":
    case "queue.released":
      return change({ ...over, isOpen: false });
    case "queue.died":
      return change({ ...over, availableAt: null, reclaims: 0 });
    case "queue.wanted":
      if (before.expiresAt !== null) return change({ wantedAt: sooner(before.wantedAt, availableAt) });
      return change({ availableAt: sooner(before.availableAt, availableAt) });
    case "queue.cancelRequested":
      if (before.expiresAt === null || before.expiresAt <= at) return change({ ...over, isOpen: false });
  }
}

function sooner(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
