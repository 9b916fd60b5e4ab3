/** Content: what a person wrote or a program produced, kept beside the journal and named by an event.
 *  Invariant: a digest covers media type, salt and bytes; without the salt the bytes cannot be guessed from it.
 *  Source: design section 4, row G-17. */
import { types } from "node:util";
import { canonicalText, decodeUtf8, parseCanonical } from "../kernel/canonical.js";
import type { JsonValue } from "../kernel/canonical.js";
import { isDigest, sha256HexOf } from "../kernel/digest.js";
import { invalid, limit } from "../kernel/errors.js";
import { contentBytesMax, mediaTypeUnitsMax, saltBytes } from "../kernel/limits.js";

/** How an event names a content: its digest, its size, and its number in this journal, from 1. @public */
export type ContentReference = { readonly $content: string; readonly bytes: number; readonly n: number };

const mediaPattern = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?:;[\x20-\x7e]*)?$/;
export const jsonMedia = "application/json";
const textMedia = "text/plain;charset=utf-8";
export const bytesMedia = "application/octet-stream";

/** A value on its way to becoming content. Made by `content()`; it is a copy that nobody can change any more. @public */
export class ContentValue {
  /** Its media type. */
  readonly media: string;
  /** The number of its bytes. */
  readonly size: number;
  readonly #bytes: Uint8Array;

  /** @internal */
  constructor(media: string, bytes: Uint8Array) {
    this.media = media;
    this.size = bytes.length;
    this.#bytes = bytes;
    Object.freeze(this);
  }

  /** The bytes of a content value that was really made here; undefined for anything else. @internal */
  static bytesOf(value: unknown): Uint8Array | undefined {
    return typeof value === "object" && value !== null && #bytes in value ? value.#bytes : undefined;
  }
}

/** Marks a value inside an event's data as content: it is stored beside the journal, erasable, and named by digest.
 *  A string is stored as UTF-8 text, bytes as they are, anything else as canonical JSON. At most 64 MiB.
 *  With a media type, a string or bytes are taken as they are; bytes of `application/json` must be canonical JSON, so name
 *  JSON that must keep its own spelling otherwise (`application/json;charset=utf-8`). @public */
export function content(value: unknown, media?: string): ContentValue {
  return toContent(value, "content", media);
}

/** Encodes a value as content. With `media` a string or bytes are taken as they are. */
export function toContent(value: unknown, path: string, media?: string): ContentValue {
  if (isContentValue(value)) {
    if (media !== undefined && media !== value.media)
      throw invalid(`${path} media type`, `absent or ${value.media}, as the content has it already`, media);
    return value;
  }
  if (media !== undefined) parseMedia(media, `${path} media type`);
  if (types.isUint8Array(value)) {
    checkSize(value.length, path);
    const bytes = copyOf(value, path);
    if (media === jsonMedia) parseCanonical(bytes, path);
    return new ContentValue(media ?? bytesMedia, bytes);
  }
  if (typeof value === "string" && media !== jsonMedia) {
    checkSize(Buffer.byteLength(value), path);
    // What is to be content is private: no message quotes it.
    if (!value.isWellFormed()) throw invalid(path, "free of lone surrogates", "one");
    return new ContentValue(media ?? textMedia, Buffer.from(value));
  }
  if (media !== undefined && media !== jsonMedia)
    throw invalid(path, `a string or bytes for media type ${media}`, value);
  const text = canonicalText(value, { path });
  checkSize(Buffer.byteLength(text), path);
  return new ContentValue(jsonMedia, Buffer.from(text));
}

/** A copy: the caller's buffer may change before it is written. It may also be gone: sent to a worker. */
function copyOf(bytes: Uint8Array, path: string): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw invalid(path, "bytes whose buffer is still there", "a detached buffer");
  }
}

/** Was it made by `content()`? */
export function isContentValue(value: unknown): value is ContentValue {
  return ContentValue.bytesOf(value) !== undefined;
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
  if (typeof media !== "string") throw invalid("media type", "a string", media);
  if (!types.isUint8Array(salt) || salt.length !== saltBytes) throw invalid("salt", `${saltBytes} bytes`, salt);
  if (!types.isUint8Array(bytes)) throw invalid("bytes", "a Uint8Array", bytes);
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
  return isDigest($content) && isCount(bytes, 0, contentBytesMax) && isCount(n, 1, Number.MAX_SAFE_INTEGER);
}

function isCount(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

/** Every content reference in a value, in the order of its canonical text. `onBroken` gets what only looks like one. */
export function contentReferences(
  value: JsonValue | undefined,
  onBroken?: (value: JsonValue) => void,
): ContentReference[] {
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

function checkSize(bytes: number, path: string): void {
  if (bytes > contentBytesMax) throw limit(path, "bytes", contentBytesMax, bytes);
}
