import { LedgerError } from "../../src/kernel/errors.js";

/** The coded refusal that an act ends in; anything else, an error without a code above all, fails the test. */
export function refusalOf(act: () => unknown): LedgerError {
  let result: unknown;
  try {
    result = act();
  } catch (cause) {
    if (cause instanceof LedgerError) return cause;
    throw new Error("it must be refused with a code, and threw something else", { cause });
  }
  throw new Error(
    `it must be refused, and returned ${typeof result === "string" ? result.slice(0, 100) : typeof result}`,
  );
}
