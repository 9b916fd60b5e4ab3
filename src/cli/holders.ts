/** Who held a run, under which generation, from when to when: read from the events of its queue item alone, as they say what
 *  becomes of a claim (`journal/claim-facts.ts`). */
import type { LedgerEvent } from "../index.js";
import { claimFacts, parseClaimTaken } from "../journal/claim-facts.js";
import { isLive } from "../kernel/claim.js";

/** One claim. Times are engine time, ms since the epoch. */
export interface Holder {
  readonly generation: number;
  readonly holder: string;
  /** Position of the event that took the claim. */
  readonly position: number;
  readonly from: number;
  /** When it ceased to be the owner: it let go, or its lease ended. Null: it is the owner. */
  readonly to: number | null;
  /** When its lease ends, or would have. */
  readonly expiresAt: number;
  /** How often it got more time. */
  readonly renewals: number;
  /** The event that ended it; `lease` where the lease was over first, null while it lasts. */
  readonly end: string | null;
  /** Did the next generation take the run over? */
  readonly takenOver: boolean;
}

/** The claims that the events of an item tell of, in order, as they stand at a moment. */
export function holdersOf(events: Iterable<LedgerEvent>, now: number): readonly Holder[] {
  const holders: Holder[] = [];
  for (const event of events) {
    const { type, data, at, position } = event;
    const fact = claimFacts.get(type);
    if (fact === undefined) continue;
    const standing = holders.at(-1);
    const isHeld = standing !== undefined && standing.end === null;
    switch (fact) {
      case "begun":
      case "taken": {
        if (isHeld) holders.splice(-1, 1, lapsed(standing, true));
        if (data["claim"] === undefined) break;
        const { holder, generation, expiresAt } = parseClaimTaken(data["claim"], `event #${position} data.claim`);
        const claim = { generation, holder, position, from: at, expiresAt };
        holders.push({ ...claim, to: null, renewals: 0, end: null, takenOver: false });
        break;
      }
      case "renewed":
        if (isHeld)
          holders.splice(-1, 1, {
            ...standing,
            expiresAt: Number(data["expiresAt"]),
            renewals: standing.renewals + 1,
          });
        break;
      default:
        // What asks for an end ends no claim that is live.
        if (!isHeld || (fact === "endedUnlessLive" && isLive(standing, at))) break;
        holders.splice(-1, 1, isLive(standing, at) ? { ...standing, to: at, end: type } : lapsed(standing, false));
    }
  }
  const last = holders.at(-1);
  if (last?.end === null && !isLive(last, now)) holders.splice(-1, 1, lapsed(last, false));
  return holders;
}

function lapsed(holder: Holder, takenOver: boolean): Holder {
  return { ...holder, to: holder.expiresAt, end: "lease", takenOver };
}
