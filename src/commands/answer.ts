/** What a command answers: events that happened, or why not. Both are values; nothing is done by making one. */
import { invalid } from "../kernel/errors.js";
import { refusalMessageUnitsMax } from "../kernel/limits.js";
import { checkBoolean, checkMembers, checkObject, isList } from "../kernel/members.js";
import { parseCode } from "../kernel/names.js";
import { abandon, isThenable } from "../kernel/promises.js";

/** An event of a command. @public */
export interface CommandEvent {
  /** `kind/name`, of a kind that the event's area owns. */
  readonly stream: string;
  /** `area.pastTense`, of an area that the command writes. */
  readonly type: string;
  /** The facts: a JSON object. What is marked as content is stored beside the journal. Default `{}`. */
  readonly data?: object;
}

/** The command happens. Made by `accept`. @public */
export interface Accepted<Result> {
  readonly type: "accepted";
  readonly events: readonly CommandEvent[];
  readonly result: Result;
}

/** The command does not happen. Made by `refuse`. @public */
export interface Refused {
  readonly type: "refused";
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly transient: boolean;
}

/** What `decide` returns. @public */
export type CommandAnswer<Result = unknown> = Accepted<Result> | Refused;

/** More about a refusal. @public */
export interface RefuseOptions {
  /** A sentence with what was expected and what was found; cut behind 1,024 units. Default: the code. */
  readonly message?: string;
  /** May the same command be accepted later without anything being changed about it? Then no receipt is kept of the refusal.
   *  Default: true for `RATE_LIMITED`, `PAUSED`, `NOT_READY` and `SLOT_TAKEN`. */
  readonly transient?: boolean;
}

const transientCodes: ReadonlySet<string> = new Set(["RATE_LIMITED", "PAUSED", "NOT_READY", "SLOT_TAKEN"]);

/** Accepts a command: these events happened, in this order, all at once. Without events it is a success that writes nothing.
 *  @public */
export function accept(events: readonly CommandEvent[]): Accepted<undefined>;
/** Accepts a command with a result: these events happened, in this order, all at once.
 *  The result is handed to the caller as JSON: facts of at most 16 KiB, those of a list together, in which a content of one of
 *  the events stands for its reference. @public */
export function accept<Result>(events: readonly CommandEvent[], result: Result): Accepted<Result>;
export function accept(events: readonly CommandEvent[], result?: unknown): Accepted<unknown> {
  if (!isList(events)) throw invalid("accept events", "a list of events", events);
  return { type: "accepted", events, result };
}

/** Refuses a command: nothing happened. The code (`^[A-Z][A-Z0-9_]{0,63}$`) is one of the engine's or the host's own, and the
 *  caller gets it as that of a `LedgerError`, with the details. @public */
export function refuse(
  code: string,
  details: Readonly<Record<string, unknown>> = {},
  options: RefuseOptions = {},
): Refused {
  parseCode(code, "refuse code");
  checkObject(details, "refuse details", "an object");
  checkMembers(options, "refuse options", ["message", "transient"]);
  const { message = code, transient = transientCodes.has(code) } = options;
  if (typeof message !== "string" || !message.isWellFormed())
    throw invalid("refuse options.message", "a string without lone surrogates", message);
  checkBoolean(transient, "refuse options.transient");
  return { type: "refused", code, details, message: cut(message), transient };
}

/** A receipt may keep it; a longer message is cut, for it must not stand in the way of what it says. */
function cut(message: string): string {
  if (message.length <= refusalMessageUnitsMax) return message;
  return `${message.slice(0, refusalMessageUnitsMax - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Checks what a `decide` returned, whoever made it. */
export function parseAnswer(value: unknown, path: string): CommandAnswer {
  if (isThenable(value)) {
    abandon(value);
    throw invalid(path, "synchronous", "a promise");
  }
  const expected = "what accept() or refuse() returned";
  checkObject(value, path, expected);
  const { type } = value as { readonly type?: unknown }; // any object may have it
  if (type === "accepted") {
    const { events, result } = value as Partial<Accepted<unknown>>;
    return accept(events as readonly CommandEvent[], result); // checked there
  }
  if (type !== "refused") throw invalid(path, expected, value);
  const { code, details, message, transient } = value as Refused; // checked below
  return refuse(code, details, { message, transient });
}
