import type { Claim } from "../kernel/claim.js";
import { isDigest } from "../kernel/digest.js";
import { describe, LedgerError } from "../kernel/errors.js";
import { generationMax, nameUnitsMax } from "../kernel/limits.js";
import { parseKey } from "../kernel/names.js";
import type { ConsumerRow } from "../journal/store.js";

/** A consumer as the statements select it. */
export type ConsumerColumns = [
  name: unknown,
  position: number,
  id: string,
  incarnation: number,
  generation: number,
  claim: string | null,
];

/** The values of `putConsumer`. */
export function consumerValues({ name, position, id, incarnation, generation, claim }: ConsumerRow): unknown[] {
  return [name, position, id, incarnation, generation, claim === null ? null : JSON.stringify(claim)];
}

export function toConsumer(
  [name, position, id, incarnation, generation, claim]: ConsumerColumns,
  path: string,
): ConsumerRow {
  // One changed byte of a row's header makes it a NULL or a number.
  if (typeof name !== "string") throw damaged(describe(name), path, "name");
  const parsed = claim === null ? null : parseClaim(claim);
  if (parsed === undefined) throw damaged(name, path, "claim");
  for (const [column, value, min, max] of [
    ["position", position, -1, Number.MAX_SAFE_INTEGER],
    ["incarnation", incarnation, 1, Number.MAX_SAFE_INTEGER],
    ["generation", generation, 0, generationMax],
  ] as const)
    if (!isWithin(value, min, max)) throw damaged(name, path, column);
  return { name, position, id: id === "" ? null : id, incarnation, generation, claim: parsed };
}

/** The claim; undefined when it is none, or no text. */
function parseClaim(text: string): Claim | undefined {
  try {
    const { holder, generation, tokenHash, acquiredAt, expiresAt } = JSON.parse(text) as Record<keyof Claim, unknown>;
    if (!isDigest(tokenHash) || !isWithin(generation, 1, generationMax)) return undefined;
    if (!isWithin(acquiredAt, 0) || !isWithin(expiresAt, 0)) return undefined;
    return { holder: parseKey(holder, "holder"), generation, tokenHash, acquiredAt, expiresAt };
  } catch {
    return undefined; // no JSON, none with members, or no holder
  }
}

/** A whole number within bounds: what is not was never written by this program, and would be reckoned with. */
function isWithin(value: unknown, min: number, max: number = Number.MAX_SAFE_INTEGER): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

function damaged(name: string, path: string, column: string): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `the ${column} of consumer ${JSON.stringify(name.slice(0, nameUnitsMax))} in ${path} cannot be read`,
    {
      details: { path, consumer: name, column },
      hint: "reset the consumer, or forget it: its place is no part of the journal",
    },
  );
}
