/** What a command knows beside its input and what it has read: engine time, who calls, and what is minted for it. */
import type { FenceProof } from "../kernel/claim.js";
import { invalid } from "../kernel/errors.js";
import { ContentValue, contentDigest, isContentReference, toContent } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import type { Mint } from "./mint.js";

/** The third argument of `decide`. @public */
export interface CommandContext {
  /** Engine time, ms since the epoch: that of all events of the call. */
  readonly at: number;
  /** The id that the call carries; null when it has none. */
  readonly id: string | null;
  /** Whose id that is. */
  readonly client: string;
  readonly actor: string | null;
  /** That of the journal: what is claimed now is claimed in it. */
  readonly incarnation: number;
  /** The fence that the call presents, which was live when the command was decided; null when it presents none. */
  readonly fence: FenceProof | null;
  /** A new id, 26 base32 characters: the same again when the command must be decided again. */
  newId(): string;
  /** Marks a value as content, as `content()` does. */
  content(value: unknown, media?: string): ContentValue;
  /** Does the content hold this value, of this media type? `contentSalt(reference)` must be among the reads
   *  (`INVALID_ARGUMENT`). An erased content equals nothing. */
  sameContent(reference: ContentReference, value: unknown, media?: string): boolean;
}

/** What a context is made of. */
export interface ContextParts {
  readonly at: number;
  readonly id: string | null;
  readonly client: string;
  readonly actor: string | null;
  readonly incarnation: number;
  readonly fence: FenceProof | null;
  readonly mint: Mint;
  /** The salts that were read, by the number of their content; null: erased, or not of this journal. */
  readonly salts: ReadonlyMap<number, { readonly digest: string; readonly salt: Uint8Array } | null>;
}

/** The context of one command that is decided once. */
export function commandContext({
  at,
  id,
  client,
  actor,
  incarnation,
  fence,
  mint,
  salts,
}: ContextParts): CommandContext {
  return Object.freeze({
    at,
    id,
    client,
    actor,
    incarnation,
    fence,
    newId: () => mint.id(),
    content: (value: unknown, media?: string) => toContent(value, "content", media),
    sameContent(reference: ContentReference, value: unknown, media?: string): boolean {
      if (!isContentReference(reference))
        throw invalid("sameContent reference", 'a content reference {"$content", "bytes", "n"}', reference);
      const stored = salts.get(reference.n);
      if (stored === undefined)
        throw invalid(
          "sameContent reference",
          "one whose contentSalt(reference) was read",
          `content ${reference.n}, which was not`,
        );
      const offered = toContent(value, "sameContent value", media);
      if (stored === null || stored.digest !== reference.$content || offered.size !== reference.bytes) return false;
      return contentDigest(offered.media, stored.salt, ContentValue.bytesOf(offered)!) === reference.$content;
    },
  });
}
