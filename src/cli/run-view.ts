/** What lists and single views of runs show alike. */
import { isFinal } from "../../projections/run.js";
import type { Run, RunStatus } from "../../projections/run.js";
import type { RunOwner } from "../index.js";
import type { Exit } from "../journal/exit.js";
import { escapeText } from "./escape.js";
import { isoTime } from "./figures.js";

/** How long it took, by engine time; null before it has begun and ended. Never below zero (case G13). */
export function durationOf({ startedAt, finishedAt }: Pick<Run, "startedAt" | "finishedAt">): number | null {
  return startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt);
}

/** How a process ended; null when nothing is said. */
export function sayExit(exit: Exit | null | undefined): string | null {
  if (exit == null) return null;
  return "code" in exit ? `exit ${exit.code}` : exit.signal;
}

/** Who owns a run; null where it is over and nobody can. */
export function sayOwner(status: RunStatus | null, owner: RunOwner | null): string | null {
  if (owner !== null)
    return `${escapeText(owner.holder)}, generation ${owner.generation}, until ${isoTime(owner.expiresAt)}`;
  return status !== null && isFinal(status) ? null : "no owner";
}
