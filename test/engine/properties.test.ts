/** The properties of the journal, over generated histories, on every store. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { Ledger, LedgerEvent } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { describeStores, open, runsOn } from "./fixture.js";
import type { StoreName } from "./fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});

interface Step {
  readonly stream: string;
  readonly events: number;
  readonly expected: number | "none" | "exists" | "any";
  readonly body: string | null;
  readonly waitMs: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    stream: fc.constantFrom("order/1", "order/2", "stock/1", "caf/\u00e9"),
    events: fc.integer({ min: 1, max: 4 }),
    expected: fc.oneof(
      { weight: 3, arbitrary: fc.constant("any" as const) },
      fc.constantFrom("none" as const, "exists" as const),
      fc.integer({ min: 0, max: 6 }),
    ),
    body: fc.option(fc.constantFrom("short", "x".repeat(1_500), "y".repeat(1_500)), { nil: null }),
    waitMs: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 25 },
);

function append(ledger: Ledger, step: Step, index: number): Promise<unknown> {
  const events = Array.from({ length: step.events }, (_, n) => ({
    type: "thing.happened",
    data: { step: index, n, ...(step.body === null ? {} : { body: content(step.body) }) },
  }));
  return ledger.append(step.stream, events, { expected: step.expected });
}

function expectDense(events: readonly LedgerEvent[]): void {
  const revisions = new Map<string, number>();
  events.forEach((event, index) => {
    expect(event.position).toBe(index);
    expect(event.revision).toBe((revisions.get(event.stream) ?? 0) + 1);
    revisions.set(event.stream, event.revision);
    expect(event.at).toBeGreaterThanOrEqual(events[Math.max(0, index - 1)]!.at);
    expect(event.tx.first).toBeLessThanOrEqual(index);
    expect(event.tx.first + event.tx.count).toBeGreaterThan(index);
  });
}

describeStores("any history", (openOne, openStoreOf, name) => {
  test("positions and revisions are dense and time never falls, also when appends race", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const ledger = await openOne();
        await Promise.allSettled(history.map((step, index) => append(ledger, step, index)));
        expectDense(await ledger.read().toArray());
        expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
        await ledger.close();
      }),
      runs(name, 100),
    );
  });

  test("a refusal changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const ledger = await openOne();
        for (const [index, step] of history.entries()) {
          const before = await ledger.status();
          const accepted = await append(ledger, step, index).then(
            () => true,
            () => false,
          );
          const after = await ledger.status();
          if (accepted) expect(after.size).toBe(before.size + step.events);
          else expect([after.size, after.head, after.contents]).toEqual([before.size, before.head, before.contents]);
        }
        await ledger.close();
      }),
      runs(name, 100),
    );
  });

  test("any interleaving of two writers equals some serial order, and every acknowledged append is in it once", async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, async (one, two) => {
        const store = await openStoreOf();
        const [first, second] = [await open(store), await open(store)];
        const results = await Promise.allSettled([
          ...one.map((step, index) => append(first, step, index)),
          ...two.map((step, index) => append(second, step, 1_000 + index)),
        ]);
        const events = await first.read({ from: 1 }).toArray();

        expectDense(await first.read().toArray());
        const acknowledged = results.flatMap((result, index) =>
          result.status === "fulfilled" ? [index < one.length ? index : 1_000 + index - one.length] : [],
        );
        const stored = events
          .filter((event) => event.tx.first === event.position)
          .map((event) => (event.data as { step: number }).step);
        expect([...stored].sort((a, b) => a - b)).toEqual(acknowledged);

        // Replayed one by one in the order in which they are stored, every append meets the same fate.
        const model = new Map<string, number>();
        for (const event of events.filter((each) => each.tx.first === each.position)) {
          const index = (event.data as { step: number }).step;
          const step = index < 1_000 ? one[index]! : two[index - 1_000]!;
          const revision = model.get(step.stream) ?? 0;
          expect(
            step.expected === "any" ||
              (step.expected === "none"
                ? revision === 0
                : step.expected === "exists"
                  ? revision > 0
                  : revision === step.expected),
          ).toBe(true);
          model.set(step.stream, revision + step.events);
        }
      }),
      runs(name, 50),
    );
  });

  test("how appends are grouped into commits leaves no mark in the bytes, nor does the store", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const accepting = history.map((step) => ({ ...step, expected: "any" as const }));
        const idsOf = async (ledger: Ledger): Promise<string[]> =>
          (await ledger.read().toArray()).map((event) => event.id);
        const options = () => ({
          clock: manualClock(),
          origin: "test/grouping",
          testing: { randomBytes: seededBytes() },
        });
        const reference = await openLedger(createMemoryStore(), options());
        for (const [index, step] of accepting.entries()) await append(reference, step, index);

        const ledger = await open(await openStoreOf(), options());
        await Promise.all(accepting.map((step, index) => append(ledger, step, index)));

        expect(await idsOf(ledger)).toEqual(await idsOf(reference));
      }),
      runs(name, 60),
    );
  });

  test("after a clock that was 75 years ahead for one append, time goes on at real speed", async () => {
    const clock = manualClock();
    const ledger = await open(await openStoreOf(), { clock, acceptClockStep: true });
    const right = clock.now();
    clock.set(right + 75 * 365.25 * 86_400_000);
    const ahead = (await ledger.append("order/1", [{ type: "order.placed" }])).at;
    clock.set(right);

    for (let second = 1; second <= 20; second++) {
      clock.advance(1_000);
      expect((await ledger.append("order/1", [{ type: "order.placed" }])).at).toBe(ahead + second * 1_000);
    }
    expect((await ledger.status()).clockAheadMs).toBe(ahead - right);
  });

  test("B08 the time that is hashed is the time that is stored", async () => {
    const ledger = await openOne({ clock: { now: () => 1_767_225_600_123.456, monotonic: () => 0 } }).catch(
      (error: unknown) => error,
    );
    expect(ledger).toMatchObject({ code: "CLOCK_UNSURE" });

    const clock = manualClock(1_767_225_600_123);
    const whole = await openOne({ clock });
    clock.advance(0.7);
    await whole.append("order/1", [{ type: "order.placed" }]);
    clock.advance(0.7);
    await whole.append("order/1", [{ type: "order.placed" }]);
    const events = await whole.read().toArray();
    expect(events.every((event) => Number.isInteger(event.at))).toBe(true);
    expect(await whole.verify()).toMatchObject({ verdict: "OK" });
  });

  test("refuses to step more than 366 days past the head, writes nothing, and goes on when told that it is right", async () => {
    const clock = manualClock();
    const store = await openStoreOf();
    const ledger = await open(store, { clock });
    clock.advance(367 * 86_400_000);

    await expect(ledger.append("order/1", [{ type: "order.placed" }])).rejects.toMatchObject({ code: "CLOCK_UNSURE" });
    expect((await ledger.status()).size).toBe(1);
    const accepting = await open(store, { clock, acceptClockStep: true });
    expect((await accepting.append("order/1", [{ type: "order.placed" }])).position).toBe(1);
    expect((await ledger.append("order/1", [{ type: "order.placed" }])).position).toBe(2);
  });
});
