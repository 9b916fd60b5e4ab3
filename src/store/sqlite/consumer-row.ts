import type { Claim } from "../../kernel/claim.js";
import { LedgerError } from "../../kernel/errors.js";
import type { ConsumerRow } from "../../journal/store.js";

/** A consumer as the statements select it. */
export type ConsumerColumns = [
  name: string,
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
  const parsed = claim === null ? null : parseClaim(claim);
  if (parsed === undefined)
    throw new LedgerError("STORE_DAMAGED", `the claim of consumer ${JSON.stringify(name)} in ${path} cannot be read`, {
      details: { path, consumer: name },
      hint: "run `runledger verify` on it, then reset the consumer",
    });
  return { name, position, id: id === "" ? null : id, incarnation, generation, claim: parsed };
}

/** The claim; undefined when the text is not one. */
function parseClaim(text: string): Claim | undefined {
  try {
    const { holder, generation, tokenHash, acquiredAt, expiresAt } = JSON.parse(text) as Record<keyof Claim, unknown>;
    const strings = typeof holder === "string" && typeof tokenHash === "string";
    const numbers = typeof generation === "number" && typeof acquiredAt === "number" && typeof expiresAt === "number";
    return strings && numbers ? { holder, generation, tokenHash, acquiredAt, expiresAt } : undefined;
  } catch {
    return undefined; // no JSON, or none with members
  }
}
