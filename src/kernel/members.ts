import { types } from "node:util";
import { invalid } from "./errors.js";

/** Refuses anything but an object, and members that nobody reads: a misspelt option must not be ignored. */
export function checkMembers(value: unknown, path: string, names: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "an object", value);
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) throw invalid(path, `an object with no members but ${names.join(", ")}`, name);
  }
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
