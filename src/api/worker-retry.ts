/** What becomes of what failed: when it is tried again, and what is recorded of why. Pure: chance comes in. */
import { types } from "node:util";
import { LedgerError } from "../kernel/errors.js";
import { checkMembers, parseInteger } from "../kernel/members.js";

/** What becomes of an item whose handler threw: it waits for `baseMs`, twice as long after each further failure, at most `maxMs`;
 *  of that a random part of up to a half is left out, so that what failed together does not come back together. @public */
export interface RetryOptions {
  /** 1 ms to 24 h. Default 1,000. */
  readonly baseMs?: number;
  /** 1 ms to 24 h. Default 300,000. */
  readonly maxMs?: number;
  /** How often it is tried again; behind that it is dead, until somebody requeues it. Default 10. */
  readonly failuresMax?: number;
}

export type RetryPlan = Required<RetryOptions>;

const dayMs = 24 * 60 * 60 * 1000;
const codePattern = /^[A-Z][A-Z0-9_]{0,63}$/;
const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

export function parseRetry(options: RetryOptions, path: string): RetryPlan {
  checkMembers(options, path, ["baseMs", "maxMs", "failuresMax"]);
  const { baseMs = 1_000, maxMs = 300_000, failuresMax = 10 } = options;
  return {
    baseMs: parseInteger(baseMs, `${path}.baseMs`, 1, dayMs),
    maxMs: parseInteger(maxMs, `${path}.maxMs`, 1, dayMs),
    failuresMax: parseInteger(failuresMax, `${path}.failuresMax`, 0),
  };
}

/** How long to wait after so many failures before this one; `chance` is from 0 to below 1. */
export function backoffMs(
  { baseMs, maxMs }: Pick<RetryPlan, "baseMs" | "maxMs">,
  failures: number,
  chance: number,
): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 52));
  return Math.ceil(full * (1 - chance / 2));
}

/** What is recorded of an error: its code or its name. Its message is for the hook alone, for a reason is not erasable. */
export function reasonOf(error: unknown): string {
  try {
    if (isError(error)) {
      const { code } = error as { readonly code?: unknown };
      if (typeof code === "string" && codePattern.test(code)) return code;
      if (namePattern.test(error.name)) return error.name;
    }
  } catch {
    // It runs code when it is looked at.
  }
  return "failed";
}

/** Is it an error? Not by `isNativeError`, which does not know those of platforms. */
export function isError(error: unknown): error is Error {
  return isMadeBy(Error, error);
}

/** Was it refused because of the claim? */
export function isFenced(error: unknown): error is LedgerError {
  return isLedgerError(error) && error.code === "FENCED";
}

/** Were its arguments refused, before anything was tried? */
export function isRefusedArgument(error: unknown): boolean {
  return isLedgerError(error) && (error.code === "INVALID_ARGUMENT" || error.code === "LIMIT_EXCEEDED");
}

/** Would the same be refused again? */
export function isFinal(error: unknown): boolean {
  return isLedgerError(error) && finalCodes.has(error.code);
}

/** May it have been written although it failed? */
export function isInDoubt(error: unknown): boolean {
  return !isLedgerError(error) || error.code === "STORE_IN_DOUBT";
}

function isLedgerError(error: unknown): error is LedgerError {
  return isMadeBy(LedgerError, error);
}

/** False where the question itself throws: a prototype may be a Proxy. */
function isMadeBy(kind: typeof Error | typeof LedgerError, error: unknown): boolean {
  try {
    return !types.isProxy(error) && error instanceof kind;
  } catch {
    return false;
  }
}

const finalCodes: ReadonlySet<string> = new Set([
  "FENCED",
  "INVALID_ARGUMENT",
  "LIMIT_EXCEEDED",
  "NOT_FOUND",
  "READ_ONLY",
  "CLOSED",
]);
