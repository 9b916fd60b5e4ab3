/** The deciders of the run queue, called directly: which item a claim takes, what it leaves, and what each of them refuses. */
import { describe, expect, test } from "vitest";
import type { FoundDocuments } from "../../projections/define-projection.js";
import type { QueueItem } from "../../projections/queue.js";
import type { CommandAnswer } from "../../src/commands/answer.js";
import { commandContext } from "../../src/commands/context.js";
import type { CommandContext } from "../../src/commands/context.js";
import { Mint } from "../../src/commands/mint.js";
import { claimNext, complete, enqueue, park, renew, requestCancel, requeue } from "../../src/commands/queue.js";
import { hashToken } from "../../src/index.js";
import type { FenceProof } from "../../src/index.js";
import { affinityMs, dueCandidatesMax, priorityStepMs, reclaimsMaxDefault } from "../../src/kernel/limits.js";

const at = 1_000_000;
const tokenHash = hashToken("a token of enough units");

function item(runId: string, also: Partial<QueueItem> = {}): QueueItem {
  const { createdAt = 0, priority = 0 } = also;
  return {
    runId,
    status: "queued",
    createdAt,
    updatedAt: createdAt,
    availableAt: 0,
    priority,
    rank: createdAt - priorityStepMs * priority,
    affinity: null,
    parent: null,
    input: null,
    reclaims: 0,
    reclaimsMax: reclaimsMaxDefault,
    failures: 0,
    wantedAt: null,
    cancel: null,
    reason: null,
    generation: 0,
    claim: null,
    ...also,
  };
}

function claimed(runId: string, expiresAt: number, also: Partial<QueueItem> = {}): QueueItem {
  const claim = { holder: "X", generation: 4, tokenHash, acquiredAt: 0, expiresAt };
  return item(runId, { status: "claimed", generation: 4, claim, ...also });
}

function context(fence: FenceProof | null = null): CommandContext {
  const mint = new Mint(new Uint8Array(32), 0);
  return commandContext({
    at,
    id: null,
    client: "default",
    actor: null,
    incarnation: 1,
    fence,
    mint,
    salts: new Map(),
  });
}

const under = (runId: string): CommandContext =>
  context({ key: `queue/${runId}`, incarnation: 1, generation: 4, tokenHash });
const found = (...items: readonly QueueItem[]): FoundDocuments<QueueItem> => ({
  documents: items.map((document) => ({ key: document.runId, document })),
  next: null,
});

interface Candidates {
  readonly ready?: readonly QueueItem[];
  readonly affine?: readonly QueueItem[];
  readonly due?: readonly QueueItem[];
  readonly expired?: readonly QueueItem[];
}

const anyOfB = { holder: "B", leaseMs: 1_000, tokenHash, runId: undefined };

function claimFrom(
  { ready = [], affine = [], due = [], expired = [] }: Candidates,
  exclude: readonly string[] = [],
): CommandAnswer {
  const candidates = {
    item: null,
    ready: found(...ready),
    affine: found(...affine),
    due: found(...due),
    expired: found(...expired),
    further: null,
  };
  return claimNext.decide(candidates, { ...anyOfB, exclude }, context());
}

/** Stream and type of each event. */
const eventsOf = (answer: CommandAnswer): readonly string[] =>
  answer.type === "accepted" ? answer.events.map(({ stream, type }) => `${stream} ${type}`) : [answer.code];

describe("a claim", () => {
  test("asks for what may be first, however many items there are", () => {
    const { item: asked, ...finds } = claimNext.reads[0]!({ ...anyOfB, exclude: ["r1", "r2"] } as never, {} as never, {
      at,
    });
    const queries = Object.values(finds).map((read) => (read as { query: unknown }).query);

    expect(asked).toMatchObject({ key: null });

    expect(queries).toEqual([
      { index: "ready", limit: 3 },
      { index: "affine", prefix: ["B"], limit: 3 },
      { index: "later", range: { lte: at }, limit: dueCandidatesMax + 2 },
      { index: "expiring", range: { lte: at }, limit: dueCandidatesMax + 2 },
    ]);
  });

  test.each<[string, Candidates, string]>([
    ["the older one", { ready: [item("b", { createdAt: 5 })], due: [item("a", { createdAt: 6 })] }, "b"],
    ["of two that are as old the one whose id is first", { due: [item("b")], expired: [claimed("a", at)] }, "a"],
    [
      "one that is affine, if it is not ten minutes younger",
      { ready: [item("b")], affine: [item("c", { affinity: "B", createdAt: affinityMs - 1 })] },
      "c",
    ],
    [
      "of two the first, at ten minutes",
      { ready: [item("b")], affine: [item("c", { affinity: "B", createdAt: affinityMs })] },
      "b",
    ],
    [
      "the other one, behind ten minutes",
      { ready: [item("d")], affine: [item("c", { affinity: "B", createdAt: affinityMs + 1 })] },
      "d",
    ],
    [
      "one that is affine to somebody else by its age alone",
      { ready: [item("b")], due: [item("a", { affinity: "C", createdAt: 1 })] },
      "b",
    ],
    [
      "one that is a minute younger and a step more urgent, by its id",
      { ready: [item("b")], due: [item("a", { createdAt: priorityStepMs, priority: 1 })] },
      "a",
    ],
  ])("takes %s", (_, candidates, expected) => {
    expect(eventsOf(claimFrom(candidates))).toEqual([`queue/${expected} queue.claimed`]);
  });

  test("says whom it superseded, and how often that happened", () => {
    const answer = claimFrom({ expired: [claimed("r1", at, { reclaims: 2, failures: 1 })] });

    expect(answer).toMatchObject({
      events: [{ data: { claim: { holder: "B", generation: 5, tokenHash, expiresAt: at + 1_000, superseded: 4 } } }],
      result: { runId: "r1", incarnation: 1, generation: 5, superseded: 4, reclaims: 3, failures: 1 },
    });
    expect(JSON.stringify((answer as { result: unknown }).result)).not.toContain(tokenHash);
  });

  test("ends what was taken over too often, each once, and takes the next, or nothing", () => {
    const worn = (runId: string): QueueItem => claimed(runId, at, { reclaims: 3, reclaimsMax: 3 });

    expect(
      eventsOf(
        claimFrom({
          expired: [worn("a"), worn("b")],
          ready: [item("c", { createdAt: 9 })],
          affine: [item("c", { createdAt: 9 })],
        }),
      ),
    ).toEqual(["queue/a queue.died", "queue/b queue.died", "queue/c queue.claimed"]);
    expect(claimFrom({ expired: [worn("a")] })).toMatchObject({
      result: null,
      events: [{ data: { cause: "reclaims" } }],
    });
    expect(eventsOf(claimFrom({ expired: [claimed("a", at, { reclaims: 2, reclaimsMax: 3 })] }))).toEqual([
      "queue/a queue.claimed",
    ]);
    // Given back it may be claimed as often as it is: only takeovers count.
    expect(eventsOf(claimFrom({ ready: [item("a", { reclaims: 3, reclaimsMax: 3 })] }))).toEqual([
      "queue/a queue.claimed",
    ]);
  });

  test("leaves out what is excluded, also what would die", () => {
    const worn = claimed("a", at, { reclaims: 3, reclaimsMax: 3 });

    expect(claimFrom({ expired: [worn], ready: [item("b")] }, ["a", "b"])).toEqual({
      type: "accepted",
      events: [],
      result: null,
    });
  });

  test("claims nothing behind the last generation", () => {
    expect(() => claimFrom({ ready: [item("a", { generation: 2 ** 32 - 1 })] })).toThrow(
      expect.objectContaining({ code: "LIMIT_EXCEEDED" }),
    );
  });
});

describe("a decider of the queue", () => {
  test("never makes an item available before now", () => {
    const answer = enqueue.decide(
      { item: null, slot: null },
      { runId: "r1", availableAt: 5, input: undefined },
      context(),
    );

    expect(answer).toMatchObject({
      events: [{ data: { availableAt: at, affinity: null, parent: null, priority: 0, reclaimsMax: 10 } }],
    });
    for (const each of [
      park.decide({ item: claimed("r1", at + 1) }, { runId: "r1", availableAt: 5 }, under("r1")),
      requeue.decide({ item: claimed("r1", at + 1) }, { runId: "r1", availableAt: 5 }, under("r1")),
      requeue.decide({ item: item("r1", { availableAt: at + 9 }) }, { runId: "r1", availableAt: 5 }, context()),
    ])
      expect(each).toMatchObject({ events: [{ data: { availableAt: at } }] });
  });

  test("goes on with the generation of what was released", () => {
    const released = item("r1", { status: "released", generation: 7 });
    const wish = { runId: "r1", input: undefined, claim: { holder: "A", leaseMs: 1, tokenHash } };

    expect(enqueue.decide({ item: released, slot: null }, wish, context())).toMatchObject({
      events: [{ data: { claim: { generation: 8, superseded: null } } }],
      result: { runId: "r1", incarnation: 1, generation: 8, expiresAt: at + 1 },
    });
  });

  test("writes nothing that says no more than was said: a shorter renewal, a later wish, a second cancellation", () => {
    const held = claimed("r1", at + 1_000, { wantedAt: at + 5, cancel: { at: 1, reason: "no use" } });

    for (const answer of [
      renew.decide({ item: held }, { runId: "r1", leaseMs: 1_000 }, under("r1")),
      requeue.decide({ item: held }, { runId: "r1", availableAt: at + 5 }, context()),
      requestCancel.decide({ item: held }, { runId: "r1", reason: "no use" }, context()),
      requestCancel.decide({ item: item("r1", { status: "done" }) }, { runId: "r1", reason: "no use" }, context()),
    ])
      expect(eventsOf(answer)).toEqual([]);
    expect(eventsOf(renew.decide({ item: held }, { runId: "r1", leaseMs: 1_001 }, under("r1")))).toEqual([
      "queue/r1 queue.renewed",
    ]);
    expect(eventsOf(requeue.decide({ item: held }, { runId: "r1", availableAt: at + 4 }, context()))).toEqual([
      "queue/r1 queue.wanted",
    ]);
    const left = { ...held, claim: { ...held.claim!, expiresAt: at } };
    expect(requestCancel.decide({ item: left }, { runId: "r1", reason: "no use" }, context())).toMatchObject({
      events: [{ type: "queue.cancelRequested" }],
      result: { status: "done" },
    });
  });

  test("asks for the fence of its own item", () => {
    const held = claimed("r1", at + 1_000);

    expect(complete.decide({ item: held }, { runId: "r1" }, under("r1"))).toMatchObject({ type: "accepted" });
    expect(complete.decide({ item: held }, { runId: "r1" }, under("r2"))).toMatchObject({
      code: "FENCED",
      details: { reason: "key" },
    });
    expect(complete.decide({ item: held }, { runId: "r1" }, context())).toMatchObject({
      code: "FENCED",
      details: { reason: "missing", held: 4 },
    });
    expect(complete.decide({ item: null }, { runId: "r1" }, context())).toMatchObject({ code: "NOT_FOUND" });
  });
});
