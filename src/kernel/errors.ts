/** The three kinds of trouble. A refusal by the rules or a failure of the world is a `LedgerError` with a stable code;
 *  a bug in the engine is an `InvariantError` that nobody catches.
 *  Invariant: codes are added freely and renamed never. */
import { types } from "node:util";

/** Every code that the engine gives a `LedgerError`. @public */
export type LedgerErrorCode =
  | "INVALID_ARGUMENT"
  | "LIMIT_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "REVISION_CONFLICT"
  | "ILLEGAL_TRANSITION"
  | "IDEMPOTENCY_CONFLICT"
  | "REQUEST_CONFLICT"
  | "SLOT_TAKEN"
  | "FENCED"
  | "ATTEMPT_CLOSED"
  | "CAPTURE_CLOSED"
  | "SEQUENCE_GAP"
  | "OWNER_ACTIVE"
  | "CONTENT_ERASED"
  | "CONTENT_MISSING"
  | "CONTENT_SHARED"
  | "REDACTION_FAILED"
  | "OVERLOADED"
  | "CLOCK_UNSURE"
  | "KEY_REQUIRED"
  | "KEY_UNSAFE"
  | "STORE_BUSY"
  | "STORE_FULL"
  | "STORE_FOREIGN"
  | "STORE_UNSAFE_PATH"
  | "STORE_DAMAGED"
  | "STORE_EXISTS"
  | "STORE_IN_DOUBT"
  | "STORE_ROLLED_BACK"
  | "STORE_UNAVAILABLE"
  | "STORE_UNSUPPORTED"
  | "ACCESS_DENIED"
  | "RESOURCES_EXHAUSTED"
  | "SCHEMA_UNKNOWN"
  | "PROJECTION_FAILED"
  | "NOT_READY"
  | "READ_ONLY"
  // A note or checkpoint that cannot be read; a known signer's signature that is wrong; no known signer at all; a proof
  // that is none of what it claims.
  | "NOTE_INVALID"
  | "SIGNATURE_INVALID"
  | "SIGNER_UNKNOWN"
  | "PROOF_INVALID"
  | "ABORTED"
  | "CLOSED";

/** What a `LedgerError` carries beside its code and its sentence. @public */
export interface LedgerErrorOptions {
  /** Structured facts: what was expected, what was found, where. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** What the operator can do about it. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Is it the answer that an earlier call with the same id got? */
  readonly adopted?: boolean;
}

/** A refusal or a failure that the caller can act on. Match on `code`, never on the text: one of the engine's, or one of the
 *  host's own that a command refused with. @public */
export class LedgerError extends Error {
  override readonly name = "LedgerError";
  readonly code: LedgerErrorCode | (string & {});
  readonly details: Readonly<Record<string, unknown>>;
  readonly hint: string | undefined;
  /** True: an earlier call with the same id was refused so, and nothing was decided again. */
  readonly adopted: boolean;

  constructor(code: LedgerErrorCode | (string & {}), message: string, options: LedgerErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.hint = options.hint;
    this.adopted = options.adopted ?? false;
  }
}

/** A bug in the engine. It is thrown, and nobody catches it. @public */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Asserts what the engine itself guarantees; stays on in production. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(`invariant broken: ${message}`);
}

/** Ends a switch over a closed union. */
export function unreachable(value: never): never {
  throw new InvariantError(`invariant broken: no case for ${String(value)}`);
}

/** The refusal of an argument: where it stands, what was expected, what was found. */
export function invalid(path: string, expected: string, found: unknown, hint?: string): LedgerError {
  const shown = describe(found);
  return new LedgerError("INVALID_ARGUMENT", `${path} must be ${expected}, found ${shown}`, {
    details: { path, expected, found: shown },
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The refusal of something too large: which limit, what was found. */
export function limit(path: string, name: string, max: number, found: number): LedgerError {
  return new LedgerError("LIMIT_EXCEEDED", `${path} may have at most ${max} ${name}, found ${found}`, {
    details: { path, limit: name, max, found },
  });
}

/** A short, safe rendering of any value for an error message: never calls into the value, never long. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return value.length > 60
        ? `${JSON.stringify(value.slice(0, 60))}… (${value.length} units)`
        : JSON.stringify(value);
    case "number":
    case "boolean":
    case "undefined":
      return String(value);
    case "bigint":
      return "a BigInt";
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    default:
      if (types.isProxy(value)) return "a Proxy";
      return Array.isArray(value) ? "an array" : "an object";
  }
}
