/** Checkpoints over generated histories: whoever appends, signs, changes keys and breaks off in between, what was signed is
 *  the journal's, by the keys whose turn it was, and everything else was refused. The model knows the turns and no tree. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { verifyConsistency } from "../../src/forensic/index.js";
import { openLedger } from "../../src/index.js";
import type { LedgerCheckpoint, Store } from "../../src/index.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { LedgerError } from "../../src/kernel/errors.js";
import { openNote, rootOf } from "../journal/second-implementation.js";
import { describeStores, runsOn } from "./fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const origin = "example.com/orders";
const keys = [1, 2, 3].map((seed) => formatSignerKey(origin, Buffer.alloc(32, seed)));
const verifiers = keys.map((key) => parseSignerKey(key, "key").verifier.text);

type Step =
  | { readonly act: "append"; readonly events: number }
  /** With a key or none; of all entries, or of as many as the share says. */
  | { readonly act: "checkpoint"; readonly key: number | null; readonly share: number | null }
  /** Opened with one key, or none, to another; broken off before its checkpoint is kept, or not. */
  | { readonly act: "change"; readonly key: number | null; readonly to: number; readonly broken: boolean };

const key = fc.integer({ min: 0, max: keys.length - 1 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      act: fc.constant("append" as const),
      events: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(256)),
    }),
    fc.record({
      act: fc.constant("checkpoint" as const),
      key: fc.option(key, { freq: 6 }),
      share: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    fc.record({ act: fc.constant("change" as const), key: fc.option(key, { freq: 6 }), to: key, broken: fc.boolean() }),
  ),
  { minLength: 3, maxLength: 20 },
);

/** Who must sign a size, and what was kept. */
class Turns {
  readonly kept = new Map<number, LedgerCheckpoint>();
  private readonly epochs: { readonly since: number; readonly key: number | null }[];

  constructor(first: number | null) {
    this.epochs = [{ since: 0, key: first }];
  }

  get current(): number | null {
    return this.epochs.at(-1)!.key;
  }

  change(since: number, to: number): void {
    this.epochs.push({ since, key: to });
  }

  /** The keys that must sign a size; none where the journal names none. */
  of(size: number): number[] {
    const at = this.epochs.findLastIndex(({ since }) => since < size);
    const [before, now] = [this.epochs[at - 1]?.key ?? null, this.epochs[at]!];
    if (now.key === null) return [];
    const ended = [...this.kept.keys()].some((kept) => kept > now.since && kept < size);
    return before === null || before === now.key || ended ? [now.key] : [now.key, before];
  }

  /** May it be signed by whoever has these keys? What was kept with all signatures needs none. */
  allows(size: number, given: readonly number[]): boolean {
    const needed = this.of(size);
    if (needed.length === 0) return given.length === 0 || this.current !== null || this.kept.has(size);
    return this.kept.has(size) || needed.every((each) => given.includes(each));
  }
}

const refused = async (act: Promise<LedgerCheckpoint>): Promise<LedgerCheckpoint | "KEY_REQUIRED" | "broken"> =>
  act.catch((error: unknown) => {
    if (error instanceof LedgerError && error.code === "KEY_REQUIRED") return "KEY_REQUIRED";
    if (error instanceof Error && error.message === "broken off") return "broken";
    throw error;
  });

/** Lets nobody keep a checkpoint. */
function broken(store: Store): Store {
  const begin = async (): ReturnType<Store["begin"]> => {
    const transaction = await store.begin();
    transaction.putCheckpoint = () => Promise.reject(new Error("broken off"));
    return transaction;
  };
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = name === "begin" ? begin : Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

async function play(store: Store, first: number | null, history: readonly Step[]): Promise<void> {
  const open = (signer: number | null, on: Store = store): ReturnType<typeof openLedger> =>
    openLedger(on, signer === null ? { origin } : { key: keys[signer]! });
  const turns = new Turns(first);
  const made: LedgerCheckpoint[] = [];
  let size = 1;
  await (await open(first)).close();
  for (const step of history) {
    if (step.act === "append") {
      const ledger = await open(null);
      await ledger.append(
        "order/1",
        Array.from({ length: step.events }, () => ({ type: "order.moved" })),
      );
      size += step.events;
      await ledger.close();
      continue;
    }
    const given = step.key === null ? [] : [step.key];
    if (step.act === "checkpoint") {
      const ledger = await open(step.key);
      const wanted = step.share === null ? size : 1 + Math.floor(step.share * (size - 1));
      const result = await refused(ledger.checkpoint(step.share === null ? {} : { size: wanted }));
      expect(result === "KEY_REQUIRED").toBe(!turns.allows(wanted, given));
      if (typeof result !== "string") made.push(keep(turns, result));
      await ledger.close();
      continue;
    }
    const ledger = await open(step.key, step.broken ? broken(store) : store);
    const both = [...given, step.to];
    const result = await refused(ledger.changeKey(keys[step.to]!));
    const events = (await ledger.status()).size;
    if (events > size) {
      // What cannot be signed is not begun.
      expect(turns.current === null || both.includes(turns.current)).toBe(true);
      // An earlier change that was broken off comes to its end before.
      if (turns.of(size).length === 2 && !turns.kept.has(size)) {
        const [ended] = await ledger.checkpoints({ sizeMax: size, limit: 1 });
        expect(ended?.size).toBe(size);
        made.push(keep(turns, ended!));
      }
      turns.change(size, step.to);
    }
    size = events;
    if (typeof result !== "string") made.push(keep(turns, result));
    else if (result === "broken") expect(step.broken).toBe(true);
    else expect(turns.allows(size, both) && turns.current === step.to).toBe(false);
    await ledger.close();
  }
  await check(store, turns, made);
}

/** The signatures are those of whose turn it was before this one was kept. */
function keep(turns: Turns, checkpoint: LedgerCheckpoint): LedgerCheckpoint {
  const { size, note, signed } = checkpoint;
  const before = turns.kept.get(size);
  if (before !== undefined) expect(note).toBe(before.note);
  expect(signed).toBe(turns.of(size).length > 0);
  for (const each of turns.of(size)) expect(openNote(note, verifiers[each]!)).toMatchObject({ origin, size });
  turns.kept.set(size, checkpoint);
  return checkpoint;
}

async function check(store: Store, turns: Turns, made: readonly LedgerCheckpoint[]): Promise<void> {
  const ledger = await openLedger(store);
  const leaves = (await ledger.read().toArray()).map(({ id }) => Buffer.from(id, "hex"));
  for (const [at, { size, root }] of made.entries()) {
    expect(rootOf(leaves.slice(0, size)).equals(root)).toBe(true);
    const other = made[(at * 7 + 3) % made.length]!;
    const [less, more] = size < other.size ? [made[at]!, other] : [other, made[at]!];
    const { proof } = await ledger.consistency(less.size, more.size);
    verifyConsistency({ size1: less.size, root1: less.root, size2: more.size, root2: more.root, proof });
  }
  expect((await ledger.checkpoints()).map(({ size }) => size)).toEqual([...turns.kept.keys()].sort((a, b) => b - a));
  const { findings } = await ledger.verify({ from: made.map(({ note }) => note) });
  expect(findings).toEqual([]);
  await ledger.close();
}

describeStores("any history of checkpoints and keys", (_, openStoreOf, name) => {
  test("signs what the journal is, by whose turn it is, and nothing else", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.option(key), steps, async (first, history) => play(await openStoreOf(), first, history)),
      { numRuns: runsOn(name, long ? 300 : 15) },
    );
  });
});
