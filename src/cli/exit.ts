/** How the command ends. Scripts and CI live by these numbers: they are added to and never changed. */
import { LedgerError } from "../kernel/errors.js";
import type { LedgerErrorCode } from "../kernel/errors.js";

export const exitCodes = {
  /** Done, and what was checked is in order. */
  done: 0,
  /** Something is wrong with the evidence, or the command was refused. */
  wrong: 1,
  /** The command line is not one. */
  usage: 2,
  /** Cannot decide: unknown format, unreadable, missing, nothing to check. */
  undecided: 3,
  /** In order by itself, and not anchored, as `--require-anchor` asked. */
  unanchored: 4,
  /** A bug in runledger. */
  bug: 70,
  /** The run was taken away by another owner. */
  lost: 75,
  /** The reader of the output went away. */
  readerGone: 141,
} as const;

/** The command line is not one; ends with 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Whoever read the output has closed it; ends quietly with 141. */
export class ReaderGone extends Error {
  override readonly name = "ReaderGone";
}

/** The output could not be written, by a full disk for one; ends with 1. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";
}

/** Codes after which nothing is known of the evidence, good or bad. */
const alwaysUndecided: ReadonlySet<string> = new Set<LedgerErrorCode>([
  "NOT_FOUND",
  "STORE_FOREIGN",
  "STORE_UNSAFE_PATH",
  "STORE_UNAVAILABLE",
  "STORE_UNSUPPORTED",
  "ACCESS_DENIED",
  "SCHEMA_UNKNOWN",
  "KEY_REQUIRED",
  "KEY_UNSAFE",
]);

/** Codes that refuse a write, and keep a reader from seeing anything. */
const undecidedWhenReading: ReadonlySet<string> = new Set<LedgerErrorCode>([
  "STORE_BUSY",
  "STORE_FULL",
  "RESOURCES_EXHAUSTED",
]);

/** The exit code of an error, of a verb that writes or of one that only reads. */
export function exitCodeOf(error: unknown, writes: boolean): number {
  if (error instanceof ReaderGone) return exitCodes.readerGone;
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof OutputFailed) return exitCodes.wrong;
  if (!(error instanceof LedgerError)) return exitCodes.bug;
  if (error.code === "FENCED") return exitCodes.lost;
  const undecided = alwaysUndecided.has(error.code) || (!writes && undecidedWhenReading.has(error.code));
  return undecided ? exitCodes.undecided : exitCodes.wrong;
}
