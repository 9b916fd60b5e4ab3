/** One line of JSON, as strict as evidence needs it: what `JSON.parse` would lose in silence is refused.
 *  The parser is the platform's; all that is added is a count. In text that parses, each member of each object has one
 *  colon outside strings; when the value has fewer members than the text has colons, an object named one twice. */
import type { JsonValue } from "../index.js";
import { decodeUtf8 } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";

/** Parses the bytes of a line, or throws a `LedgerError` that says why it is not one JSON value. */
export function parseJsonLine(bytes: Uint8Array): JsonValue {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw refused("must start with JSON, found a byte order mark", "save the file as UTF-8 without BOM");
  }
  const text = decodeUtf8(bytes, "the line");
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue; // whatever parses is a JSON value
  } catch (cause) {
    throw refused(`must be one JSON value, found something else: ${(cause as Error).message}`, undefined, cause);
  }
  if (countColons(text) !== countMembers(value)) {
    throw refused(
      `must name each member of an object once, found ${JSON.stringify(repeatedName(text))} twice in the same object`,
      "one of the two values would be lost",
    );
  }
  return value;
}

function refused(what: string, hint?: string, cause?: unknown): LedgerError {
  return new LedgerError("INVALID_ARGUMENT", `the line ${what}`, { ...(hint === undefined ? {} : { hint }), cause });
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

function countColons(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === colon) count++;
    else if (unit === quote) at = endOfString(text, at);
  }
  return count;
}

/** The index of the quote that ends the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; text.charCodeAt(at) !== quote; at++) if (text.charCodeAt(at) === backslash) at++;
  return at;
}

/** Without recursion: nesting is checked by the engine, later. */
function countMembers(value: JsonValue): number {
  let count = 0;
  const open: unknown[] = [value];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node !== "object" || node === null) continue;
    const children: unknown[] = Object.values(node);
    if (!Array.isArray(node)) count += children.length;
    for (const child of children) if (typeof child === "object" && child !== null) open.push(child);
  }
  return count;
}

/** The first name that an object has twice, in text that parses and has one. */
function repeatedName(text: string): string {
  const objects: Set<string>[] = [];
  let last = "";
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        last = text.slice(at, end + 1);
        at = end;
        break;
      }
      case ":": {
        const name = JSON.parse(last) as string; // the string before a colon
        const names = objects.at(-1);
        if (names?.has(name) === true) return name;
        names?.add(name);
        break;
      }
      case "{":
        objects.push(new Set());
        break;
      case "}":
        objects.pop();
        break;
      default:
        break;
    }
  }
  return "";
}
