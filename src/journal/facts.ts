/** Checks the facts of the engine's own events when they are written: those that are expected, and no others. What is wrong
 *  with them is a fault of the command that made them, and is refused before it is in the journal for good. */
import { invalid } from "../kernel/errors.js";
import { isDigest } from "../kernel/digest.js";
import { generationMax, timeMsMax } from "../kernel/limits.js";
import { checkMembers, parseInteger } from "../kernel/members.js";
import { parseLabel } from "../kernel/names.js";

/** Throws what is wrong with one fact. */
export type FactCheck = (value: unknown, path: string) => unknown;

/** The `parse` of an event type: `optional` may be absent. */
export function factsOf(
  type: string,
  required: Readonly<Record<string, FactCheck>>,
  optional: Readonly<Record<string, FactCheck>> = {},
): (data: unknown) => object {
  const names = [...Object.keys(required), ...Object.keys(optional)];
  return (data) => {
    checkMembers(data, type, names);
    const facts = data as Readonly<Record<string, unknown>>; // an object, just seen
    for (const [name, check] of Object.entries(required)) check(facts[name], `${type} ${name}`);
    for (const [name, check] of Object.entries(optional))
      if (facts[name] !== undefined) check(facts[name], `${type} ${name}`);
    return facts;
  };
}

/** A `ClaimTaken`. */
export function checkClaimTaken(value: unknown, path: string): void {
  checkMembers(value, path, ["holder", "generation", "tokenHash", "expiresAt", "superseded"]);
  const { holder, generation, tokenHash, expiresAt, superseded } = value as Readonly<Record<string, unknown>>; // just seen
  parseLabel(holder, `${path}.holder`);
  const taken = parseInteger(generation, `${path}.generation`, 1, generationMax);
  if (!isDigest(tokenHash)) throw invalid(`${path}.tokenHash`, "the SHA-256 of a token", tokenHash);
  checkTime(expiresAt, `${path}.expiresAt`);
  // Nothing is issued between the claim that expired and the one that takes it over.
  if (superseded !== null) parseInteger(superseded, `${path}.superseded`, taken - 1, taken - 1);
}

/** Ms since the epoch. */
export function checkTime(value: unknown, path: string): void {
  parseInteger(value, path, 0, timeMsMax);
}

/** What may be null. */
export function nullOr(check: FactCheck): FactCheck {
  return (value, path) => (value === null ? value : check(value, path));
}

/** One of a few words. */
export function oneOf(words: readonly string[]): FactCheck {
  return (value, path) => {
    if (!(words as readonly unknown[]).includes(value)) throw invalid(path, `one of ${words.join(", ")}`, value);
  };
}
