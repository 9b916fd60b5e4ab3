/** Fences under the lock: whose writes go on, what is recorded of those that are refused, and what a restore does to them.
 *  Decisions 15.1, 15.9, 15.15. */
import { describe, expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { accept, defineCommand, defineEvents, fencingNumber, hashToken, queueCommands } from "../../src/index.js";
import type { Clock, Fence, FenceProof, Ledger, LedgerOptions } from "../../src/index.js";
import { refusedNamesMax } from "../../src/kernel/limits.js";
import {
  claim,
  claimRun,
  describeQueues,
  expectSound,
  hour,
  refused,
  refusesAndLeavesNothing,
  stateOf,
  t0,
} from "../api/queue-fixture.js";
import { open, openStore } from "./fixture.js";
import { appendRaw } from "./raw-append.js";

const stepEvents = defineEvents("step", { open: false }, { "step.taken": {} });
const seen: (FenceProof | null)[] = [];
/** A host's command: writes its own area, and looks at the fence of the call. */
const takeStep = defineCommand("step.take", {
  decide(_, input: { readonly name: string }, { fence }) {
    seen.push(fence);
    return accept([{ stream: `step/${input.name}`, type: "step.taken" }], { name: input.name });
  },
});
const withSteps: LedgerOptions = { events: [stepEvents], commands: [takeStep] };

const { complete, renew } = queueCommands;
const note = { type: "note.added" };
const another = "another token of enough units";

/** A ledger with one run that is claimed for a second. */
async function held(
  start: (options?: LedgerOptions) => Promise<{ ledger: Ledger }>,
): Promise<{ ledger: Ledger; fence: Fence }> {
  const { ledger } = await start(withSteps);
  await ledger.queue.enqueue({ runId: "r1" });
  return { ledger, fence: await claim(ledger, "A", 1_000) };
}

async function refusalsOf(ledger: Ledger): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const events = await ledger.read({ types: ["fence.refused"] }).toArray();
  return events.map(({ data, stream, fence, tx }) => ({ ...data, stream, fence, tx }));
}

describeQueues("a write under a fence", (start) => {
  test("is marked with it, be it an append, a command of a host or a list, and its receipt is not", async () => {
    const { ledger, fence } = await held(start);
    const { token, ...shown } = fence;
    seen.length = 0;

    await ledger.append("note/1", [note], { fence });
    await ledger.append(
      [
        { stream: "note/2", events: [note] },
        { stream: "note/3", events: [note] },
      ],
      { fence },
    );
    await ledger.execute(takeStep({ name: "one" }), { fence, id: "c1" });
    await ledger.execute([takeStep({ name: "two" }), complete({ runId: "r1" })], { fence });
    await ledger.execute(takeStep({ name: "three" }));

    // Decided again, it sees the same.
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ key: shown.key, incarnation: 1, generation: 1, tokenHash: hashToken(token) }), "null"]),
    );
    const marks = new Map(
      (await ledger.read({ from: 4 }).toArray()).map(({ stream, type, fence: mark }) => [`${stream} ${type}`, mark]),
    );
    const mark = ["queue/r1", 1, 1];
    for (const one of [
      "note/1 note.added",
      "note/2 note.added",
      "note/3 note.added",
      "step/one step.taken",
      "step/two step.taken",
      "queue/r1 queue.completed",
    ])
      expect(marks.get(one)).toEqual(mark);
    expect(marks.get("step/three step.taken")).toBeUndefined();
    const all = await ledger.readStream("client/default").toArray();
    expect(all.map(({ type, fence: none }) => [type, none])).toEqual([["receipt.recorded", undefined]]);
    await expectSound(ledger);
  });

  test("is refused with the reason and recorded, in a tx of its own and without a fence, once for each generation and command", async () => {
    const { ledger, fence } = await held(start);
    const wrong = { ...fence, token: another };

    const attempts = [
      (): Promise<unknown> => ledger.append("note/1", [note, note], { fence: wrong }),
      (): Promise<unknown> => ledger.execute(takeStep({ name: "one" }), { fence: wrong }),
      (): Promise<unknown> => ledger.queue.complete(wrong),
    ];
    for (const attempt of attempts) {
      const before = await stateOf(ledger);
      expect(await refused(attempt())).toMatchObject({
        code: "FENCED",
        details: { key: "queue/r1", reason: "token", held: 1, offered: 1 },
        adopted: false,
      });
      expect(await stateOf(ledger)).not.toEqual(before);
      await refusesAndLeavesNothing(ledger, attempt, { code: "FENCED", details: { reason: "token" } });
    }

    const recorded = { key: "queue/r1", generation: 1, reason: "token", stream: "fence/queue/r1", fence: undefined };
    expect(await refusalsOf(ledger)).toEqual(
      ["append", "step.take", "queue.complete"].map((command) => ({
        ...recorded,
        command,
        tx: { first: expect.any(Number) as number, count: 1 },
      })),
    );
    expect(await ledger.projection(queue).get("r1")).toMatchObject({
      status: "claimed",
      updatedAt: t0,
      refused: ["1 append", "1 step.take", "1 queue.complete"],
    });
    await ledger.queue.complete(fence);
    await expectSound(ledger);
  });

  test("is refused and not recorded where there is nothing of the key, or the generation was never issued", async () => {
    const { ledger, fence } = await held(start);
    await ledger.queue.enqueue({ runId: "r2" });

    for (const [wrong, expected] of [
      [{ key: "queue/nobody" }, { code: "NOT_FOUND", details: { key: "queue/nobody" } }],
      [{ generation: 2 }, { code: "FENCED", details: { reason: "generation", held: 1, offered: 2 } }],
      [{ key: "queue/r2" }, { code: "FENCED", details: { reason: "generation", held: 0, offered: 1 } }],
    ] as const) {
      const presented = { ...fence, ...wrong };
      await refusesAndLeavesNothing(ledger, () => ledger.append("note/1", [note], { fence: presented }), expected);
      await refusesAndLeavesNothing(
        ledger,
        () => ledger.execute(takeStep({ name: "one" }), { fence: presented }),
        expected,
      );
    }
  });

  test("is refused and not recorded when it needs the fence of something else, or any", async () => {
    const { ledger, fence } = await held(start);
    await ledger.queue.enqueue({ runId: "r2" });
    await claim(ledger, "A", 1_000);

    const of = (reason: string, offered: number): object => ({
      code: "FENCED",
      details: { key: "queue/r2", reason, held: 1, offered },
    });
    await refusesAndLeavesNothing(ledger, () => ledger.execute(complete({ runId: "r2" }), { fence }), of("key", 1));
    await refusesAndLeavesNothing(ledger, () => ledger.execute(complete({ runId: "r2" })), of("missing", 1));
    await refusesAndLeavesNothing(ledger, () => ledger.execute(renew({ runId: "nobody", leaseMs: 1 }), { fence }), {
      code: "NOT_FOUND",
    });
  });

  test("is recorded at most 32 times for one claim key, and refused all the same", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", reclaimsMax: 1_000 });
    const fences: Fence[] = [];
    for (let generation = 1; generation <= 12; generation++) {
      fences.push(await claim(ledger, "A", 1));
      clock.advance(1);
    }

    for (const fence of fences)
      for (const attempt of [
        ledger.queue.complete(fence),
        ledger.queue.renew(fence),
        ledger.append("note/1", [note], { fence }),
      ])
        expect(await refused(attempt)).toMatchObject({ code: "FENCED" });

    const recorded = await refusalsOf(ledger);
    expect(recorded).toHaveLength(refusedNamesMax);
    expect((await ledger.projection(queue).get("r1"))?.refused).toEqual(
      recorded.map(({ generation, command }) => `${generation as number} ${command as string}`),
    );
    expect(recorded.at(-1)).toMatchObject({ generation: 11, command: "queue.renew", reason: "generation" });
    await expectSound(ledger);
  });

  test("is recorded for the same command again when it is of another generation, and across a release", async () => {
    const { ledger, fence } = await held(start);
    await ledger.queue.release(fence);
    await refused(ledger.queue.complete(fence));
    const { fence: next } = await ledger.queue.enqueue({ runId: "r1", claim: { holder: "B" } });
    await refused(ledger.queue.complete(fence));
    await refused(ledger.queue.complete({ ...next, token: another }));

    expect(await refusalsOf(ledger)).toMatchObject([
      { generation: 1, reason: "released" },
      { generation: 2, reason: "token" },
    ]);
    await expectSound(ledger);
  });

  test("has the receipt of its refusal beside the record, and is answered by it from then on", async () => {
    const { ledger, fence } = await held(start);
    const wrong = { ...fence, token: another };
    const send = (id: string): Promise<unknown> => ledger.execute(complete({ runId: "r1" }), { fence: wrong, id });

    const first = await refused(send("c1"));
    const { head } = await ledger.status();
    const again = await refused(send("c1"));
    expect((await ledger.status()).head).toEqual(head);
    const other = await refused(send("c2"));

    expect([first, again, other].map(({ code, adopted }) => [code, adopted])).toEqual([
      ["FENCED", false],
      ["FENCED", true],
      ["FENCED", false],
    ]);
    const written = (await ledger.read({ from: 4 }).toArray()).map(({ type, tx, fence: mark }) => [
      type,
      tx.first,
      tx.count,
      mark,
    ]);
    expect(written).toEqual([
      ["fence.refused", 4, 2, undefined],
      ["receipt.recorded", 4, 2, undefined],
      ["receipt.recorded", 6, 1, undefined],
    ]);
    // The claim is good all the same, and so is what its holder sends with the id of its own.
    await ledger.execute(complete({ runId: "r1" }), { fence, id: "c3" });
    expect(await refused(send("c1"))).toMatchObject({ adopted: true });
    await expectSound(ledger);
  });

  test("is refused as a whole when a list has lost its fence, by the command that lost it", async () => {
    const { ledger, fence } = await held(start);
    const list = [takeStep({ name: "one" }), complete({ runId: "r1" }), takeStep({ name: "two" })];

    const error = await refused(ledger.execute(list, { fence }));

    expect(error).toMatchObject({ code: "FENCED", details: { reason: "released", index: 2 } });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "claimed" });
    expect(await ledger.readStream("step/one").toArray()).toEqual([]);
    expect(await refusalsOf(ledger)).toMatchObject([{ command: "step.take", reason: "released", generation: 1 }]);
    await ledger.execute(list.slice(0, 2), { fence });
    await expectSound(ledger);
  });

  test("is told that it lost its fence before anything else is held against it", async () => {
    const { ledger, fence } = await held(start);
    await ledger.append("note/1", [note]);
    const options = { fence: { ...fence, token: another }, require: [{ stream: "note/1", expected: "none" as const }] };

    expect(await refused(ledger.append("note/2", [note], options))).toMatchObject({ code: "FENCED" });
    expect(await refused(ledger.execute(takeStep({ name: "one" }), options))).toMatchObject({ code: "FENCED" });
    const good = { ...options, fence };
    expect(await refused(ledger.append("note/2", [note], good))).toMatchObject({ code: "REVISION_CONFLICT" });
    expect(await refused(ledger.execute(takeStep({ name: "one" }), good))).toMatchObject({ code: "REVISION_CONFLICT" });
  });

  test("of an earlier incarnation is refused once the journal was restored; its claim runs out, and the next is of the new one", async () => {
    const { ledger, clock, store } = await start(withSteps);
    await ledger.queue.enqueue({ runId: "r1" });
    const before = await claim(ledger, "A", 1_000);
    const head = (await ledger.status()).head;
    await appendRaw(store, "journal/main", "journal.restored", {
      incarnation: 2,
      size: head.position + 1,
      head: head.id,
    });

    for (const attempt of [
      ledger.append("note/1", [note], { fence: before }),
      ledger.queue.complete(before),
      ledger.queue.park(before),
      ledger.queue.renew(before),
    ])
      expect(await refused(attempt)).toMatchObject({
        code: "FENCED",
        details: { reason: "incarnation", held: 1, offered: 1 },
      });
    expect(await ledger.queue.verify(before)).toBe(false);
    expect(await claimRun(ledger, "B")).toBeNull();
    clock.advance(1_000);
    const after = await ledger.queue.claimNext({ holder: "B", leaseMs: hour });

    expect(after).toMatchObject({ fence: { incarnation: 2, generation: 2 }, item: { incarnation: 2, superseded: 1 } });
    expect(await ledger.queue.verify(after!.fence)).toBe(true);
    expect(fencingNumber(after!.fence)).toBeGreaterThan(fencingNumber({ incarnation: 1, generation: 2 ** 32 - 1 }));
    await ledger.execute([takeStep({ name: "one" }), complete({ runId: "r1" })], { fence: after!.fence });
    expect((await ledger.readStream("step/one").toArray())[0]?.fence).toEqual(["queue/r1", 2, 2]);
    // Another process finds the same.
    const elsewhere = await open(store, { clock, ...withSteps });
    expect(await refused(elsewhere.queue.complete(before))).toMatchObject({ details: { reason: "incarnation" } });
  });

  test.each([
    ["nothing", null],
    ["a text, which may be the token", "my secret token, which is no fence"],
    ["a list", []],
    ["a number", 7],
    ["no token", { key: "queue/r1", incarnation: 1, generation: 1 }],
    ["a token of 3 units", { key: "queue/r1", incarnation: 1, generation: 1, token: "abc" }],
    ["a token with control characters", { key: "queue/r1", incarnation: 1, generation: 1, token: `${another}\n` }],
    ["a token of too many units", { key: "queue/r1", incarnation: 1, generation: 1, token: "x".repeat(513) }],
    ["a member that nobody reads", { key: "queue/r1", incarnation: 1, generation: 1, token: another, holder: "A" }],
    ["a key that is no stream", { key: "r1", incarnation: 1, generation: 1, token: another }],
    ["a key of what cannot be owned", { key: "note/1", incarnation: 1, generation: 1, token: another }],
    ["generation 0", { key: "queue/r1", incarnation: 1, generation: 0, token: another }],
    ["generation 2^32", { key: "queue/r1", incarnation: 1, generation: 2 ** 32, token: another }],
    ["incarnation 0", { key: "queue/r1", incarnation: 0, generation: 1, token: another }],
    ["a generation as text", { key: "queue/r1", incarnation: 1, generation: "1", token: another }],
  ])("is refused under %s, and no token is shown", async (_, given) => {
    const { ledger } = await held(start);
    const fence = given as never;

    for (const attempt of [
      () => ledger.append("note/1", [note], { fence }),
      () => ledger.execute(takeStep({ name: "one" }), { fence }),
      () => ledger.queue.complete(fence),
      () => ledger.queue.verify(fence),
    ]) {
      const before = await stateOf(ledger);
      const error = await refused(Promise.resolve().then<unknown>(attempt));
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(JSON.stringify([error.message, error.details])).not.toMatch(/secret|another token/);
      expect(await stateOf(ledger)).toEqual(before);
    }
  });
});

describe("a clock that goes on at each look", () => {
  test.each(["memory", "sqlite", "postgres"] as const)(
    "never leaves an event behind the end of its claim, on %s",
    async (name) => {
      let now = t0;
      const clock: Clock = { now: () => ++now, monotonic: () => now };
      const ledger = await open(await openStore(name), { clock, ...withSteps });
      await ledger.queue.enqueue({ runId: "r1", reclaimsMax: 1_000 });

      for (let leaseMs = 1; leaseMs <= 40; leaseMs++) {
        const fence = await claim(ledger, "A", leaseMs);
        const calls = Array.from({ length: 12 }, (_, index) =>
          index % 2 === 0
            ? ledger.append("note/1", [note], { fence })
            : ledger.execute(takeStep({ name: "one" }), { fence }),
        );
        await Promise.allSettled(calls);
        now += leaseMs;
      }

      expect((await ledger.readStream("note/1").toArray()).length).toBeGreaterThan(10);
      await expectSound(ledger);
    },
  );
});
