/** Judges the work on a run queue from outside: by the journal, in the order in which it stands there, and by what those who
 *  worked said of it. It asks the ledger for nothing but its events. */
import type { LedgerEvent } from "../../src/index.js";
import { refusedNamesMax } from "../../src/kernel/limits.js";
import type { Said } from "./fleet.js";

interface Item {
  generation: number;
  holder: string;
  expiresAt: number;
  /** The generation that completed it. */
  done: number | null;
  /** How many effects each generation had. */
  readonly effects: Map<number, number>;
  /** `<generation> <command>` of each refusal that was recorded. */
  readonly refused: Set<string>;
}

export interface Judgement {
  /** What is wrong: nothing. */
  readonly wrong: readonly string[];
  readonly done: number;
  readonly takeovers: number;
  readonly refusals: number;
  /** Effects of claims that were lost before the item was done. */
  readonly lostEffects: number;
}

export class QueueJudge {
  private readonly items = new Map<string, Item>();
  private readonly wrong: string[] = [];
  private takeovers = 0;

  /** The next event of the journal. */
  see(event: LedgerEvent): void {
    const wrong = this.wrongWith(event);
    if (wrong !== null) this.wrong.push(`${event.position} ${event.type} ${event.stream}: ${wrong}`);
  }

  /** What was said must be true, and everything must be done. */
  judge(said: readonly Said[]): Judgement {
    const announced = new Set<string>();
    for (const each of said) {
      if (each.what === "completing") announced.add(`${each.key} ${each.generation} ${each.by}`);
      const wrong = this.wrongWithSaid(each);
      if (wrong !== null) this.wrong.push(`${JSON.stringify(each)}: ${wrong}`);
    }
    let lostEffects = 0;
    for (const [key, { done, holder, effects }] of this.items) {
      if (done === null) this.wrong.push(`${key} is not done`);
      else if (!announced.has(`${key} ${done} ${holder}`)) this.wrong.push(`${key} was done by nobody who said so`);
      lostEffects += effects.size - 1;
    }
    const { wrong, takeovers } = this;
    const items = [...this.items.values()];
    const refusals = items.reduce((sum, { refused }) => sum + refused.size, 0);
    return { wrong, done: items.filter(({ done }) => done !== null).length, takeovers, refusals, lostEffects };
  }

  private wrongWith({ type, stream, at, data, fence }: LedgerEvent): string | null {
    if (type === "queue.enqueued") {
      if (this.items.has(stream)) return "a second time";
      const [effects, refused] = [new Map<number, number>(), new Set<string>()];
      this.items.set(stream, { generation: 0, holder: "", expiresAt: 0, done: null, effects, refused });
      return null;
    }
    if (type === "fence.refused") return this.refused(data as unknown as Refused);
    if (type === "queue.claimed") return this.claimed(this.items.get(stream), at, data as unknown as Claimed);
    if (fence === undefined) return type.startsWith("journal.") || type.startsWith("area.") ? null : "no fence";
    const [key, , generation] = fence;
    const item = this.items.get(key);
    if (item === undefined) return "an unknown claim";
    if (item.done !== null) return "behind its completion";
    if (generation !== item.generation) return `generation ${generation}, held is ${item.generation}`;
    if (at >= item.expiresAt) return `at ${at}, its claim was over at ${item.expiresAt}`;
    const effects = item.effects.get(generation) ?? 0;
    switch (type) {
      case "queue.renewed":
        item.expiresAt = data["expiresAt"] as number;
        return null;
      case "effect.made":
        item.effects.set(generation, effects + 1);
        return effects === 0 ? null : "a second effect of one claim";
      case "queue.completed":
        item.done = generation;
        return effects === 1 ? null : `with ${effects} effects`;
      default:
        return "nobody does that here";
    }
  }

  private claimed(item: Item | undefined, at: number, { claim }: Claimed): string | null {
    if (item === undefined) return "an unknown item";
    const { generation, expiresAt, done } = item;
    item.generation = claim.generation;
    item.holder = claim.holder;
    item.expiresAt = claim.expiresAt;
    if (claim.superseded !== null) this.takeovers++;
    if (done !== null) return "behind its completion";
    if (claim.generation !== generation + 1) return `generation ${claim.generation} behind ${generation}`;
    if (at < expiresAt) return `at ${at}, the claim before it is live until ${expiresAt}`;
    // Nobody gives anything back here.
    if (claim.superseded !== (generation === 0 ? null : generation)) return `superseded ${claim.superseded}`;
    return null;
  }

  private refused({ key, generation, command }: Refused): string | null {
    const item = this.items.get(key);
    if (item === undefined) return "an unknown claim";
    const name = `${generation} ${command}`;
    if (item.refused.has(name)) return `a second time: ${name}`;
    item.refused.add(name);
    return generation <= item.generation ? null : "a generation that was never issued";
  }

  private wrongWithSaid({ what, key, generation, doing }: Said): string | null {
    const item = this.items.get(key);
    if (item === undefined || generation > item.generation) return "a claim that is not in the journal";
    switch (what) {
      case "done":
        return item.done === generation ? null : `it was done under ${item.done}`;
      case "fenced":
        if (item.done === generation) return "it was done under this claim";
        if (item.refused.has(`${generation} ${doing}`) || item.refused.size === refusedNamesMax) return null;
        return "the refusal was not recorded";
      default:
        return null;
    }
  }
}

interface Claimed {
  readonly claim: {
    readonly generation: number;
    readonly holder: string;
    readonly expiresAt: number;
    readonly superseded: number | null;
  };
}

interface Refused {
  readonly key: string;
  readonly generation: number;
  readonly command: string;
}
