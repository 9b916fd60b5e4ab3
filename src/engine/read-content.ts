/** Reads a content and holds it against its reference. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { checkObject } from "../kernel/members.js";
import { Content, contentDigest, isContentReference } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import type { Store } from "../journal/store.js";

const referenceExpected = 'a content reference {"$content", "bytes", "n"}';

/** `CONTENT_ERASED`, `CONTENT_MISSING` and `STORE_DAMAGED` are different answers. */
export async function readContent(store: Store, reference: ContentReference): Promise<Content> {
  checkObject(reference, "reference", referenceExpected);
  if (!isContentReference(reference)) throw invalid("reference", referenceExpected, reference);
  const snapshot = await store.snapshot();
  try {
    const [stored] = await snapshot.contents([reference.n]);
    const details = { ...reference };
    if (stored === null || stored === undefined)
      throw new LedgerError("CONTENT_MISSING", `content ${reference.n} must be stored, found nothing`, { details });
    if (stored.digest !== reference.$content)
      throw new LedgerError(
        "CONTENT_MISSING",
        `content ${reference.n} must be ${reference.$content}, found ${stored.digest}`,
        { details },
      );
    if ("erased" in stored)
      throw new LedgerError("CONTENT_ERASED", `content ${reference.n} was erased by event #${stored.erased}`, {
        details: { ...details, erasedBy: stored.erased },
      });
    if (
      contentDigest(stored.media, stored.salt, stored.bytes) !== reference.$content ||
      stored.bytes.length !== reference.bytes
    ) {
      throw new LedgerError("STORE_DAMAGED", `content ${reference.n} must hash to its digest, found other bytes`, {
        details,
        hint: "run `runledger verify` on it",
      });
    }
    return new Content(stored.media, new Uint8Array(stored.bytes));
  } finally {
    await snapshot.release();
  }
}
