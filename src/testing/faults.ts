/** What can go wrong with a store, where, and how tests say when it does. Source: design sections 5 and 6. */
import type { DurableStep } from "../journal/store.js";
import { seededNumbers } from "./seeded.js";

/** What goes wrong. `crash`: the process is dead from then on, and what it had open is undone. `full`: no room, nothing was
 *  done. `busy`: the lock is not had; of a scrub: held back. `conflict`: a serialisation failure, the transaction is undone;
 *  behind a commit: said of one that happened. `lostReply`: a commit gives no answer; before it, because the request was
 *  lost, behind it, because the answer was. `slow`: it takes so many ms, with 0 one turn of the event loop. @public */
export type Fault = "crash" | "full" | "busy" | "conflict" | "lostReply" | { readonly slow: number };

/** A place where something can go wrong: before or after a durable step, or anything else, which is a read. @public */
export interface FaultPoint {
  readonly step: DurableStep | "read";
  readonly moment: "before" | "after";
  /** Counts the points of a store, from 1, over all its lives. */
  readonly number: number;
}

/** Says for each point, in order, what goes wrong there; null: nothing. @public */
export type FaultPlan = (point: FaultPoint) => Fault | null;

const transactionSteps: ReadonlySet<string> = new Set([
  "entries",
  "erase",
  "operational",
  "projections",
  "documents",
  "commit",
] satisfies DurableStep[]);

/** Can this go wrong there? @public */
export function canStrike(fault: Fault, { step, moment }: FaultPoint): boolean {
  switch (fault) {
    case "crash":
      return true;
    case "full":
      return moment === "before" && transactionSteps.has(step);
    case "busy":
      return moment === "before" && (step === "begin" || step === "scrub");
    case "conflict":
      return step === "commit" || (moment === "before" && transactionSteps.has(step));
    case "lostReply":
      return step === "commit";
    default:
      return true;
  }
}

/** The fault strikes once, at the point of that number or, where it cannot, at the next one where it can. @public */
export function faultAt(number: number, fault: Fault): FaultPlan {
  let struck = false;
  return (point) => {
    if (struck || point.number < number || !canStrike(fault, point)) return null;
    struck = true;
    return fault;
  };
}

/** How often things go wrong, from 0 to 1 for each point where they can; default 0. @public */
export interface FaultRates {
  readonly crash?: number;
  readonly full?: number;
  readonly busy?: number;
  readonly conflict?: number;
  readonly lostReply?: number;
  readonly slow?: number;
  /** The longest delay of what is slow, in ms. Most take one turn of the event loop. Default 2. */
  readonly slowMsMax?: number;
}

/** Faults drawn from one seed: the same seed, the same faults in the same order of calls. @public */
export function seededFaults(seed: number, rates: FaultRates): FaultPlan {
  const next = seededNumbers(seed);
  const { slow = 0, slowMsMax = 2 } = rates;
  return (point) => {
    for (const fault of ["crash", "full", "busy", "conflict", "lostReply"] as const) {
      const rate = rates[fault] ?? 0;
      if (rate > 0 && canStrike(fault, point) && next() < rate) return fault;
    }
    if (slow === 0 || next() >= slow) return null;
    return { slow: next() < 0.8 ? 0 : next() * slowMsMax };
  };
}
