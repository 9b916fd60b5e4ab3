/** Callers who write what can be counted afterwards, and remember what they were told of each; and the judge of both. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { LedgerError, queueCommands } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";

/** What a caller was told of one wish. */
export interface Told {
  readonly wish: string;
  readonly outcome: "done" | "refused" | "in doubt";
  /** How many events it has. */
  readonly events: number;
}

/** A failed call may be refused with these while the network fails: for certain, or not. */
const certain: readonly string[] = ["STORE_UNAVAILABLE", "STORE_BUSY"];
const uncertain = "STORE_IN_DOUBT";

/** Asks for so many things, one behind another: appends of one event and of several, and commands with an id. */
export async function call(
  ledger: Ledger,
  name: string,
  wishes: number,
  chance: () => number,
  tell: (told: Told) => void,
  pauseMs = 0,
): Promise<void> {
  for (let n = 0; n < wishes; n++) {
    const wish = `${name}-${n}`;
    const kind = Math.floor(chance() * 3);
    const events = kind === 1 ? 3 : 1;
    const outcome = await outcomeOf(() => ask(ledger, wish, kind === 2 ? null : events, chance()));
    tell({ wish, events, outcome });
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

/** `events` null: a command. */
async function ask(ledger: Ledger, wish: string, events: number | null, chance: number): Promise<void> {
  if (events === null) {
    await ledger.execute(queueCommands.enqueue({ runId: wish }), { id: wish });
    return;
  }
  const list = Array.from({ length: events }, () => ({ type: "wish.granted", data: { wish } }));
  await ledger.append(`wish/${Math.floor(chance * 4)}`, list);
}

async function outcomeOf(doing: () => Promise<void>): Promise<Told["outcome"]> {
  try {
    await doing();
    return "done";
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    if (error.code === uncertain) return "in doubt";
    if (certain.includes(error.code)) return "refused";
    throw error;
  }
}

export interface Counts {
  readonly done: number;
  readonly refused: number;
  readonly inDoubt: number;
  /** Of those in doubt, how many were done. */
  readonly doubtsDone: number;
}

/** What was done is there once, what was refused is not, and what is in doubt is there once or not at all; as whole calls. */
export async function judge(told: readonly Told[], ledger: Ledger): Promise<Counts> {
  const found = new Map<string, { events: number; firsts: Set<number> }>();
  for await (const { type, stream, data, tx } of ledger.read()) {
    const wish =
      type === "queue.enqueued"
        ? stream.slice("queue/".length)
        : type === "wish.granted"
          ? (data["wish"] as string)
          : null;
    if (wish === null) continue;
    const each = found.get(wish) ?? { events: 0, firsts: new Set() };
    found.set(wish, each);
    each.events++;
    each.firsts.add(tx.first);
  }

  const wrong: string[] = [];
  let doubtsDone = 0;
  for (const { wish, outcome, events } of told) {
    const { events: there, firsts } = found.get(wish) ?? { events: 0, firsts: new Set() };
    found.delete(wish);
    const isWhole = there === events && firsts.size === 1;
    const isRight = outcome === "done" ? isWhole : outcome === "refused" ? there === 0 : there === 0 || isWhole;
    if (!isRight) wrong.push(`${wish}: ${outcome}, found ${there} of ${events} events in ${firsts.size} calls`);
    if (outcome === "in doubt" && there > 0) doubtsDone++;
  }
  expect(wrong).toEqual([]);
  expect([...found.keys()]).toEqual([]);
  const count = (outcome: Told["outcome"]): number => told.filter((each) => each.outcome === outcome).length;
  return { done: count("done"), refused: count("refused"), inDoubt: count("in doubt"), doubtsDone };
}
