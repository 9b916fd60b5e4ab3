/** The law of a ledger on a store that has bad luck: crashes, full disks, busy locks, conflicts and lost replies, drawn from
 *  one seed. Whatever befalls it: what was acknowledged is there, what was refused is not, nothing happened twice, and the
 *  documents are the fold of the events. Source: design rule 5, sections 6 and 9. */
import assert from "node:assert/strict";
import type { Command } from "../commands/define-command.js";
import type { LedgerEvent } from "../engine/types.js";
import { receiptType } from "../journal/events/receipt.js";
import type { Store } from "../journal/store.js";
import { LedgerError } from "../kernel/errors.js";
import { CommandWorld } from "./command-world.js";
import type { CommandArea, Outcome } from "./command-world.js";
import { seededFaults } from "./faults.js";
import type { FaultPlan, FaultRates } from "./faults.js";
import { faultyStore } from "./faulty-store.js";
import type { FaultyStore, StruckFault } from "./faulty-store.js";

const rates: FaultRates = { crash: 0.01, full: 0.01, busy: 0.05, conflict: 0.03, lostReply: 0.05, slow: 0.05 };

/** What a caller may be told, of a store that has bad luck. */
const failures: ReadonlySet<string> = new Set([
  "CLOSED",
  "STORE_FULL",
  "STORE_BUSY",
  "STORE_UNAVAILABLE",
  "STORE_IN_DOUBT",
]);

/** Sends commands with and without ids, and appends, by threes; sends again what has an id. Answers what struck. */
export async function checkCrashes(
  area: CommandArea,
  wishes: readonly Command[],
  seed: number,
  plan: FaultPlan = seededFaults(seed, rates),
): Promise<readonly StruckFault[]> {
  const luck = new Luck(plan);
  return CommandWorld.in(area, (world) => new Ordeal(world, luck).run(wishes), {
    front: (store) => luck.front(store),
    busyTimeoutMs: 50,
  });
}

/** The store in front, good or bad. */
class Luck {
  private readonly plan: FaultPlan;
  private isBad = false;
  private store: FaultyStore | null = null;

  constructor(plan: FaultPlan) {
    this.plan = plan;
  }

  front(store: Store): Store {
    return (this.store ??= faultyStore(store, (point) => (this.isBad ? this.plan(point) : null)));
  }

  get crashed(): boolean {
    return this.store?.crashed ?? false;
  }

  get struck(): readonly StruckFault[] {
    return this.store?.struck ?? [];
  }

  turn(isBad: boolean): void {
    this.isBad = isBad;
  }

  async restart(): Promise<void> {
    this.store = (await this.store?.restart()) ?? null;
  }
}

/** Something that was sent, and what is known of it. */
interface Sent {
  readonly send: (world: CommandWorld) => Promise<Outcome>;
  readonly id: string | null;
  /** What it was answered for good; null before that. */
  outcome: Outcome | null;
  isInDoubt: boolean;
}

class Ordeal {
  private readonly world: CommandWorld;
  private readonly luck: Luck;
  private readonly all: Sent[] = [];

  constructor(world: CommandWorld, luck: Luck) {
    this.world = world;
    this.luck = luck;
  }

  async run(wishes: readonly Command[]): Promise<readonly StruckFault[]> {
    this.luck.turn(true);
    for (let at = 0; at < wishes.length; at += 3) {
      await Promise.all(wishes.slice(at, at + 3).map((wish, index) => this.trySend(this.newly(wish, at + index))));
      await Promise.all(
        this.all.filter(({ id }, index) => id !== null && (index + at) % 4 === 0).map((sent) => this.trySend(sent)),
      );
      if (this.luck.crashed) await this.revive();
      this.world.clock.advance(1_000);
    }
    this.luck.turn(false);
    await this.revive();
    for (const sent of this.all) if (sent.id !== null) await this.trySend(sent);
    await this.check();
    return this.luck.struck;
  }

  private newly(wish: Command, index: number): Sent {
    const id = index % 3 === 0 ? null : `id ${index}`;
    const send =
      index % 5 === 4
        ? (world: CommandWorld) => world.append("testing/1", [{ type: "testing.happened", data: { index } }])
        : (world: CommandWorld) => world.execute(wish, id === null ? {} : { id });
    const sent: Sent = { send, id: index % 5 === 4 ? null : id, outcome: null, isInDoubt: false };
    this.all.push(sent);
    return sent;
  }

  private async trySend(sent: Sent): Promise<void> {
    try {
      const outcome = await sent.send(this.world);
      if (sent.outcome !== null) assert.equal(outcome.said, sent.outcome.said, "sent again, it answered otherwise");
      sent.isInDoubt = false;
      if (this.isKept(outcome)) sent.outcome = outcome;
    } catch (error) {
      if (!(error instanceof LedgerError) || !failures.has(error.code)) throw error;
      if (error.code === "STORE_IN_DOUBT") sent.isInDoubt = true;
    }
  }

  /** A refusal for the moment leaves no receipt: the same id tries again, and may be accepted. */
  private isKept({ adopted, refusal }: Outcome): boolean {
    return refusal === null || adopted || !this.world.guarded.transientCodes.has(refusal.code);
  }

  private async revive(): Promise<void> {
    for (;;) {
      await this.luck.restart();
      try {
        await this.world.restart();
        return;
      } catch (error) {
        if (!(error instanceof LedgerError) || !failures.has(error.code)) throw error;
      }
    }
  }

  private async check(): Promise<void> {
    const { world } = this;
    const events = await world.ledger.read({ from: 1 }).toArray();
    const known = new Set(this.all.flatMap(({ outcome }) => outcome?.ids ?? []));
    const stored = new Set(events.map(({ id }) => id));
    assert.deepEqual(
      [...known].filter((id) => !stored.has(id)),
      [],
      "what was acknowledged is not there",
    );
    const doubtful = this.all.filter(({ outcome, isInDoubt }) => outcome === null && isInDoubt).length;
    const unknown = txsOf(events).filter((tx) => !tx.some(({ id, type }) => known.has(id) || type === receiptType));
    assert.ok(unknown.length <= doubtful, `${unknown.length} events nobody was told of, ${doubtful} in doubt`);
    const receipts = events
      .filter(({ type }) => type === receiptType)
      .map(({ stream, data }) => `${stream} ${JSON.stringify(data["id"])}`);
    assert.deepEqual(receipts, [...new Set(receipts)], "an id has more than one receipt");
    await world.expectFolded();
  }
}

function txsOf(events: readonly LedgerEvent[]): readonly (readonly LedgerEvent[])[] {
  return [...new Set(events.map(({ tx }) => tx.first))].map((first) => events.filter(({ tx }) => tx.first === first));
}
