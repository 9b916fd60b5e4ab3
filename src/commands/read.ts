/** What a command may wish to read before it is decided: documents, queries, and whether contents are still there. Wishes are
 *  data, so that the reads of many commands can be fetched together. */
import { invalid, limit } from "../kernel/errors.js";
import { readsPerStageMax } from "../kernel/limits.js";
import { checkObject } from "../kernel/members.js";
import { isThenable, abandon } from "../kernel/promises.js";
import { isContentReference } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import type { DocumentRead, FoundDocuments, QueryRead } from "../../projections/define-projection.js";

/** What a stage of reads knows beside the input and what was found. @public */
export interface Moment {
  /** Engine time, ms since the epoch: that of the events that the command will accept with. */
  readonly at: number;
}

/** The wish to compare a content with a value, by `context.sameContent`. @public */
export interface ContentRead {
  readonly read: "content";
  /** Null reads nothing. */
  readonly reference: ContentReference | null;
}

/** Is a content of this journal there? An erased one equals nothing. @public */
export interface FoundContent {
  readonly reference: ContentReference;
  readonly state: "stored" | "erased" | "missing";
}

/** One wish. @public */
export type CommandRead = DocumentRead<object> | QueryRead<object> | ContentRead;

/** The wishes of one stage by name; null and undefined find null. @public */
// oxlint-disable-next-line typescript/no-explicit-any -- a wish of any document: what it finds is inferred from it
export type Stage = Readonly<Record<string, DocumentRead<any> | QueryRead<any> | ContentRead | null | undefined>>;

/** What a wish finds. @public */
export type FoundBy<Read> =
  Read extends DocumentRead<infer Document>
    ? Document | null
    : Read extends QueryRead<infer Document>
      ? FoundDocuments<Document>
      : Read extends ContentRead
        ? FoundContent | null
        : null;

/** What the wishes of a stage find. @public */
export type Found<Wishes extends Stage> = { readonly [Name in keyof Wishes]: FoundBy<Wishes[Name]> };

/** For the `reads` of a command: lets `context.sameContent` compare this content. Without a reference nothing is read. @public */
export function contentSalt(reference: ContentReference | null | undefined): ContentRead {
  if (reference === null || reference === undefined) return { read: "content", reference: null };
  return { read: "content", reference: parseReference(reference, "contentSalt reference") };
}

/** A copy: what was checked cannot answer otherwise later. */
function parseReference(reference: unknown, path: string): ContentReference {
  const expected = 'a content reference {"$content", "bytes", "n"}';
  checkObject(reference, path, expected);
  const copy = Object.freeze({ ...reference });
  if (!isContentReference(copy)) throw invalid(path, expected, reference);
  return copy;
}

/** Checks what a stage returned: its wishes by name. */
export function parseStage(stage: unknown, path: string): readonly (readonly [name: string, CommandRead | null])[] {
  if (isThenable(stage)) {
    abandon(stage);
    throw invalid(path, "synchronous", "a promise");
  }
  checkObject(stage, path, "an object of reads");
  const wishes = Object.entries(stage);
  if (wishes.length > readsPerStageMax) throw limit(path, "reads", readsPerStageMax, wishes.length);
  return wishes.map(([name, wish]: [string, unknown]) => {
    const at = `${path}.${name}`;
    if (wish === null || wish === undefined) return [name, null];
    const expected = "projection.get(key), projection.find(query), contentSalt(reference), null or undefined";
    checkObject(wish, at, expected);
    const { read, ...said } = wish as { readonly read?: unknown; readonly reference?: unknown }; // any object may have them
    if (read === "content") {
      const reference = said.reference === null ? null : parseReference(said.reference, `${at} reference`);
      return [name, { read, reference }];
    }
    if (read !== "document" && read !== "query") throw invalid(at, expected, wish);
    // Made by the functions that are named; what they hold is checked where it is read.
    return [name, { read, ...said } as CommandRead];
  });
}
