/** The memory store made deliberately asynchronous: every call takes a while, locks are refused, commits fail, and some
 *  of them fail after they happened. Whatever runs on it must not lean on a store that answers at once or tells all.
 *  Invariant: one seed gives the same choices in the same order of calls. */
import type { Store } from "../journal/store.js";
import { createMemoryStore } from "../store/memory/store.js";
import { canStrike } from "./faults.js";
import type { Fault } from "./faults.js";
import { faultyStore } from "./faulty-store.js";
import { seededNumbers } from "./seeded.js";

/** How much trouble there is. Rates are from 0 to 1. @public */
export interface AsyncMemoryStoreOptions {
  /** The store underneath; default: a new memory store. */
  readonly store?: Store;
  /** The longest delay of a call, in ms. Most take one turn of the event loop or less. Default 2. */
  readonly delayMsMax?: number;
  /** How many `begin`s and commits are refused with `STORE_BUSY`, and how many scrubs with false, without having done
   *  anything. Default 0.1. */
  readonly busyRate?: number;
  /** How many commits happen and yet throw, as if the reply was lost. Default 0.05. */
  readonly lostReplyRate?: number;
}

/** A memory store that delays, refuses and loses replies as the seed says. @public */
export function asyncMemoryStore(seed: number, options: AsyncMemoryStoreOptions = {}): Store {
  const { store = createMemoryStore(), delayMsMax = 2, busyRate = 0.1, lostReplyRate = 0.05 } = options;
  const next = seededNumbers(seed);
  const delay = (): Fault | null => {
    const kind = next();
    return kind < 0.4 ? null : { slow: kind < 0.9 ? 0 : next() * delayMsMax };
  };
  return faultyStore(store, (point) => {
    const { step, moment } = point;
    if (canStrike("busy", point) && next() < busyRate) return "busy";
    if (step !== "commit") return delay();
    if (moment === "before") return next() < busyRate ? "conflict" : delay();
    if (next() < lostReplyRate) return next() < 0.5 ? "conflict" : "lostReply";
    return delay();
  });
}
