import { types } from "node:util";
import { invalid, LedgerError } from "./errors.js";

/** Refuses anything but an object, members that nobody reads (a misspelt option must not be ignored), and members that are
 *  computed: each look at them could show something else. */
export function checkMembers(value: unknown, path: string, names: readonly string[]): void {
  checkObject(value, path, "an object");
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) throw invalid(path, `an object with no members but ${names.join(", ")}`, name);
    if (Object.getOwnPropertyDescriptor(value, name)?.get !== undefined)
      throw new LedgerError("INVALID_ARGUMENT", `${path}.${name} must be a value, found a getter`, {
        details: { path: `${path}.${name}`, expected: "a value", found: "a getter" },
      });
  }
}

/** Refuses anything but an object that runs no code when it is looked at. */
export function checkObject(value: unknown, path: string, expected: string): asserts value is object {
  if (typeof value !== "object" || value === null || types.isProxy(value) || Array.isArray(value))
    throw invalid(path, expected, value);
}

/** Is it a list that runs no code when its length is looked at? `Array.isArray` alone throws at a Proxy that was revoked. */
export function isList(value: unknown): value is readonly unknown[] {
  return !types.isProxy(value) && Array.isArray(value);
}

/** Refuses what is neither absent nor a boolean. */
export function checkBoolean(value: unknown, path: string): void {
  if (value !== undefined && typeof value !== "boolean") throw invalid(path, "true or false", value);
}

/** Refuses what is neither absent nor a signal to listen to. By its members, for hosts may have signals of another realm. */
export function checkSignal(value: unknown, path: string): void {
  if (value === undefined) return;
  const { aborted, addEventListener, removeEventListener } =
    typeof value === "object" && value !== null && !types.isProxy(value) ? (value as Partial<AbortSignal>) : {};
  if (
    typeof aborted !== "boolean" ||
    typeof addEventListener !== "function" ||
    typeof removeEventListener !== "function"
  )
    throw invalid(path, "an AbortSignal", value);
}

/** Parses a whole number within bounds. */
export function parseInteger(value: unknown, path: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
    throw invalid(path, `a whole number from ${min} to ${max === Number.MAX_SAFE_INTEGER ? "2^53−1" : max}`, value);
  }
  return value;
}
