/** Draws from one seed: a place for each purpose, so that drawing more in one changes nothing in the others.
 *  Invariant: the same seed and the same order of calls give the same answers. */
import { createHash } from "node:crypto";
import { seededNumbers } from "../seeded.js";

export class Draw {
  private readonly seed: number;
  private readonly next: () => number;

  constructor(seed: number, purpose: string) {
    // Neighbouring seeds must not resemble each other.
    this.seed = createHash("sha256").update(`${seed} ${purpose}`).digest().readInt32LE();
    this.next = seededNumbers(this.seed);
  }

  /** Another source, for something else. */
  for(purpose: string): Draw {
    return new Draw(this.seed, purpose);
  }

  /** From 0 to below 1. */
  number(): number {
    return this.next();
  }

  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(rate: number): boolean {
    return this.next() < rate;
  }

  one<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.next() * values.length)]!;
  }

  /** One of the names, each as often as its weight says. */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name;
    return entries[0]![0];
  }

  /** A token that nobody else has. */
  token(): string {
    return `token ${this.integer(0, 2 ** 31)} ${this.integer(0, 2 ** 31)}`;
  }
}
