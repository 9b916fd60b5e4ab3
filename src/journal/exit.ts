/** How a process ended: by itself with a code, or by a signal. A fact of runs and attempts alike. */
import { invalid } from "../kernel/errors.js";
import { checkMembers, parseInteger } from "../kernel/members.js";

/** `code`: 0 to 255, as the process said it. `signal`: what ended it, such as `SIGTERM`. @public */
export type Exit = { readonly code: number } | { readonly signal: string };

const codeMax = 255;
const signalPattern = /^SIG[A-Z][A-Z0-9+-]{0,15}$/;

/** Reads an exit. */
export function parseExit(value: unknown, path: string): Exit {
  checkMembers(value, path, ["code", "signal"]);
  const { code, signal } = value as { readonly [name: string]: unknown }; // just seen
  if ((code === undefined) === (signal === undefined))
    throw invalid(path, "either { code } or { signal }", code === undefined ? "neither" : "both");
  if (signal === undefined) return { code: parseInteger(code, `${path}.code`, 0, codeMax) };
  if (typeof signal !== "string" || !signalPattern.test(signal))
    throw invalid(`${path}.signal`, "the name of a signal, such as SIGTERM", signal);
  return { signal };
}

/** Do they say the same? Null: nothing is said. */
export function sameExit(one: Exit | null, other: Exit | null): boolean {
  if (one === null || other === null) return one === other;
  if ("code" in one) return "code" in other && one.code === other.code;
  return "signal" in other && one.signal === other.signal;
}
