/** Exit codes as shells have them. */
import { constants } from "node:os";

/** How a process ended, as the ledger records it: with a code, or by a signal. */
export type Exit = { readonly code: number } | { readonly signal: string };

/** 128 and the number of the signal, for what a signal ended. */
export function exitCodeOfSignal(signal: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[signal] ?? 0);
}

export function exitCodeOfExit(exit: Exit): number {
  return "code" in exit ? exit.code : exitCodeOfSignal(exit.signal);
}

export function sayExit(exit: Exit): string {
  return "code" in exit ? `exit code ${exit.code}` : exit.signal;
}
