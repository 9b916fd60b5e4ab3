/** What the run queue refuses, by code, and that nothing is written: no event, document or index. What decision 9 records of
 *  fences is tried in `test/engine/fences.test.ts`. */
import { expect, test } from "vitest";
import { hashToken, queueCommands } from "../../src/index.js";
import type { Fence, Ledger, Queue } from "../../src/index.js";
import { queueStream } from "../../src/journal/events/queue.js";
import { keepToEndOfFile } from "../cleanups.js";
import { claim, describeQueues, hour, refused, refusesAndLeavesNothing, stateOf } from "./queue-fixture.js";

const invalidArgument = { code: "INVALID_ARGUMENT" };
const long = "x".repeat(201);

type Verb = (queue: Queue, fence: Fence) => Promise<unknown>;
const never = (value: unknown): never => value as never;

/** Calls that are wrong, whatever stands on the queue; `r1` is claimed. */
const wrongCalls: readonly (readonly [title: string, call: Verb, expected?: object])[] = [
  ["a lease of 0", (queue) => queue.claimNext({ holder: "B", leaseMs: 0 })],
  ["a lease of 2^53", (queue) => queue.claimNext({ holder: "B", leaseMs: 2 ** 53 })],
  ["a lease of 25 h", (queue) => queue.claimNext({ holder: "B", leaseMs: 25 * hour })],
  ["a renewal of 0", (queue, fence) => queue.renew(fence, 0)],
  ["a renewal of 25 h", (queue, fence) => queue.renew(fence, 25 * hour)],
  [
    "a birth with a lease of 25 h",
    (queue) => queue.enqueue({ runId: "r9", claim: { holder: "B", leaseMs: 25 * hour } }),
  ],
  ["a token of 3 characters", (queue) => queue.claimNext({ holder: "B", token: "abc" })],
  [
    "a birth with a token of 3 characters",
    (queue) => queue.enqueue({ runId: "r9", claim: { holder: "B", token: "abc" } }),
  ],
  [
    "a claim with an id and no token",
    (queue) => queue.claimNext({ holder: "B" }, { id: "c1" }),
    { details: { path: "options.token" } },
  ],
  [
    "a birth with an id and no token",
    (queue) => queue.enqueue({ runId: "r9", claim: { holder: "B" } }, { id: "c1" }),
    { details: { path: "item.claim.token" } },
  ],
  ["a holder without a name", (queue) => queue.claimNext({ holder: "" }), {}],
  ["a holder of 129 units", (queue) => queue.claimNext({ holder: "x".repeat(129) }), { code: "LIMIT_EXCEEDED" }],
  ["no holder", (queue) => queue.claimNext(never({}))],
  ["nothing to claim by", (queue) => queue.claimNext(never(undefined))],
  ["a misspelt option of a claim", (queue) => queue.claimNext(never({ holder: "B", lease: 1 }))],
  [
    "a parent that has its continuation",
    (queue) => queue.enqueue({ runId: "r9", parent: "p" }),
    { code: "SLOT_TAKEN", details: { parent: "p", runId: "r1" } },
  ],
  [
    "a run that is there",
    (queue) => queue.enqueue({ runId: "r1" }),
    { code: "ALREADY_EXISTS", details: { runId: "r1", status: "claimed" } },
  ],
  ["no run id", (queue) => queue.enqueue(never({}))],
  ["a run id with a slash", (queue) => queue.enqueue({ runId: "a/b" })],
  ["a run id of 201 units", (queue) => queue.enqueue({ runId: long })],
  ["a parent that is no run id", (queue) => queue.enqueue({ runId: "r9", parent: "" })],
  [
    "an affinity of 129 units",
    (queue) => queue.enqueue({ runId: "r9", affinity: "x".repeat(129) }),
    { code: "LIMIT_EXCEEDED" },
  ],
  ["a priority of 1,001", (queue) => queue.enqueue({ runId: "r9", priority: 1_001 })],
  ["a priority of −1,001", (queue) => queue.enqueue({ runId: "r9", priority: -1_001 })],
  ["a priority with a fraction", (queue) => queue.enqueue({ runId: "r9", priority: 0.5 })],
  ["takeovers below 0", (queue) => queue.enqueue({ runId: "r9", reclaimsMax: -1 })],
  ["an input that JSON cannot carry", (queue) => queue.enqueue({ runId: "r9", input: new Map() })],
  ["a misspelt member of an item", (queue) => queue.enqueue(never({ runId: "r9", prio: 1 }))],
  ["an unknown run to requeue", (queue) => queue.requeue("r9"), { code: "NOT_FOUND", details: { runId: "r9" } }],
  [
    "an unknown run to cancel",
    (queue) => queue.requestCancel("r9", "no use"),
    { code: "NOT_FOUND", details: { runId: "r9" } },
  ],
  [
    "an unknown run to complete",
    (queue, fence) => queue.complete({ ...fence, key: queueStream("r9") }),
    { code: "NOT_FOUND", details: { key: "queue/r9" } },
  ],
  [
    "an unknown run to renew",
    (queue, fence) => queue.renew({ ...fence, key: queueStream("r9") }),
    { code: "NOT_FOUND" },
  ],
  ["an unknown run to park", (queue, fence) => queue.park({ ...fence, key: queueStream("r9") }), { code: "NOT_FOUND" }],
  [
    "an unknown run to release",
    (queue, fence) => queue.release({ ...fence, key: queueStream("r9") }),
    { code: "NOT_FOUND" },
  ],
  ["a run id to complete", (queue) => queue.complete(never("r1"))],
  ["a fence of something else", (queue, fence) => queue.complete({ ...fence, key: "note/r1" })],
  [
    "a generation that was never issued",
    (queue, fence) => queue.complete({ ...fence, generation: 2 }),
    { code: "FENCED" },
  ],
  ["a reason of 201 units", (queue, fence) => queue.park(fence, { reason: long }), { code: "LIMIT_EXCEEDED" }],
  ["an empty reason", (queue, fence) => queue.release(fence, ""), {}],
  ["no reason to cancel", (queue) => queue.requestCancel("r1", never(undefined))],
  ["a time as text to park until", (queue, fence) => queue.park(fence, { availableAt: never("soon") })],
  ["a misspelt option of a park", (queue, fence) => queue.park(fence, never({ until: 1 }))],
  ["a time that is no date", (queue, fence) => queue.requeue(fence, { availableAt: new Date(NaN) })],
  ["no time to requeue at", (queue, fence) => queue.requeue(fence, { availableAt: never(null) })],
  ["failures of nobody's", (queue) => queue.requeue("r1", { failuresMax: 1 })],
  ["failures below 0", (queue, fence) => queue.requeue(fence, { failuresMax: -1 })],
  ["a status that no list shows", (queue) => queue.list({ status: never("released") })],
  ["a misspelt option of a list", (queue) => queue.list(never({ state: "done" }))],
  ["a limit of 0", (queue) => queue.list({ limit: 0 })],
  ["a run id that is none to get", (queue) => queue.get("a/b")],
];

describeQueues("the run queue refuses", (start) => {
  // One for all of them, which leave nothing.
  let withOneClaim: Promise<{ readonly ledger: Ledger; readonly fence: Fence }> | undefined;
  const withClaim = async () => {
    const { ledger } = await start();
    await ledger.queue.enqueue({ runId: "r1", parent: "p" });
    return { ledger, fence: await claim(ledger, "A") };
  };

  test.each(wrongCalls.map(([title, call, expected = invalidArgument]) => ({ title, call, expected })))(
    "$title",
    async ({ call, expected }) => {
      const { ledger, fence } = await (withOneClaim ??= keepToEndOfFile(withClaim));

      await refusesAndLeavesNothing(ledger, () => call(ledger.queue, fence), expected);
    },
  );

  test.each<[string, Partial<Fence>, string]>([
    ["another generation", { generation: 1 }, "generation"],
    ["another token", { token: "another token of enough units" }, "token"],
    ["another incarnation", { incarnation: 2 }, "incarnation"],
    ["another run", { key: queueStream("r2") }, "token"],
  ])("a fence of %s, and changes nothing but the record of it", async (_, wrong, reason) => {
    const { ledger, clock } = await start();
    for (const runId of ["r1", "r2"]) await ledger.queue.enqueue({ runId });
    for (const token of ["the first token of r1", "the first token of r2"])
      await ledger.queue.claimNext({ holder: "A", leaseMs: 10, token });
    clock.advance(10);
    const second = await claim(ledger, "B");
    await claim(ledger, "B");
    const fence = { ...second, ...wrong };
    const items = await ledger.queue.list();

    for (const verb of [
      (queue: Queue) => queue.renew(fence),
      (queue: Queue) => queue.park(fence),
      (queue: Queue) => queue.complete(fence),
      (queue: Queue) => queue.release(fence),
      (queue: Queue) => queue.requeue(fence),
    ]) {
      expect(await refused(verb(ledger.queue))).toMatchObject({ code: "FENCED", details: { key: fence.key, reason } });
      expect(await ledger.queue.list()).toEqual(items);
      await refusesAndLeavesNothing(ledger, () => verb(ledger.queue), { code: "FENCED" });
    }
    const { position } = (await ledger.status()).head;
    const last = await ledger.read({ from: position - 4 }).toArray();
    expect(last.map(({ type, stream }) => `${type} ${stream}`)).toEqual(
      Array.from({ length: 5 }, () => `fence.refused fence/${fence.key}`),
    );
  });

  test("the events of the queue to everybody but its commands", async () => {
    const { ledger } = await start();
    const data = {
      claim: { holder: "B", generation: 7, tokenHash: hashToken("x"), expiresAt: 8e15, superseded: null },
    };

    for (const type of ["queue.claimed", "queue.completed", "queue.invented"])
      await refusesAndLeavesNothing(ledger, async () => ledger.append("queue/r1", [{ type, data }]), invalidArgument);
    await refusesAndLeavesNothing(
      ledger,
      async () => ledger.append("fence/queue/r1", [{ type: "fence.refused", data: {} }]),
      invalidArgument,
    );
  });

  test("inputs that its commands cannot take, when they are executed without the face", async () => {
    const { ledger } = await start();
    const { enqueue, claimNext, renew, requeue } = queueCommands;
    const claimed = { holder: "A", leaseMs: 1, tokenHash: hashToken("a token of enough units") };

    for (const [command, path] of [
      [claimNext({ ...claimed, tokenHash: "a token of enough units" }), "claimNext.tokenHash"],
      [claimNext(never({ ...claimed, token: "x" })), "claimNext"],
      [enqueue({ runId: "r1", claim: never({ holder: "A" }) }), "enqueue.claim.tokenHash"],
      [renew(never(undefined)), "renew"],
      [renew({ runId: "r1", leaseMs: 25 * hour }), "renew.leaseMs"],
      [requeue({ runId: "r1", availableAt: never(new Date()) }), undefined],
    ] as const) {
      const before = await stateOf(ledger);
      const error = await refused(Promise.resolve().then<unknown>(() => ledger.execute(command)));
      expect(error).toMatchObject({ ...invalidArgument, details: path === undefined ? {} : { path } });
      expect(await stateOf(ledger)).toEqual(before);
    }
  });
});
