/** Who owns something at a moment, as lists show it: a claim whose lease is over has no owner, whatever its status says
 *  (case I13). */
import type { Ledger, ListedClaim, RunOwner } from "../index.js";
import { isLive } from "../kernel/claim.js";

/** Now, as a claim sees it: by the clock of the ledger, which may be that of another host. */
export async function nowOf(ledger: Ledger): Promise<number> {
  return (await ledger.status()).now;
}

/** The owner under a claim; null when there is none at that moment. */
export function ownerOf(claim: ListedClaim | null, now: number): RunOwner | null {
  if (claim === null || !isLive(claim, now)) return null;
  const { holder, generation, expiresAt } = claim;
  return { holder, generation, expiresAt };
}
