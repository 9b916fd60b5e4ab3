/** What is said of an append or a command for all its events, and what must be so for it: who, why, in which state streams
 *  must be. */
import { types } from "node:util";
import { isDigest } from "../kernel/digest.js";
import { invalid, LedgerError, limit } from "../kernel/errors.js";
import { requirementsMax } from "../kernel/limits.js";
import { checkMembers, checkObject, isList, parseInteger } from "../kernel/members.js";
import { parseStream } from "../kernel/names.js";
import { checkLabels, EntryProblem } from "../journal/entry.js";
import type { EntryLabels } from "../journal/entry.js";
import { redactLabel } from "./redact.js";
import type { Redact } from "./redact.js";
import type { AppendLabels, EventReference, Expected } from "./types.js";

/** A stream that must be as said. */
export interface Requirement {
  readonly stream: string;
  readonly expected: Expected;
  /** How messages name it. */
  readonly path: string;
}

/** Parses `options.require`. */
export function parseRequire(require: unknown): Requirement[] {
  if (require === undefined) return [];
  if (!isList(require)) throw invalid("options.require", "a list of streams and what is expected of them", require);
  if (require.length > requirementsMax) throw limit("options.require", "streams", requirementsMax, require.length);
  return Array.from(require, (each: unknown, index) => {
    const path = `options.require[${index}]`;
    checkMembers(each, path, ["stream", "expected"]);
    const { stream, expected } = each as { readonly stream?: unknown; readonly expected?: unknown }; // no others
    return {
      stream: parseStream(stream, `${path}.stream`),
      expected: parseExpected(expected, `${path}.expected`),
      path,
    };
  });
}

/** Parses `options.cause`. */
export function parseCause(cause: unknown): EventReference | undefined {
  if (cause === undefined) return undefined;
  checkObject(cause, "options.cause", "an event, or its position and id");
  const { position, id } = cause as { readonly position?: unknown; readonly id?: unknown }; // any object may have them
  if (!isDigest(id)) throw invalid("options.cause.id", "64 lower-case hex digits", id);
  return { position: parseInteger(position, "options.cause.position", 0), id };
}

/** Parses the labels of the options, and adds those that were parsed already. */
export function parseLabels(
  options: AppendLabels,
  { cause, command, fence }: Pick<EntryLabels, "cause" | "command" | "fence">,
  redact: Redact | undefined,
): EntryLabels {
  const actor = redactLabel(redact, options.actor, { kind: "actor", path: "options.actor" });
  const corr = redactLabel(redact, options.correlation, { kind: "correlation", path: "options.correlation" });
  const meta = redactLabel(redact, options.meta, { kind: "meta", path: "options.meta" });
  const labels = { actor, command, cause, corr, fence, meta: isEmpty(meta) ? undefined : meta };
  try {
    checkLabels(labels);
  } catch (problem) {
    if (!(problem instanceof EntryProblem)) throw problem;
    const message = `options.${asCallersSay(problem.message)}`;
    const path = `options.${asCallersSay(problem.path)}`;
    if (problem.cause instanceof LedgerError)
      throw new LedgerError(problem.cause.code, message, {
        details: { ...problem.cause.details, path },
        cause: problem.cause,
      });
    throw new LedgerError("INVALID_ARGUMENT", message, { details: { path }, cause: problem });
  }
  return labels.meta === undefined ? labels : { ...labels, meta: { ...labels.meta } };
}

/** What an entry calls `corr` is `correlation` in the options. */
function asCallersSay(text: string): string {
  return text.replace(/^corr\b/, "correlation");
}

function isEmpty(meta: unknown): boolean {
  return typeof meta === "object" && meta !== null && !types.isProxy(meta) && Object.keys(meta).length === 0;
}

/** Parses one of the ways to say in which state a stream must be. */
export function parseExpected(expected: unknown, path: string): Expected {
  if (typeof expected === "number") return parseInteger(expected, path, 0);
  if (expected === "none" || expected === "exists" || expected === "any" || isDigest(expected)) return expected;
  throw invalid(path, 'a revision, "none", "exists", "any" or the id of the stream\'s last event', expected);
}
