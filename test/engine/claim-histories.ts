/** Histories of the run queue, made by the real engine: holders that crash, come late, present wrong fences or somebody else's,
 *  in single calls, lists and bursts, while clocks tick at every look and jump. */
import fc from "fast-check";
import {
  accept,
  defineCommand,
  defineEvents,
  hashToken,
  LedgerError,
  openLedger,
  queueCommands,
} from "../../src/index.js";
import type { Clock, Command, Fence, Ledger } from "../../src/index.js";
import type { EntryFields } from "../../src/journal/entry.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { appendRaw } from "./raw-append.js";

type Twist = "none" | "token" | "incarnation" | "later" | "earlier" | "key";
/** Which of the fences that were handed out so far, and what was made of it. */
interface Presented {
  readonly which: number;
  readonly twist: Twist;
}

type Verb = "note" | "renew" | "park" | "complete" | "release" | "requeue" | "cancel" | "claim" | "enqueue";

type Step =
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "jump"; readonly ms: number }
  | { readonly type: "restore" }
  | {
      readonly type: "enqueue";
      readonly run: string;
      readonly leaseMs: number | null;
      readonly fence: Presented | null;
    }
  | { readonly type: "claim"; readonly leaseMs: number; readonly fence: Presented | null }
  | {
      readonly type: "verb";
      readonly verb: Verb;
      readonly leaseMs: number;
      readonly fence: Presented;
      readonly id: boolean;
    }
  | { readonly type: "append"; readonly fence: Presented }
  | { readonly type: "ask"; readonly run: string; readonly cancel: boolean }
  | { readonly type: "list"; readonly verbs: readonly Verb[]; readonly fence: Presented | null; readonly id: boolean };

/** Bursts of steps; those of a burst are sent at once. */
export type History = readonly (readonly Step[])[];

const run = fc.constantFrom("a", "b", "c");
const leaseMs = fc.constantFrom(1, 5, 50, 400);
const fence: fc.Arbitrary<Presented> = fc.record({
  which: fc.nat(7),
  twist: fc.constantFrom<Twist>(
    "none",
    "none",
    "none",
    "none",
    "none",
    "token",
    "incarnation",
    "later",
    "earlier",
    "key",
  ),
});
const maybeFence = fc.option(fence, { nil: null, freq: 2 });
const verb = fc.constantFrom<Verb>(
  "note",
  "renew",
  "renew",
  "park",
  "complete",
  "release",
  "release",
  "release",
  "requeue",
  "cancel",
  "claim",
  "enqueue",
);
const of = <Type extends string>(type: Type): fc.Arbitrary<Type> => fc.constant(type);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: of("wait"), ms: fc.constantFrom(1, 3, 20, 60, 500) }) },
  { weight: 1, arbitrary: fc.record({ type: of("jump"), ms: fc.integer({ min: -1_000, max: 1_000 }) }) },
  { weight: 1, arbitrary: fc.record({ type: of("restore") }) },
  { weight: 5, arbitrary: fc.record({ type: of("enqueue"), run, leaseMs: fc.option(leaseMs), fence: maybeFence }) },
  { weight: 6, arbitrary: fc.record({ type: of("claim"), leaseMs, fence: maybeFence }) },
  { weight: 10, arbitrary: fc.record({ type: of("verb"), verb, leaseMs, fence, id: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ type: of("append"), fence }) },
  { weight: 3, arbitrary: fc.record({ type: of("ask"), run, cancel: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      type: of("list"),
      verbs: fc.array(verb, { minLength: 1, maxLength: 4 }),
      fence: maybeFence,
      id: fc.boolean(),
    }),
  },
);

export const histories: fc.Arbitrary<History> = fc.array(fc.array(anyStep, { minLength: 1, maxLength: 3 }), {
  minLength: 5,
  maxLength: 40,
});

const workEvents = defineEvents("work", { open: false }, { "work.noted": {} });
const note = defineCommand("work.note", {
  decide: () => accept([{ stream: "work/1", type: "work.noted" }], null),
});

/** A clock that goes on by what it is told each time that somebody looks at it. */
function tickingClock(ticks: readonly number[]): Clock & { advance(ms: number): void; jump(ms: number): void } {
  const clock = manualClock(1_000_000);
  let looks = 0;
  return {
    now() {
      clock.advance(ticks[looks++ % ticks.length] ?? 0);
      return clock.now();
    },
    monotonic: () => clock.monotonic(),
    advance: (ms) => clock.advance(ms),
    jump: (ms) => clock.set(clock.now() + ms),
  };
}

/** Runs a history on a memory store and answers what `body` makes of the ledger it left. */
export async function withHistory<Result>(
  history: History,
  ticks: readonly number[],
  body: (ledger: Ledger, entries: readonly EntryFields[]) => Promise<Result>,
): Promise<Result> {
  const store = createMemoryStore();
  const clock = tickingClock(ticks);
  const ledger = await openLedger(store, { clock, events: [workEvents], commands: [note], testing: {} });
  const world = new World(ledger);
  try {
    for (const burst of history) {
      if (burst.some(({ type }) => type === "restore")) await world.restore(store);
      await Promise.all(burst.map((each) => take(each, world, clock)));
    }
    const reader = await store.raw();
    const rows = await reader.entries(null, 1_000_000);
    await reader.close();
    return await body(
      ledger,
      rows.map(({ entry }) => JSON.parse(String(entry)) as EntryFields),
    );
  } finally {
    await ledger.close();
    await store.close();
  }
}

async function take(each: Step, world: World, clock: ReturnType<typeof tickingClock>): Promise<void> {
  if (each.type === "wait") return clock.advance(each.ms);
  if (each.type === "jump") return clock.jump(each.ms);
  if (each.type === "restore") return;
  try {
    await world.send(each);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code === "STORE_DAMAGED") throw error;
  }
}

class World {
  private readonly ledger: Ledger;
  private readonly fences: Fence[] = [];
  private incarnation = 1;
  private ids = 0;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  /** Writes what a restore would. */
  async restore(store: Parameters<typeof appendRaw>[0]): Promise<void> {
    this.incarnation++;
    const { size, head } = await this.ledger.status();
    const data = { incarnation: this.incarnation, size, head: head.id, manifestDigest: "0".repeat(64) };
    await appendRaw(store, "journal/main", "journal.restored", data);
  }

  async send(step: Exclude<Step, { readonly type: "wait" | "jump" | "restore" }>): Promise<unknown> {
    const { queue } = this.ledger;
    const options = this.options(step);
    switch (step.type) {
      case "enqueue": {
        const claim = step.leaseMs === null ? {} : { claim: { holder: "A", leaseMs: step.leaseMs } };
        return this.keep((await queue.enqueue({ runId: step.run, reclaimsMax: 3, ...claim }, options)).fence);
      }
      case "claim":
        return this.keep((await queue.claimNext({ holder: "B", leaseMs: step.leaseMs }, options))?.fence);
      case "append":
        return this.ledger.append("note/1", [{ type: "note.added" }, { type: "note.added" }], options);
      case "ask":
        return step.cancel ? queue.requestCancel(step.run, "asked for") : queue.requeue(step.run);
      case "verb":
        return this.ledger.execute(this.command(step.verb, step.leaseMs, options.fence), options);
      case "list":
        return this.ledger.execute(
          step.verbs.map((each) => this.command(each, 50, options.fence)),
          options,
        );
    }
  }

  private options(step: object): { readonly fence?: Fence; readonly id?: string } {
    const { fence: presented = null, id = false } = step as {
      readonly fence?: Presented | null;
      readonly id?: boolean;
    };
    const options = id ? { id: `id-${++this.ids}` } : {};
    const found = presented === null ? undefined : this.present(presented);
    return found === undefined ? options : { ...options, fence: found };
  }

  /** A recent fence, or what somebody makes of it. */
  private present({ which, twist }: Presented): Fence | undefined {
    const found = this.fences.at(-1 - which) ?? this.fences.at(-1);
    if (found === undefined) return undefined;
    switch (twist) {
      case "none":
        return found;
      case "token":
        return { ...found, token: "another token, not that one" };
      case "incarnation":
        return { ...found, incarnation: found.incarnation + 1 };
      case "later":
        return { ...found, generation: found.generation + 1 };
      case "earlier":
        return { ...found, generation: Math.max(1, found.generation - 1) };
      case "key":
        return { ...found, key: found.key === "queue/a" ? "queue/b" : "queue/a" };
    }
  }

  private command(verb_: Verb, lease: number, presented: Fence | undefined): Command {
    const runId = (presented?.key ?? "queue/a").slice("queue/".length);
    const wish = { holder: "C", leaseMs: lease, tokenHash: hashToken("the token of whoever sends lists") };
    switch (verb_) {
      case "note":
        return note();
      case "renew":
        return queueCommands.renew({ runId, leaseMs: lease });
      case "park":
        return queueCommands.park({ runId });
      case "complete":
        return queueCommands.complete({ runId });
      case "release":
        return queueCommands.release({ runId });
      case "requeue":
        return queueCommands.requeue({ runId, failuresMax: 1 });
      case "cancel":
        return queueCommands.requestCancel({ runId, reason: "no more" });
      case "claim":
        return queueCommands.claimNext(wish);
      case "enqueue":
        return queueCommands.enqueue({ runId: "d", claim: wish });
    }
  }

  private keep(fence_: Fence | null | undefined): void {
    if (fence_ !== null && fence_ !== undefined) this.fences.push(fence_);
  }
}

/** The tx of a journal, without its first entry, to be changed and hashed anew. */
export interface RawTx {
  readonly at: number;
  readonly events: readonly RawEvent[];
}

export function txsOf(entries: readonly EntryFields[]): RawTx[] {
  const txs: { at: number; events: RawEvent[] }[] = [];
  for (const { seq, at, tx, stream, type, tv, data, command, fence: mark } of entries.slice(1)) {
    if (tx[0] === seq) txs.push({ at, events: [] });
    const labels = { ...(command !== undefined && { command }), ...(mark !== undefined && { fence: mark }) };
    txs.at(-1)!.events.push({ stream, type, tv, data, ...labels });
  }
  return txs;
}

/** The journal of these tx, with hashes that fit. */
export function rebuilt(at: number, txs: readonly RawTx[]): RawJournal {
  const journal = new RawJournal(at, "testing/claims");
  for (const tx of txs) if (tx.events.length > 0) journal.append(tx.at, tx.events);
  return journal;
}
