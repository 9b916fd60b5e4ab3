/** Reads contents and holds them against their references. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { checkObject } from "../kernel/members.js";
import { Content, contentDigest, isContentReference } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import type { Store, StoredContent } from "../journal/store.js";
import { withSnapshot } from "./snapshot.js";

const referenceExpected = 'a content reference {"$content", "bytes", "n"}';

/** `CONTENT_ERASED`, `CONTENT_MISSING` and `STORE_DAMAGED` are different answers. */
export async function readContent(store: Store, reference: ContentReference): Promise<Content> {
  checkObject(reference, "reference", referenceExpected);
  if (!isContentReference(reference)) throw invalid("reference", referenceExpected, reference);
  const [stored] = await withSnapshot(store, (reads) => reads.contents([reference.n]));
  return contentOf(reference, stored);
}

/** For each reference its content, or why there is none. Mind the sizes: all of them are held at once. */
export async function readContents(
  store: Store,
  references: readonly ContentReference[],
): Promise<readonly (Content | LedgerError)[]> {
  return withSnapshot(store, async (reads) => {
    const numbers = references.map(({ n }) => n);
    // A row that cannot be read at all fails the list that it is in.
    const stored = await reads.contents(numbers).catch(damageIn);
    const found: (Content | LedgerError)[] = [];
    for (const [index, reference] of references.entries()) {
      try {
        const row = stored instanceof LedgerError ? (await reads.contents([reference.n]))[0] : stored[index];
        found.push(contentOf(reference, row));
      } catch (error) {
        found.push(contentTrouble(error));
      }
    }
    return found;
  });
}

/** Holds what is stored against its reference. */
function contentOf(reference: ContentReference, stored: StoredContent | null | undefined): Content {
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
}

const contentCodes: ReadonlySet<string> = new Set(["CONTENT_ERASED", "CONTENT_MISSING", "STORE_DAMAGED"]);

/** What is wrong with one content; anything else is a failure of the reading. */
function contentTrouble(error: unknown): LedgerError {
  if (error instanceof LedgerError && contentCodes.has(error.code)) return error;
  throw error;
}

function damageIn(error: unknown): LedgerError {
  if (error instanceof LedgerError && error.code === "STORE_DAMAGED") return error;
  throw error;
}
