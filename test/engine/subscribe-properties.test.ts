/** The promise of subscriptions over generated histories: whoever dies in between, a reader sees every committed event that
 *  its filter lets through, once and in order; what it acknowledged never comes again, what it did not comes again. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, Store, SubscribeOptions, Subscription } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import type { ManualClock } from "../../src/testing/manual-clock.js";
import type { FaultyStore } from "../../src/testing/faulty-store.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { describeStores, runsOn } from "./fixture.js";
import type { StoreName } from "./fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});
const leaseMs = 60_000;

type Step =
  /** A writer appends, and is or is not waited for; it may die after so many points of its store. */
  | { readonly type: "append"; readonly writer: 0 | 1; readonly stream: string; readonly count: number }
  | { readonly type: "killWriter"; readonly writer: 0 | 1; readonly points: number }
  | { readonly type: "settle" }
  /** A reader asks for more. */
  | { readonly type: "ask"; readonly reader: 0 | 1 }
  /** The consumer ends: it dies after so many points, leaves, or its ledger is closed. */
  | { readonly type: "kill"; readonly points: number; readonly batch: number }
  | { readonly type: "leave" | "close"; readonly batch: number };

const pointsLeft = fc.integer({ min: 0, max: 20 });
const batch = fc.integer({ min: 1, max: 5 });
const writer = fc.constantFrom(0 as const, 1 as const);
const histories: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant("append" as const),
        writer,
        stream: fc.constantFrom("a/1", "a/2", "b/1"),
        count: fc.integer({ min: 1, max: 7 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("killWriter" as const), writer, points: pointsLeft }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("settle" as const) }) },
    { weight: 8, arbitrary: fc.record({ type: fc.constant("ask" as const), reader: writer }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("kill" as const), points: pointsLeft, batch }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("leave" as const, "close" as const), batch }) },
  ),
  { minLength: 5, maxLength: 40 },
);
const filters: fc.Arbitrary<Pick<SubscribeOptions, "streams" | "kinds" | "types">> = fc.constantFrom(
  {},
  { kinds: ["a"] },
  { streams: ["b/1"] },
  { types: ["thing.happened"] },
  { kinds: ["a", "b"], streams: ["a/1", "b/1"] },
);

/** What a reader was told, in order. A batch that follows an ask shows that the one before it was acknowledged. */
type Told =
  | { readonly type: "began" }
  | { readonly type: "asked" }
  | { readonly type: "handed"; readonly positions: readonly number[]; readonly position: number };

/** A reader that goes on from where it was each time that it is begun anew. */
class Reader {
  readonly told: Told[] = [];
  private subscription: Subscription | null = null;
  private asking: Promise<void> | null = null;

  begin(subscription: Subscription): void {
    this.told.push({ type: "began" });
    this.subscription = subscription;
  }

  /** Asks for more; what comes is noted when it comes. */
  ask(): void {
    if (this.asking !== null || this.subscription === null) return;
    this.told.push({ type: "asked" });
    this.asking = this.subscription
      .next()
      .then(({ value }) => {
        if (value === undefined) return;
        this.told.push({
          type: "handed",
          positions: value.entries.map((event) => event.position),
          position: value.position,
        });
      })
      .catch(() => {})
      .finally(() => (this.asking = null));
  }

  async end(): Promise<void> {
    await this.subscription?.return();
    await this.asking;
    this.subscription = null;
  }

  /** Asks until it was handed everything up to a position. */
  async readUpTo(position: number): Promise<void> {
    for (;;) {
      const last = this.told.at(-1);
      if (last?.type === "handed" && last.position >= position) return;
      this.ask();
      await this.asking;
    }
  }
}

/** A ledger in a process of its own, which can die. */
interface Process {
  readonly store: FaultyStore;
  readonly ledger: Ledger;
  readonly dieIn: (points: number) => void;
}

/** Holds what a reader was told against what there was to tell. `matching`: positions that its filter lets through. */
function expectEveryEventOnce(told: readonly Told[], matching: readonly number[]): void {
  // Where it may be when it begins: what was acknowledged for sure, and what was asked to be and got no answer.
  let places = [-1];
  let at = [-1];
  let inHand: number | null = null;
  let handed = -1;
  for (const each of told) {
    if (each.type === "began") {
      at = places;
      inHand = null;
    } else if (each.type === "asked") {
      if (inHand !== null) places = [...places, inHand];
    } else {
      if (inHand !== null) places = [inHand];
      const fitting = at.filter((place) => {
        const expected = matching.filter((position) => position > place && position <= each.position);
        return JSON.stringify(expected) === JSON.stringify(each.positions);
      });
      expect({ at, each, fits: fitting.length > 0 }).toEqual({ at, each, fits: true });
      places = inHand === null ? fitting : places;
      at = [each.position];
      inHand = each.position;
      handed = each.position;
    }
  }
  expect(matching.filter((position) => position > handed)).toEqual([]);
}

class Scene {
  readonly clock: ManualClock = manualClock();
  readonly reader = new Reader();
  readonly watcher = new Reader();
  private readonly store: Store;
  private readonly filter: SubscribeOptions;
  private readonly appends: Promise<unknown>[] = [];
  private readonly writers: Process[] = [];
  private consumer: Process | null = null;

  constructor(store: Store, filter: SubscribeOptions) {
    this.store = store;
    this.filter = filter;
  }

  async begin(): Promise<void> {
    this.writers.push(await this.start(), await this.start());
    this.watcher.begin(this.writers[0]!.ledger.subscribe({ ...this.filter, batch: 3 }));
    await this.beginConsumer(2);
  }

  async take(step: Step): Promise<void> {
    switch (step.type) {
      case "append": {
        const events = Array.from({ length: step.count }, () => ({ type: "thing.happened" }));
        this.appends.push(this.writers[step.writer]!.ledger.append(step.stream, events).catch(() => {}));
        return;
      }
      case "killWriter": {
        // The watcher lives in the first writer's process: it ends with it, and has nothing that outlives it.
        if (step.writer === 0) return;
        await this.kill(this.writers[1]!, step.points);
        this.writers[1] = await this.start();
        return;
      }
      case "settle":
        await Promise.all(this.appends.splice(0));
        return;
      case "ask":
        (step.reader === 0 ? this.reader : this.watcher).ask();
        return;
      case "kill":
        await this.kill(this.consumer!, step.points);
        await this.reader.end();
        await this.expectTaken();
        this.clock.advance(leaseMs);
        return this.beginConsumer(step.batch);
      case "leave":
        await this.reader.end();
        return this.beginConsumer(step.batch);
      case "close":
        await this.consumer!.ledger.close();
        await this.reader.end();
        return this.beginConsumer(step.batch);
    }
  }

  /** Lets everything come to its end, and answers the positions that the filter lets through. */
  async finish(): Promise<number[]> {
    await Promise.all(this.appends.splice(0));
    const { ledger } = this.writers[0]!;
    for (const stream of ["a/1", "b/1"]) await ledger.append(stream, [{ type: "thing.happened" }]);
    const { streams, kinds } = this.filter;
    const events = await ledger.read({ types: ["thing.happened"] }).toArray();
    const matching = events
      .filter(({ stream }) => streams?.includes(stream) ?? true)
      .filter(({ stream }) => kinds?.some((kind) => stream.startsWith(`${kind}/`)) ?? true)
      .map((event) => event.position);
    await Promise.all([this.reader.readUpTo(matching.at(-1)!), this.watcher.readUpTo(matching.at(-1)!)]);
    await Promise.all([this.reader.end(), this.watcher.end()]);
    for (const each of [...this.writers, this.consumer!]) await each.ledger.close();
    return matching;
  }

  private async start(): Promise<Process> {
    let left = Infinity;
    const store = faultyStore(this.store, () => (--left > 0 ? null : "crash"));
    const ledger = await openLedger(store, { clock: this.clock, busyTimeoutMs: 2_000, testing: {} });
    return { store, ledger, dieIn: (points) => (left = points) };
  }

  private async beginConsumer(size: number): Promise<void> {
    this.consumer = await this.start();
    this.reader.begin(this.consumer.ledger.subscribe({ ...this.filter, consumer: "mailer", leaseMs, batch: size }));
  }

  /** Dies after so many points of its store, or where it stands when it passes no more. */
  private async kill({ store, dieIn }: Process, points: number): Promise<void> {
    dieIn(points);
    for (let turn = 0; turn < 20 && !store.crashed; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    await store.restart();
  }

  /** A name whose owner died is taken until its lease is over; one that it never had, or gave back, is free. */
  private async expectTaken(): Promise<void> {
    const snapshot = await this.store.snapshot();
    const row = await snapshot.consumer("mailer");
    await snapshot.release();
    if (row?.claim == null || row.claim.expiresAt <= this.clock.now()) return;
    const { ledger } = await this.start();
    await expect(ledger.subscribe({ consumer: "mailer" }).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    await ledger.close();
  }
}

describeStores("in any history", (_, openStoreOf, name) => {
  test(
    "a reader sees every committed event once and in order, whoever dies in between",
    { timeout: 600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(histories, filters, async (history, filter) => {
          const scene = new Scene(await openStoreOf(), filter);
          await scene.begin();
          for (const step of history) await scene.take(step);
          const matching = await scene.finish();

          for (const reader of [scene.reader, scene.watcher]) expectEveryEventOnce(reader.told, matching);
        }),
        runs(name, 100),
      );
    },
  );
});
