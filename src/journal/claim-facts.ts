/** What events say of claims, for every area alike: the verifier reads it here, whatever the reducers make of it.
 *  Invariant: what is owned is a stream, and events of that stream alone take, keep and end its claims.
 *  Source: design section 8, decision 0022. */

/** A claim as the event that takes it says it; it was acquired at the time of the event. */
export interface ClaimTaken {
  readonly holder: string;
  readonly generation: number;
  /** SHA-256 of the token, 64 hex digits. */
  readonly tokenHash: string;
  /** Ms since the epoch, of engine time. */
  readonly expiresAt: number;
  /** The generation whose claim had expired and is taken over; null when nobody had one. */
  readonly superseded: number | null;
}

/** What an event of an owned stream does to its claim.
 *  `taken`: `data.claim` is the new claim; where it may be absent, nothing is taken. `renewed`: under the live fence, until
 *  `data.expiresAt`. `ended`: under the live fence. `endedLate`: under the fence of the last holder, live or not.
 *  `endedWhenExpired`: under the live fence, or without one of a claim that has expired. `endedUnlessLive`: without a fence;
 *  a live claim goes on. */
export type ClaimFact = "taken" | "renewed" | "ended" | "endedLate" | "endedWhenExpired" | "endedUnlessLive";

/** By event type. Every other event under a fence must be written while its claim is live. */
export const claimFacts: ReadonlyMap<string, ClaimFact> = new Map<string, ClaimFact>([
  ["queue.enqueued", "taken"],
  ["queue.claimed", "taken"],
  ["queue.renewed", "renewed"],
  ["queue.parked", "endedLate"],
  ["queue.completed", "ended"],
  ["queue.released", "endedLate"],
  ["queue.requeued", "ended"],
  ["queue.died", "endedWhenExpired"],
  ["queue.cancelRequested", "endedUnlessLive"],
]);
