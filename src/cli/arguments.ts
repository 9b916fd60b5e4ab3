/** What all verbs share of the command line: common options and the checks of single arguments. */
import { LedgerError } from "../index.js";
import { mayBeKey } from "../engine/keys.js";
import { listLimitDefault } from "../kernel/limits.js";
import { UsageError } from "./exit.js";
import { parseIsoTime } from "./selector.js";
import type { Terminal } from "./terminal.js";

/** What a verb works with. It ends with `exitCode`, or throws. */
export interface CommandLine {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  exitCode: number;
  /** Has the verb set out to write? */
  writes: boolean;
}

/** Options that every verb has. */
export interface CommonOptions {
  readonly ledger?: string;
  readonly json?: true;
}

export const ledgerOption = [
  "--ledger <file>",
  "the ledger, or postgres://… for one in PostgreSQL (default: $RUNLEDGER, or ./state.ledger)",
] as const;
export const jsonOption = ["--json", "one JSON object a line, with stable keys"] as const;

/** How many rows a list shows. */
export function limitOption(noun: string): [flags: string, says: string, parse: (text: string) => number] {
  return [
    "--limit <count>",
    `at most so many ${noun} (default: ${listLimitDefault})`,
    wholeNumber("--limit", 1, Number.MAX_SAFE_INTEGER),
  ];
}

/** A whole number within bounds. */
export function wholeNumber(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const bound = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new UsageError(`${name} must be a whole number ${bound}, found ${JSON.stringify(text)}`);
  };
}

/** One of a few words. */
export function oneOf<Word extends string>(name: string, words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    throw new UsageError(`${name} must be one of ${words.join(", ")}, found ${JSON.stringify(text)}`);
  };
}

/** A moment, as ms since the epoch. */
export function moment(name: string): (text: string) => number {
  return (text) => {
    const at = parseIsoTime(text);
    if (at !== null) return at;
    throw new UsageError(
      `${name} must be an ISO time such as 2026-03-01 or 2026-03-01T12:00:00Z, found ${JSON.stringify(text)}`,
    );
  };
}

/** The path of a file that holds a signer key. The key itself is not taken: a command line is seen by everybody. */
export function keyFile(name: string): (text: string) => string {
  return (text) => {
    if (text !== "" && !mayBeKey(text)) return text;
    throw new UsageError(
      `${name} must name a file that holds a signer key, found ${text === "" ? "nothing" : "a key"}`,
    );
  };
}

/** Whatever the library's own check lets through. */
export function checked(name: string, parse: (value: unknown, path: string) => string): (text: string) => string {
  return (text) => {
    try {
      return parse(text, name);
    } catch (error) {
      if (error instanceof LedgerError) throw new UsageError(error.message, error.hint);
      throw error;
    }
  };
}
