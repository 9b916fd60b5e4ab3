/** Who owned what, from the journal alone, and whether everybody who wrote under a claim had it. */
import { createHash } from "node:crypto";
import { runOfStream } from "../evidence.js";
import type { Attempt, Checker, JournalEntry } from "../evidence.js";

/** The last claim of a key. */
interface Held {
  readonly generation: number;
  readonly tokenHash: string;
  readonly expiresAt: number;
  readonly isEnded: boolean;
}

interface Taken {
  readonly generation: number;
  readonly tokenHash: string;
  readonly expiresAt: number;
  readonly superseded: number | null;
}

const enders: ReadonlySet<string> = new Set([
  "queue.parked",
  "queue.completed",
  "queue.released",
  "queue.requeued",
  "queue.died",
]);

/** What only a holder may write. */
const ofHolders: ReadonlySet<string> = new Set([
  "queue.renewed",
  "queue.parked",
  "queue.completed",
  "queue.released",
  "queue.requeued",
]);

/** What the last holder may write late. */
const late: ReadonlySet<string> = new Set(["queue.parked", "queue.released"]);

/** No two live claims of one key: a claim is taken when the one before it was ended, or has expired. */
export const owner: Checker = {
  name: "owner",
  check({ entries }, report) {
    walk(entries, ({ entry, held, taken }) => {
      if (taken === null || held === undefined) return;
      const runId = runOfStream(entry.stream);
      if (!held.isEnded && held.expiresAt > entry.at)
        report(
          `#${entry.seq} must find nobody, found the claim of generation ${held.generation} live until ${held.expiresAt}, at ${entry.at}`,
          runId,
        );
      const superseded = held.isEnded ? null : held.generation;
      if (taken.superseded !== superseded)
        report(`#${entry.seq} must supersede ${superseded}, found ${taken.superseded}`, runId);
    });
  },
};

/** Generations of a key are 1, 2, 3 and so on. */
export const generations: Checker = {
  name: "generations",
  check({ entries }, report) {
    walk(entries, ({ entry, held, taken }) => {
      const next = (held?.generation ?? 0) + 1;
      if (taken !== null && taken.generation !== next)
        report(`#${entry.seq} must have generation ${next}, found ${taken.generation}`, runOfStream(entry.stream));
    });
  },
};

/** What is written under a fence is written under the live claim that its caller was given. */
export const fenced: Checker = {
  name: "fenced",
  check({ entries, attempts }, report) {
    const senders = new Map(attempts.map((attempt) => [attempt.mark, attempt]));
    walk(entries, ({ entry, claims }) => {
      const { seq, type, stream, fence, at } = entry;
      const runId = runOfStream(fence?.[0] ?? stream);
      if (fence === undefined) {
        if (ofHolders.has(type)) report(`#${seq} must be written under a fence, found ${type} without one`, runId);
        return;
      }
      const [key, incarnation, generation] = fence;
      const held = claims.get(key);
      if (ofHolders.has(type) && stream !== key)
        report(`#${seq} must be under the fence of its run, found ${key}`, runId);
      if (held === undefined || held.isEnded || held.generation !== generation || incarnation !== 1)
        report(`#${seq} must be written by the holder of ${key}, found generation ${generation}`, runId);
      else if (held.expiresAt <= at && !late.has(type))
        report(`#${seq} must be written before ${held.expiresAt}, found ${type} at ${at}`, runId);
      // What workers write under their own tokens has no mark.
      else if (entry.corr !== undefined && tokenHashOf(senders.get(entry.corr)) !== held.tokenHash)
        report(`#${seq} must be written with the token of generation ${generation}, found another`, runId);
    });
  },
};

interface Step {
  readonly entry: JournalEntry;
  /** The last claim of its stream before it. */
  readonly held: Held | undefined;
  readonly taken: Taken | null;
  /** All claims before it. */
  readonly claims: ReadonlyMap<string, Held>;
}

function walk(entries: readonly JournalEntry[], see: (step: Step) => void): void {
  const claims = new Map<string, Held>();
  for (const entry of entries) {
    const { stream, type, data, at } = entry;
    const held = claims.get(stream);
    const isTaking = type === "queue.enqueued" || type === "queue.claimed";
    const taken = isTaking ? ((data["claim"] as Taken | undefined) ?? null) : null;
    see({ entry, held, taken, claims });
    if (taken !== null) claims.set(stream, { ...taken, isEnded: false });
    else if (held === undefined) continue;
    else if (type === "queue.renewed") claims.set(stream, { ...held, expiresAt: data["expiresAt"] as number });
    else if (enders.has(type)) claims.set(stream, { ...held, isEnded: true });
    else if (type === "queue.cancelRequested" && held.expiresAt <= at) claims.set(stream, { ...held, isEnded: true });
  }
}

function tokenHashOf(attempt: Attempt | undefined): string | null {
  const token = attempt?.call.fence?.token;
  return token === undefined ? null : createHash("sha256").update(token).digest("hex");
}
