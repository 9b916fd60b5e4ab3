/** The claim: one owner at a time for anything that is owned, and the fence by which an owner proves that it still is one.
 *  Invariants: a claim is live while `expiresAt > at`, so that at `expiresAt` itself its holder has lost and the next one
 *  wins; each claim of a thing raises its generation, and a fence of an earlier generation is never accepted again;
 *  renewing never shortens; the token itself is never kept, only its hash. Pure: times and tokens come in.
 *    g1 c1@f1 w1✓ … expired … c2@f2 w1✗(generation) w2✓ release2 w2✗(released)
 *  Source: design section 8, decisions 15.1 and 15.11. */
import { sha256Hex } from "./digest.js";
import { invalid, LedgerError, limit } from "./errors.js";
import { generationMax, keyUnitsMax, timeMsMax, tokenUnitsMin } from "./limits.js";
import { checkMembers, parseInteger } from "./members.js";
import { parseKey, parseStream } from "./names.js";

/** Who owns something, and until when. @public */
export interface Claim {
  /** An opaque label of the owner. */
  readonly holder: string;
  /** Grows with every claim of the same thing; the highest one wins. */
  readonly generation: number;
  /** SHA-256 of the token, 64 hex digits. */
  readonly tokenHash: string;
  /** Ms since the epoch. */
  readonly acquiredAt: number;
  /** Ms since the epoch; at this very moment the holder has lost. */
  readonly expiresAt: number;
}

/** What an owner presents with each of its writes. Whoever has it is the owner: it is never listed and never logged.
 *  @public */
export interface Fence {
  /** What is owned. */
  readonly key: string;
  /** The incarnation of the journal in which it was claimed. */
  readonly incarnation: number;
  readonly generation: number;
  readonly token: string;
}

/** A fence as it is checked: the hash of its token stands for it, so that nothing behind the call sees the token. */
export interface FenceProof {
  readonly key: string;
  readonly incarnation: number;
  readonly generation: number;
  readonly tokenHash: string;
}

/** A thing that can be owned, as it is kept: the generation outlives its claims. `incarnation` is the journal's own. */
export interface Owned {
  readonly key: string;
  readonly incarnation: number;
  /** 0 before the first claim. */
  readonly generation: number;
  readonly claim: Claim | null;
}

/** Why a fence is not accepted: it is of another thing, of another incarnation of the journal, of a generation that is not
 *  the current one; its claim was released; it has another token; its claim has expired, reclaimed or not. `missing`: there
 *  is a live claim, and no fence was presented. @public */
export type FenceReason = "missing" | "key" | "incarnation" | "generation" | "released" | "token" | "expired";

/** A fence that is not accepted. */
export interface Fenced {
  readonly type: "fenced";
  readonly reason: FenceReason;
  /** The generation that the thing is at. */
  readonly held: number;
  /** The generation of the fence. */
  readonly offered: number;
}

export interface ClaimRequest {
  readonly holder: string;
  /** SHA-256 of the token, 64 hex digits. */
  readonly tokenHash: string;
  readonly leaseMs: number;
  /** Engine time. */
  readonly at: number;
}

export type ClaimOutcome =
  | {
      readonly type: "claimed";
      readonly claim: Claim;
      /** The generation whose claim had expired and is taken over; null when nobody had one. */
      readonly superseded: number | null;
    }
  /** Somebody else is the owner, until then. */
  | { readonly type: "held"; readonly holder: string; readonly expiresAt: number };

/** Is it owned at that moment? */
export function isLive(claim: Pick<Claim, "expiresAt"> | null, at: number): boolean {
  return claim !== null && claim.expiresAt > at;
}

/** Claims a thing, unless somebody's claim of it is live. A claim from an earlier incarnation runs out like any other. */
export function claimOwned(
  owned: Omit<Owned, "incarnation">,
  { holder, tokenHash, leaseMs, at }: ClaimRequest,
): ClaimOutcome {
  const { key, claim: previous } = owned;
  if (previous !== null && isLive(previous, at))
    return { type: "held", holder: previous.holder, expiresAt: previous.expiresAt };
  const generation = owned.generation + 1;
  if (generation > generationMax) throw limit(key, "generations", generationMax, generation);
  return {
    type: "claimed",
    claim: { holder, generation, tokenHash, acquiredAt: at, expiresAt: leaseEnd(at, leaseMs) },
    superseded: previous?.generation ?? null,
  };
}

/** When a lease ends: no later than a `Date` can show. */
function leaseEnd(at: number, leaseMs: number): number {
  return Math.min(at + leaseMs, timeMsMax);
}

/** Why a write under a fence must be refused at that moment; null when it may go on. */
export function checkFence(owned: Owned, fence: FenceProof, at: number): Fenced | null {
  const refused = checkHolder(owned, fence);
  if (refused !== null || isLive(owned.claim, at)) return refused;
  return fenced(owned, fence, "expired");
}

/** Why the last holder may not let go; null when it may, also after its claim has expired, until somebody reclaims. */
export function checkHolder(owned: Owned, fence: FenceProof): Fenced | null {
  if (fence.key !== owned.key) return fenced(owned, fence, "key");
  if (fence.incarnation !== owned.incarnation) return fenced(owned, fence, "incarnation");
  if (fence.generation !== owned.generation) return fenced(owned, fence, "generation");
  if (owned.claim === null) return fenced(owned, fence, "released");
  if (owned.claim.tokenHash !== fence.tokenHash) return fenced(owned, fence, "token");
  return null;
}

/** The claim with more time, never with less, or why it cannot be had. */
export function renewClaim(
  owned: Owned,
  fence: FenceProof,
  { leaseMs, at }: { readonly leaseMs: number; readonly at: number },
): { readonly type: "renewed"; readonly claim: Claim } | Fenced {
  const refused = checkFence(owned, fence, at);
  if (refused !== null) return refused;
  const claim = owned.claim!; // what is not refused is claimed
  return { type: "renewed", claim: { ...claim, expiresAt: Math.max(claim.expiresAt, leaseEnd(at, leaseMs)) } };
}

/** The refusal of a fence as it is thrown at the public API. */
export function fencedError(key: string, { reason, held, offered }: Fenced): LedgerError {
  return new LedgerError(
    "FENCED",
    `${JSON.stringify(key)} must be written under its live claim of generation ${held}, found ${sayReason(reason, offered)}`,
    { details: { key, reason, held, offered }, hint: "stop this work: somebody else may have taken it over" },
  );
}

/** The number to hand to systems outside for fencing: it grows with every claim, across restores of the journal too. */
export function fencingNumber({ incarnation, generation }: Pick<Fence, "incarnation" | "generation">): number {
  const number = incarnation * (generationMax + 1) + generation;
  if (!Number.isSafeInteger(number)) throw limit("incarnation", "incarnations", 2 ** 21 - 1, incarnation);
  return number;
}

/** What is kept of a token, and compared: its SHA-256, 64 hex digits. @public */
export function hashToken(token: string): string {
  return sha256Hex(token);
}

/** What of a fence is checked. */
export function proofOf({ key, incarnation, generation, token }: Fence): FenceProof {
  return { key, incarnation, generation, tokenHash: hashToken(token) };
}

/** Parses a fence that a caller presents. Its token is never shown. */
export function parseFence(value: unknown, path: string): FenceProof {
  // What is no fence may be the token itself.
  if (typeof value === "string") throw invalid(path, "a fence { key, incarnation, generation, token }", "a string");
  checkMembers(value, path, ["key", "incarnation", "generation", "token"]);
  const { key, incarnation, generation, token } = value as { readonly [name: string]: unknown }; // any object may have them
  return {
    key: parseStream(key, `${path}.key`),
    incarnation: parseInteger(incarnation, `${path}.incarnation`, 1),
    generation: parseInteger(generation, `${path}.generation`, 1, generationMax),
    tokenHash: hashToken(parseToken(token, `${path}.token`)),
  };
}

/** A token of 32 random bytes, as text. */
export function mintToken(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** A caller's own token: 16 to 512 units without control characters. What is wrong with it is said without showing it. */
export function parseToken(value: unknown, path: string): string {
  const expected = `a string of ${tokenUnitsMin} to ${keyUnitsMax} UTF-16 units without control characters`;
  if (typeof value !== "string") throw invalid(path, expected, value);
  try {
    if (value.length >= tokenUnitsMin) return parseKey(value, path);
  } catch {
    // Its message would show the token.
  }
  throw new LedgerError("INVALID_ARGUMENT", `${path} must be ${expected}, found another of ${value.length} units`, {
    details: { path, expected, units: value.length },
  });
}

function fenced(owned: Owned, fence: FenceProof, reason: FenceReason): Fenced {
  return { type: "fenced", reason, held: owned.generation, offered: fence.generation };
}

function sayReason(reason: FenceReason, offered: number): string {
  switch (reason) {
    case "missing":
      return "no fence";
    case "key":
      return "a fence of something else";
    case "incarnation":
      return "a fence from before the journal was restored";
    case "generation":
      return `a fence of generation ${offered}`;
    case "released":
      return "a claim that was released";
    case "token":
      return "a fence with another token";
    case "expired":
      return "a claim that has expired";
  }
}
