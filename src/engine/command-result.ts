import { writeCanonical } from "../kernel/canonical.js";
import { invalid, limit } from "../kernel/errors.js";
import type { LedgerError } from "../kernel/errors.js";
import { resultBytesMax } from "../kernel/limits.js";
import { isContentValue } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { fillSegments } from "./prepare-event.js";
import type { Tx } from "./tx.js";

/** The canonical text of what a command accepted with; undefined when that is nothing. A content that an event of the tx names
 *  stands for its reference; another one is refused, for nothing would name it. */
export function resultText(result: unknown, path: string, tx: Tx): string | undefined {
  if (result === undefined) return undefined;
  const references: ContentReference[] = [];
  const segments = writeCanonical(result, {
    path,
    unitsMax: resultBytesMax,
    take: (value, at) => {
      if (!isContentValue(value)) return false;
      const reference = tx.referenceTo(value);
      if (reference === undefined) throw invalid(at, "a content that one of the events names", "another content");
      references.push(reference);
      return true;
    },
  });
  return fillSegments(segments, references);
}

export function tooLarge(path: string, bytes: number): LedgerError {
  return limit(path, "bytes of canonical JSON", resultBytesMax, bytes);
}
