/** What events say of claims, for every area alike: the verifier reads it here, whatever the reducers make of it.
 *  Invariant: what is owned is a stream of the kind that has the name of its area, and events of that stream alone take, keep
 *  and end its claims. Source: design section 8, decision 0022. */
import { isDigest } from "../kernel/digest.js";
import { invalid } from "../kernel/errors.js";
import { generationMax } from "../kernel/limits.js";
import { checkMembers, parseInteger } from "../kernel/members.js";
import { kindOf, parseLabel } from "../kernel/names.js";

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
 *  `begun`: nobody's claim stands, expired or not; `data.claim`, where there is one, is the first of a new life. `taken`:
 *  `data.claim` is the new claim, and no live one stands. `renewed`: under the live fence, until `data.expiresAt`, which is
 *  later than before. `ended`: under the live fence. `endedLate`: under the fence of the last holder, live or not.
 *  `endedWhenExpired`: under the live fence, or without it when the claim has expired. `endedUnlessLive`: by anybody; a live
 *  claim goes on. `closed`: by anybody, where no claim is live. */
export type ClaimFact =
  "begun" | "taken" | "renewed" | "ended" | "endedLate" | "endedWhenExpired" | "endedUnlessLive" | "closed";

/** By event type, of version 1. Every other event under a fence must be written while its claim is live. */
export const claimFacts: ReadonlyMap<string, ClaimFact> = new Map<string, ClaimFact>([
  ["queue.enqueued", "begun"],
  ["queue.claimed", "taken"],
  ["queue.renewed", "renewed"],
  ["queue.parked", "endedLate"],
  ["queue.completed", "ended"],
  ["queue.released", "endedLate"],
  ["queue.requeued", "ended"],
  ["queue.died", "endedWhenExpired"],
  ["queue.cancelRequested", "endedUnlessLive"],
  ["queue.closed", "closed"],
]);

/** Kinds of streams that belong to what is owned by another stream: of that kind, by the first part of their name. */
const ownedThrough: ReadonlyMap<string, string> = new Map([
  ["run", "queue"],
  ["session", "queue"],
]);

/** Types that anybody writes there. */
const byAnybody: ReadonlySet<string> = new Set(["run.cancelRequested"]);

/** How the text of an entry shows that its stream is of such a kind; others may show the same in their data. */
export const ownedThroughMembers: readonly string[] = [...ownedThrough.keys()].map((kind) => `"stream":"${kind}/`);

/** The key of the claim under which an event of this stream is written while that is live; null: there is none. */
export function keyOver(stream: string, type: string): string | null {
  const kind = ownedThrough.get(kindOf(stream));
  if (kind === undefined || byAnybody.has(type)) return null;
  return `${kind}/${stream.slice(stream.indexOf("/") + 1).split("/", 1)[0]}`;
}

/** Does an event of this type, under a fence, end the claim of that fence? */
export function endsUnderFence(type: string): boolean {
  const fact = claimFacts.get(type);
  return fact === "ended" || fact === "endedLate" || fact === "endedWhenExpired";
}

const members = ["holder", "generation", "tokenHash", "expiresAt", "superseded"];

/** Reads the claim that an event says. */
export function parseClaimTaken(claim: unknown, path: string): ClaimTaken {
  checkMembers(claim, path, members);
  const { holder, generation, tokenHash, expiresAt, superseded } = claim as { readonly [name: string]: unknown }; // just seen
  if (!isDigest(tokenHash)) throw invalid(`${path}.tokenHash`, "64 lower-case hex digits", tokenHash);
  return {
    holder: parseLabel(holder, `${path}.holder`),
    generation: parseInteger(generation, `${path}.generation`, 1, generationMax),
    tokenHash,
    expiresAt: parseExpiry(expiresAt, `${path}.expiresAt`),
    superseded: superseded === null ? null : parseInteger(superseded, `${path}.superseded`, 1, generationMax),
  };
}

/** Reads until when a claim is live. */
export function parseExpiry(expiresAt: unknown, path: string): number {
  return parseInteger(expiresAt, path, 1);
}
