/** Redaction: the host's hook sees what a caller gave before anything else looks at it, and what it returns is what was
 *  given. Invariants: a refusal names where the value stands and nothing of the value, nor of what the hook threw; no
 *  content is lost because a hook that walks the data took it for a plain object. Source: design section 6, decision 0015. */
import { isUtf8 } from "node:buffer";
import { types } from "node:util";
import { LedgerError } from "../kernel/errors.js";
import { abandon } from "../kernel/promises.js";
import { bytesMedia, ContentValue, isContentValue, jsonMedia, toContent } from "../journal/content.js";
import { walkData } from "./data-walk.js";

/** Where a value stands that the `redact` hook is shown; `path` as error messages name it. @public */
export type RedactionPlace =
  | {
      /** The data of an event, with its content values in it. */
      readonly kind: "data";
      readonly path: string;
      readonly stream: string;
      readonly type: string;
    }
  | {
      /** What a content value holds: JSON as a value; otherwise text as a string, and bytes that are no text, or are
       *  `application/octet-stream`, as bytes. */
      readonly kind: "content";
      readonly path: string;
      readonly stream: string;
      readonly type: string;
      readonly media: string;
    }
  | {
      /** The input of a command, with its content values in it. */
      readonly kind: "input";
      readonly path: string;
      readonly command: string;
    }
  | {
      /** What a content value in the input of a command holds, shown as that of an event is. */
      readonly kind: "inputContent";
      readonly path: string;
      readonly command: string;
      readonly media: string;
    }
  | {
      /** A label of an append or a command, or the reason of an erasure. */
      readonly kind: "actor" | "correlation" | "meta" | "reason";
      readonly path: string;
    };

/** Returns what is to be recorded in place of a value. @public */
export type Redact = (value: unknown, where: RedactionPlace) => unknown;

/** A label as it is to be recorded; undefined leaves it out. */
export function redactLabel<Label>(redact: Redact | undefined, label: Label, where: RedactionPlace): Label {
  // What the hook returns is whatever a caller could have given, and is checked like that.
  return redact === undefined || label === undefined ? label : (ask(redact, label, where) as Label);
}

/** An event's data as it is to be recorded. */
export function redactData(
  redact: Redact | undefined,
  data: unknown,
  { path, stream, type }: { readonly path: string; readonly stream: string; readonly type: string },
): unknown {
  if (redact === undefined) return data;
  return redactValue(redact, data, { kind: "data", path, stream, type }, (at, media) => {
    return { kind: "content", path: at, stream, type, media };
  });
}

/** The input of a command as it is to be recorded. */
export function redactInput(redact: Redact | undefined, input: unknown, path: string, command: string): unknown {
  if (redact === undefined) return input;
  return redactValue(redact, input, { kind: "input", path, command }, (at, media) => {
    return { kind: "inputContent", path: at, command, media };
  });
}

/** The value first, then each content value in what the hook returned. */
function redactValue(
  redact: Redact,
  value: unknown,
  where: RedactionPlace,
  contentAt: (path: string, media: string) => RedactionPlace & { readonly media: string },
): unknown {
  const { path } = where;
  const given = new Set<ContentValue>();
  const note = (leaf: unknown): unknown => (isContentValue(leaf) ? given.add(leaf) && leaf : leaf);
  walkData(value, { path, leaf: note });
  const redacted = answer(ask(redact, value, where), path);
  const result = walkData(redacted, {
    path,
    leaf: (leaf, at) => {
      if (!isContentValue(leaf)) return leaf;
      given.delete(leaf);
      return redactContent(redact, leaf, contentAt(at(), leaf.media));
    },
  });
  if (given.size > 0)
    throw failed(path, "hand content values through as they are", `${given.size} that were left out or copied`);
  return result;
}

function redactContent(redact: Redact, value: ContentValue, where: RedactionPlace): ContentValue {
  const shown = shownOf(value);
  const redacted = answer(ask(redact, shown, where), where.path);
  if (typeof redacted === "string" && redacted === shown) return value;
  return isContentValue(redacted) ? redacted : toContent(redacted, where.path, value.media);
}

function shownOf(value: ContentValue): unknown {
  // A copy: the hook may work in place, and a content value never changes.
  const bytes = new Uint8Array(ContentValue.bytesOf(value)!);
  if (value.media === bytesMedia || !isUtf8(bytes)) return bytes;
  const text = Buffer.from(bytes.buffer).toString();
  return value.media === jsonMedia ? JSON.parse(text) : text;
}

/** Hooks that are at work now: one that appends would be asked about that, and append again, until the stack ends. */
const asked = new Set<Redact>();

function ask(redact: Redact, value: unknown, where: RedactionPlace): unknown {
  if (asked.has(redact)) throw failed(where.path, "record nothing while it is asked", "that it did");
  let redacted: unknown;
  asked.add(redact);
  try {
    redacted = redact(value, where);
  } catch {
    // Whatever it says may quote the value; a cause would carry it into the host's log.
    throw failed(where.path, "return", "that it threw");
  } finally {
    asked.delete(redact);
  }
  if (!types.isPromise(redacted)) return redacted;
  abandon(redacted);
  throw failed(where.path, "be synchronous", "a promise");
}

/** A hook that forgets to return must not empty an event. */
function answer(redacted: unknown, path: string): unknown {
  if (redacted === undefined) throw failed(path, "return what is to be recorded", "undefined");
  return redacted;
}

function failed(path: string, expected: string, found: string): LedgerError {
  return new LedgerError("REDACTION_FAILED", `options.redact, asked for ${path}, must ${expected}, found ${found}`, {
    details: { path, expected, found },
  });
}
