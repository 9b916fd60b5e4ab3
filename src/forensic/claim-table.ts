/** What the entries so far say of each thing that was claimed, and whether a fence is that of its live claim.
 *  Memory: about 200 bytes for each key that was ever claimed, for a generation is never issued twice; entries that only use
 *  a claim take none. Which token somebody presented is not in the journal, and so not checked. */
import type { FenceMark } from "../journal/entry.js";

/** The last claim of a key. */
export interface KeyState {
  generation: number;
  /** Ms since the epoch; at this very moment the holder has lost. */
  expiresAt: number;
  /** The first position of the tx that ended it; null while it stands, expired or not. */
  endedIn: number | null;
  /** What was refused to fences of the key, as `<generation> <command>`; null: nothing. */
  refused: Set<string> | null;
}

/** The moment at which a fence is judged. */
export interface Moment {
  /** Engine time, ms. */
  readonly now: number;
  /** The first position of the tx. */
  readonly tx: number;
  /** That of the journal; null when it is not known. */
  readonly incarnation: number | null;
}

/** What an event may do under its fence. `behind`: be written in the tx that ended the claim, behind the end; a claim itself is
 *  kept or ended only while it stands. `late`: come after it has expired. */
export interface Leeway {
  readonly behind: boolean;
  readonly late: boolean;
}

export class ClaimTable {
  private readonly keys = new Map<string, KeyState>();

  /** Undefined: nobody ever claimed it. */
  get(key: string): KeyState | undefined {
    return this.keys.get(key);
  }

  /** The claim of a key that nobody let go of, live or not; null when there is none. */
  standing(key: string): KeyState | null {
    const state = this.keys.get(key);
    return state === undefined || state.endedIn !== null ? null : state;
  }

  take(key: string, { generation, expiresAt }: Pick<KeyState, "generation" | "expiresAt">): void {
    const state = this.keys.get(key);
    if (state === undefined) this.keys.set(key, { generation, expiresAt, endedIn: null, refused: null });
    else Object.assign(state, { generation, expiresAt, endedIn: null });
  }

  /** Why an event may not be written under this fence; null when it may. */
  refuse([key, incarnation, generation]: FenceMark, moment: Moment, { behind, late }: Leeway): string | null {
    const state = this.keys.get(key);
    if (state === undefined) return `nobody has claimed ${key}`;
    if (moment.incarnation !== null && incarnation !== moment.incarnation)
      return `the fence of ${key} is of incarnation ${incarnation}, the journal of ${moment.incarnation}`;
    if (generation > state.generation)
      return `generation ${generation} of ${key} was not issued: the last one is ${state.generation}`;
    if (generation < state.generation)
      return `generation ${generation} of ${key} is over: the last one is ${state.generation}`;
    const { endedIn, expiresAt } = state;
    if (endedIn !== null && !(behind && endedIn === moment.tx))
      return `the claim of ${key} of generation ${generation} was ended by the tx from #${endedIn}`;
    if (!late && expiresAt <= moment.now)
      return `the claim of ${key} of generation ${generation} was live until ${expiresAt}, and it was ${moment.now}`;
    return null;
  }
}
