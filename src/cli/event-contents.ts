/** The contents that an event names, where in its data they stand, and what is left of each. */
import { LedgerError } from "../index.js";
import type { Content, ContentReference, JsonValue, Ledger, LedgerEvent } from "../index.js";
import { isContentReference } from "../journal/content.js";
import { beginningOf, cutText } from "./event-view.js";
import { escapeText } from "./escape.js";

/** A content of an event, by the JSON pointer to its reference. */
export interface NamedContent {
  readonly pointer: string;
  readonly reference: ContentReference;
}

/** What is found under a reference. `damaged`: the stored bytes are not those that the event names. */
export interface ContentObject {
  readonly pointer: string;
  readonly n: number;
  readonly digest: string;
  readonly bytes: number;
  readonly state: "present" | "erased" | "missing" | "damaged";
  readonly media: string | null;
  readonly excerpt: string | null;
  /** Position of the event that erased it. */
  readonly erasedBy: number | null;
}

const excerptUnits = 80;
/** Enough bytes for an excerpt, whatever the characters. */
const excerptBytes = excerptUnits * 4;

/** Every content that an event names, in the order of its data. */
export function namedContents(data: LedgerEvent["data"]): readonly NamedContent[] {
  const found: NamedContent[] = [];
  const walk = (value: JsonValue | undefined, pointer: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (isContentReference(value)) {
      found.push({ pointer, reference: value });
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      walk(member, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  };
  walk(data, "");
  return found;
}

/** Looks one of them up. */
export async function lookAtContent(ledger: Ledger, { pointer, reference }: NamedContent): Promise<ContentObject> {
  const known = { pointer, n: reference.n, digest: reference.$content, bytes: reference.bytes };
  const gone = { ...known, media: null, excerpt: null, erasedBy: null };
  try {
    const content = await ledger.content(reference);
    return { ...known, state: "present", media: content.media, excerpt: excerptOf(content), erasedBy: null };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    switch (error.code) {
      case "CONTENT_ERASED":
        return { ...gone, state: "erased", erasedBy: Number(error.details["erasedBy"]) };
      case "CONTENT_MISSING":
        return { ...gone, state: "missing" };
      case "STORE_DAMAGED":
        return { ...gone, state: "damaged" };
      default:
        throw error;
    }
  }
}

/** The content that a person means: by JSON pointer, by its number among the event's contents from 1, or the only one. */
export function chooseContent(event: LedgerEvent, choice: string | undefined): NamedContent {
  const contents = namedContents(event.data);
  const shown = contents.map(({ pointer }, index) => `${index + 1} ${pointer}`).join(", ");
  const details = { position: event.position, contents: contents.map(({ pointer }) => pointer) };
  if (contents.length === 0)
    throw new LedgerError("NOT_FOUND", `event #${event.position} must name a content, found none`, { details });
  if (choice === undefined) {
    const [only, another] = contents;
    if (only !== undefined && another === undefined) return only;
    throw new LedgerError(
      "INVALID_ARGUMENT",
      `event #${event.position} names ${contents.length} contents; one must be chosen`,
      { details, hint: `choose by number or JSON pointer: ${shown}` },
    );
  }
  const chosen = /^[1-9]\d*$/.test(choice)
    ? contents[Number(choice) - 1]
    : contents.find(({ pointer }) => pointer === choice);
  if (chosen !== undefined) return chosen;
  throw new LedgerError(
    "NOT_FOUND",
    `event #${event.position} must name a content ${JSON.stringify(choice)}, found ${shown}`,
    { details },
  );
}

/** Text as text, anything else as the first bytes in hex. */
function excerptOf(content: Content): string {
  const start = content.bytes.subarray(0, excerptBytes);
  const text = new TextDecoder().decode(start, { stream: content.bytes.length > excerptBytes });
  if (text.includes("\ufffd"))
    return `hex ${Buffer.from(start.subarray(0, 24)).toString("hex")}${content.bytes.length > 24 ? "…" : ""}`;
  return content.bytes.length > excerptBytes
    ? `${escapeText(beginningOf(text, excerptUnits))}…`
    : cutText(text, excerptUnits, escapeText);
}
