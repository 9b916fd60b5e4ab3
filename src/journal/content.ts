/** Content: what a person wrote or a program produced, kept beside the journal and named by an event.
 *  Invariant: a digest covers media type, salt and bytes; without the salt the bytes cannot be guessed from it.
 *  Source: design section 4, row G-17. */
import { canonicalize, decodeUtf8, parseCanonical } from "../kernel/canonical.js";
import type { JsonValue } from "../kernel/canonical.js";
import { isDigest, sha256HexOf } from "../kernel/digest.js";
import { invalid, LedgerError, limit } from "../kernel/errors.js";
import { contentBytesMax, mediaTypeUnitsMax, saltBytes } from "../kernel/limits.js";

/** How an event names a content: its digest, its size, and its number in this journal, from 1. @public */
export type ContentReference = { readonly $content: string; readonly bytes: number; readonly n: number };

const mediaPattern = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?:;[\x20-\x7e]*)?$/;
export const jsonMedia = "application/json";
const textMedia = "text/plain;charset=utf-8";
const bytesMedia = "application/octet-stream";

/** A value on its way to becoming content. Made by `content()`. @public */
export class ContentValue {
  readonly media: string;
  readonly bytes: Uint8Array;

  constructor(media: string, bytes: Uint8Array) {
    this.media = media;
    this.bytes = bytes;
  }
}

/** Marks a value inside an event's data as content: it is stored beside the journal, erasable, and named by digest.
 *  A string is stored as UTF-8 text, bytes as they are, anything else as canonical JSON. At most 64 MiB. @public */
export function content(value: unknown, media?: string): ContentValue {
  return toContent(value, "content", media);
}

/** Encodes a value as content. With `media` a string or bytes are taken as they are. */
export function toContent(value: unknown, path: string, media?: string): ContentValue {
  if (value instanceof ContentValue) return value;
  if (media !== undefined) parseMedia(media, `${path} media type`);
  if (value instanceof Uint8Array) return new ContentValue(media ?? bytesMedia, checkSize(new Uint8Array(value), path));
  if (typeof value === "string" && media !== jsonMedia) {
    if (value.length > contentBytesMax) throw limit(path, "bytes", contentBytesMax, value.length);
    if (!value.isWellFormed()) throw invalid(path, "free of lone surrogates", value);
    return new ContentValue(media ?? textMedia, checkSize(Buffer.from(value), path));
  }
  if (media !== undefined && media !== jsonMedia) throw invalid(path, `a string or bytes for media type ${media}`, value);
  return new ContentValue(jsonMedia, checkSize(Buffer.from(canonicalJson(value, path)), path));
}

function canonicalJson(value: unknown, path: string): string {
  try {
    return canonicalize(value);
  } catch (cause) {
    if (!(cause instanceof LedgerError)) throw cause;
    throw new LedgerError(cause.code, cause.message.replace(/^\$/, path), { details: cause.details, cause });
  }
}

/** A media type: `type/subtype` with optional parameters, printable ASCII, at most 127. */
export function parseMedia(value: unknown, path: string): string {
  if (typeof value !== "string" || value.length > mediaTypeUnitsMax || !mediaPattern.test(value)) {
    throw invalid(path, `type/subtype in printable ASCII, at most ${mediaTypeUnitsMax}`, value);
  }
  return value;
}

/** The digest of a content, as 64 hex digits, over media type, 32-byte salt and bytes. @public */
export function contentDigest(media: string, salt: Uint8Array, bytes: Uint8Array): string {
  if (salt.length !== saltBytes) throw invalid("salt", `${saltBytes} bytes`, salt.length);
  return sha256HexOf([`runledger content/v1\n${media}\n${Buffer.from(salt).toString("base64")}\n`, bytes]);
}

/** The hash by which equal contents of one journal find each other; it is erased with the content. */
export function plainHash(media: string, bytes: Uint8Array): string {
  return sha256HexOf([`${media}\n`, bytes]);
}

/** Is it a content reference, and nothing else? */
export function isContentReference(value: unknown): value is ContentReference {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 3) return false;
  const { $content, bytes, n } = value as Record<string, unknown>;
  return isDigest($content) && isCount(bytes, 0) && isCount(n, 1);
}

function isCount(value: unknown, min: number): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min;
}

/** Every content reference in a value, in the order of its canonical text. `onBroken` gets what only looks like one. */
export function contentReferences(value: JsonValue | undefined, onBroken?: (value: JsonValue) => void): ContentReference[] {
  const found: ContentReference[] = [];
  const walk = (node: JsonValue | undefined): void => {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) return node.forEach(walk);
    const object = node as { readonly [key: string]: JsonValue | undefined };
    if (Object.hasOwn(object, "$content")) {
      if (isContentReference(object)) found.push(object);
      else onBroken?.(object);
      return;
    }
    for (const key of Object.keys(object).sort()) walk(object[key]);
  };
  walk(value);
  return found;
}

/** A content as it is read back. @public */
export class Content {
  /** Its media type. */
  readonly media: string;
  /** Its bytes, a copy of the caller's own. */
  readonly bytes: Uint8Array;

  constructor(media: string, bytes: Uint8Array) {
    this.media = media;
    this.bytes = bytes;
  }

  /** The bytes as text; refused when they are not well-formed UTF-8. */
  text(): string {
    return decodeUtf8(this.bytes, "content");
  }

  /** The bytes as JSON; refused when the media type is another or the bytes are not canonical JSON. */
  json(): JsonValue {
    if (this.media !== jsonMedia) throw invalid("content media type", jsonMedia, this.media);
    return parseCanonical(this.bytes, "content");
  }
}

function checkSize(bytes: Uint8Array, path: string): Uint8Array {
  if (bytes.length > contentBytesMax) throw limit(path, "bytes", contentBytesMax, bytes.length);
  return bytes;
}
