/** The claim: who owns something at a moment, and whose fence still counts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkFence,
  checkHolder,
  claimOwned,
  fencedError,
  fencingNumber,
  hashToken,
  isLive,
  mintToken,
  parseToken,
  renewClaim,
} from "../../src/kernel/claim.js";
import type { Claim, FenceProof, FenceReason, Owned } from "../../src/kernel/claim.js";
import { sha256Hex } from "../../src/kernel/digest.js";
import { generationMax } from "../../src/kernel/limits.js";
import { refusalOf } from "./refusal.js";

const free: Owned = { key: "queue/r1", incarnation: 1, generation: 0, claim: null };
const token = "a token of enough units";
const tokenHash = hashToken(token);

interface Held {
  readonly owned: Owned;
  readonly claim: Claim;
  readonly fence: FenceProof;
}

function claimed(owned: Owned, at: number, leaseMs = 1_000, holder = "A", ownToken = token): Held {
  const outcome = claimOwned(owned, { holder, tokenHash: hashToken(ownToken), leaseMs, at });
  if (outcome.type !== "claimed") throw new Error(`must be claimed, found it held by ${outcome.holder}`);
  const { claim } = outcome;
  const fence = {
    key: owned.key,
    incarnation: owned.incarnation,
    generation: claim.generation,
    tokenHash: claim.tokenHash,
  };
  return { owned: { ...owned, generation: claim.generation, claim }, claim, fence };
}

describe("a claim", () => {
  test("raises the generation, keeps the hash of the token and hands out the fence", () => {
    expect(claimOwned({ ...free, generation: 6 }, { holder: "A", tokenHash, leaseMs: 1_000, at: 5_000 })).toEqual({
      type: "claimed",
      claim: { holder: "A", generation: 7, tokenHash: sha256Hex(token), acquiredAt: 5_000, expiresAt: 6_000 },
      superseded: null,
    });
  });

  test("is refused while another one is live, also with the holder's own token, and says who has it until when", () => {
    const { owned } = claimed(free, 5_000);

    expect(claimOwned(owned, { holder: "B", tokenHash, leaseMs: 1_000, at: 5_999 })).toEqual({
      type: "held",
      holder: "A",
      expiresAt: 6_000,
    });
  });

  test("takes over at the very moment of expiry and tells the generation that it superseded", () => {
    const first = claimed(free, 5_000);

    const next = claimOwned(first.owned, { holder: "B", tokenHash, leaseMs: 1_000, at: 6_000 });

    expect(next).toMatchObject({ type: "claimed", superseded: 1, claim: { generation: 2, holder: "B" } });
  });

  test("goes on counting when the one before it was released, and supersedes nobody", () => {
    const { owned } = claimed(free, 5_000);

    const next = claimOwned({ ...owned, claim: null }, { holder: "B", tokenHash, leaseMs: 1, at: 5_001 });

    expect(next).toMatchObject({ type: "claimed", superseded: null, claim: { generation: 2 } });
  });

  test("from before a restore is in the way until it has expired", () => {
    const restored = { ...claimed(free, 5_000).owned, incarnation: 2 };

    expect(claimOwned(restored, { holder: "B", tokenHash, leaseMs: 1, at: 5_500 })).toMatchObject({ type: "held" });
    expect(claimOwned(restored, { holder: "B", tokenHash, leaseMs: 1, at: 6_000 })).toMatchObject({
      type: "claimed",
      claim: { generation: 2 },
    });
  });

  test("is refused when the generations are used up", () => {
    const worn = { ...free, generation: generationMax };

    expect(refusalOf(() => claimOwned(worn, { holder: "A", tokenHash, leaseMs: 1, at: 0 }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
  });

  test("is live before it expires and not when it expires", () => {
    const { claim } = claimed(free, 5_000);

    expect([4_000, 5_000, 5_999, 6_000, 7_000].map((at) => isLive(claim, at))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(isLive(null, 0)).toBe(false);
  });
});

describe("a fence", () => {
  const { owned, fence } = claimed({ ...free, generation: 2 }, 5_000);

  test("is accepted while the claim is live", () => {
    expect(checkFence(owned, fence, 5_999)).toBeNull();
  });

  test.each<[FenceReason, string, Owned, FenceProof, number]>([
    ["token", "has another token", owned, { ...fence, tokenHash: hashToken("another token of enough units") }, 5_500],
    ["generation", "is of an earlier generation", owned, { ...fence, generation: 2 }, 5_500],
    ["generation", "is of a generation that nobody claimed", owned, { ...fence, generation: 4 }, 5_500],
    ["incarnation", "is from before a restore", { ...owned, incarnation: 2 }, fence, 5_500],
    ["key", "is of another thing, with the same token", owned, { ...fence, key: "queue/r2" }, 5_500],
    ["expired", "comes at the moment of expiry, though nobody reclaimed", owned, fence, 6_000],
    ["released", "comes after its claim was released", { ...owned, claim: null }, fence, 5_500],
  ])("is refused for the reason %s when it %s", (reason, _, at, offered, moment) => {
    expect(checkFence(at, offered, moment)).toEqual({
      type: "fenced",
      reason,
      held: at.generation,
      offered: offered.generation,
    });
  });

  test("after expiry still lets go, and nothing else, until somebody reclaims", () => {
    const reclaimed = claimed(owned, 6_000, 1_000, "B").owned;

    expect(checkHolder(owned, fence)).toBeNull();
    expect(checkFence(owned, fence, 6_000)).toMatchObject({ reason: "expired" });
    expect(checkHolder(reclaimed, fence)).toMatchObject({ reason: "generation" });
  });

  test("is refused with a sentence that names the reason and never the token", () => {
    const refused = checkFence({ ...owned, generation: 9 }, fence, 5_500)!;

    const error = fencedError("queue/r1", refused);

    expect(error).toMatchObject({
      code: "FENCED",
      message: '"queue/r1" must be written under its live claim of generation 9, found a fence of generation 3',
      details: { key: "queue/r1", reason: "generation", held: 9, offered: 3 },
    });
    expect(JSON.stringify([error.message, error.details, error.hint])).not.toContain(token);
  });
});

describe("renewing", () => {
  test("adds time from now on, for the same generation", () => {
    const { owned, fence, claim } = claimed(free, 5_000);

    expect(renewClaim(owned, fence, { leaseMs: 1_000, at: 5_400 })).toEqual({
      type: "renewed",
      claim: { ...claim, expiresAt: 6_400 },
    });
  });

  test("with a shorter lease changes nothing", () => {
    const { owned, fence, claim } = claimed(free, 5_000);

    expect(renewClaim(owned, fence, { leaseMs: 1, at: 5_400 })).toEqual({ type: "renewed", claim });
  });

  test("comes too late at the moment of expiry, though nobody reclaimed", () => {
    const { owned, fence } = claimed(free, 5_000);

    expect(renewClaim(owned, fence, { leaseMs: 1_000, at: 6_000 })).toMatchObject({
      type: "fenced",
      reason: "expired",
    });
  });
});

describe("the number for systems outside", () => {
  test("is incarnation × 2^32 + generation, exact", () => {
    expect(fencingNumber({ incarnation: 1, generation: 1 })).toBe(4_294_967_297);
    expect(fencingNumber({ incarnation: 2 ** 21 - 1, generation: generationMax })).toBe(Number.MAX_SAFE_INTEGER);
    expect(refusalOf(() => fencingNumber({ incarnation: 2 ** 21, generation: 0 }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
  });

  test("grows with each claim and with each restore", () => {
    fc.assert(
      fc.property(place(), place(), (one, two) => {
        const later = two.incarnation - one.incarnation || two.generation - one.generation;
        expect(Math.sign(fencingNumber(two) - fencingNumber(one))).toBe(Math.sign(later));
      }),
    );
  });

  function place(): fc.Arbitrary<{ readonly incarnation: number; readonly generation: number }> {
    return fc.record({
      incarnation: fc.integer({ min: 1, max: 2 ** 21 - 1 }),
      generation: fc.integer({ min: 1, max: generationMax }),
    });
  }
});

describe("a token", () => {
  test("is minted from 32 bytes and long enough to be given back", () => {
    const minted = mintToken(new Uint8Array(32).fill(255));

    expect(minted).toBe("_".repeat(42) + "8");
    expect(parseToken(minted, "token")).toBe(minted);
  });

  test.each([
    ["15 units", "x".repeat(15)],
    ["513 units", "secret".repeat(86)],
    ["a control character", "secret secret secret\n"],
    ["a lone surrogate", "secret secret secret\ud800"],
  ])("with %s is refused without being shown", (_, value) => {
    const error = refusalOf(() => parseToken(value, "options.token"));

    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", details: { path: "options.token", units: value.length } });
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/secret|xxx/);
  });

  test("of 16 and of 512 units is accepted, and what is no text is refused", () => {
    for (const value of ["x".repeat(16), "x".repeat(512)]) expect(parseToken(value, "token")).toBe(value);
    expect(refusalOf(() => parseToken(7, "token"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

/** What three workers do with one thing, one after the other; `wait` passes before each step. */
type Step =
  | { readonly type: "claim"; readonly who: number; readonly leaseMs: number; readonly wait: number }
  | { readonly type: "renew"; readonly who: number; readonly leaseMs: number; readonly wait: number }
  | { readonly type: "write" | "release"; readonly who: number; readonly wait: number }
  | { readonly type: "restore"; readonly wait: number };

const wait = fc.integer({ min: 0, max: 30 });
const who = fc.integer({ min: 0, max: 2 });
const leaseMs = fc.integer({ min: 1, max: 60 });
const histories: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant("claim" as const), who, leaseMs, wait }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("renew" as const), who, leaseMs, wait }) },
    { weight: 4, arbitrary: fc.record({ type: fc.constantFrom("write" as const, "release" as const), who, wait }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("restore" as const), wait }) },
  ),
  { maxLength: 40 },
);

describe("in any history", () => {
  // The model knows nothing of claims: only who was told what, and when each lease was said to end.
  test("there is at most one owner, no earlier fence is accepted, renewing never shortens, and letting go may be late", () => {
    fc.assert(
      fc.property(histories, fc.boolean(), (history, oneToken) => {
        let owned: Owned = free;
        let at = 1_000;
        const fences: (FenceProof | undefined)[] = [];
        const issued: { readonly fence: FenceProof; readonly who: number }[] = [];
        let owner: { readonly who: number; readonly generation: number; expiresAt: number } | null = null;
        let incarnation = 1;
        const holds = (each: number): boolean =>
          owner?.who === each &&
          fences[each]?.generation === owner.generation &&
          fences[each]?.incarnation === incarnation;
        for (const step of history) {
          at += step.wait;
          if (step.type === "restore") {
            incarnation++;
            owned = { ...owned, incarnation };
            continue;
          }
          const fence = fences[step.who];
          const live = owner !== null && owner.expiresAt > at;
          if (step.type === "claim") {
            // One token for all, and again and again: what tells them apart is the generation.
            const own = oneToken ? token : mintToken(new Uint8Array(32).fill(issued.length));
            const outcome = claimOwned(owned, {
              holder: `${step.who}`,
              tokenHash: hashToken(own),
              leaseMs: step.leaseMs,
              at,
            });
            expect(outcome.type).toBe(live ? "held" : "claimed");
            if (outcome.type === "held") {
              expect(outcome).toMatchObject({ holder: `${owner?.who}`, expiresAt: owner?.expiresAt });
              continue;
            }
            expect(outcome.superseded).toBe(owner?.generation ?? null);
            expect(outcome.claim.generation).toBe(issued.length + 1);
            owned = { ...owned, generation: outcome.claim.generation, claim: outcome.claim };
            owner = { who: step.who, generation: outcome.claim.generation, expiresAt: at + step.leaseMs };
            const { generation } = outcome.claim;
            const given = { key: owned.key, incarnation, generation, tokenHash: hashToken(own) };
            fences[step.who] = given;
            issued.push({ fence: given, who: step.who });
          } else if (fence !== undefined && step.type === "renew") {
            const outcome = renewClaim(owned, fence, { leaseMs: step.leaseMs, at });
            expect(outcome.type).toBe(live && holds(step.who) ? "renewed" : "fenced");
            if (outcome.type === "fenced" || owner === null) continue;
            expect(outcome.claim.expiresAt).toBeGreaterThanOrEqual(owner.expiresAt);
            expect(outcome.claim.expiresAt).toBeGreaterThanOrEqual(at + step.leaseMs);
            owned = { ...owned, claim: outcome.claim };
            owner.expiresAt = outcome.claim.expiresAt;
          } else if (fence !== undefined && step.type === "write") {
            expect(checkFence(owned, fence, at) === null).toBe(live && holds(step.who));
          } else if (fence !== undefined) {
            const refused = checkHolder(owned, fence);
            expect(refused === null).toBe(holds(step.who));
            if (refused !== null) continue;
            owned = { ...owned, claim: null };
            owner = null;
          }
          const accepted = issued.filter((each) => checkFence(owned, each.fence, at) === null);
          expect(accepted.length).toBeLessThanOrEqual(1);
          for (const { fence: good } of accepted) expect(good.generation).toBe(issued.length);
        }
      }),
    );
  });
});
