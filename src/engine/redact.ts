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
      /** A label of an append, or the reason of an erasure. */
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

/** An event's data as it is to be recorded: the data first, then each content value in what the hook returned. */
export function redactData(
  redact: Redact | undefined,
  data: unknown,
  { path, stream, type }: { readonly path: string; readonly stream: string; readonly type: string },
): unknown {
  if (redact === undefined) return data;
  const given = new Set<ContentValue>();
  const note = (value: unknown): unknown => (isContentValue(value) ? given.add(value) && value : value);
  walkData(data, { path, leaf: note });
  const redacted = answer(ask(redact, data, { kind: "data", path, stream, type }), path);
  const result = walkData(redacted, {
    path,
    leaf: (value, at) => {
      if (!isContentValue(value)) return value;
      given.delete(value);
      return redactContent(redact, value, { kind: "content", path: at(), stream, type, media: value.media });
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
