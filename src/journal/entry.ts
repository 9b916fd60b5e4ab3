/** The entry: one event as the exact text that is stored and hashed.
 *  Invariant: `encodeEntry` writes canonical JSON by a template (a law holds it equal to `canonicalize`), and
 *  `parseEntry` accepts exactly what `encodeEntry` can write. Source: design section 4, FORMAT.md. */
import { types } from "node:util";
import { canonicalize, canonicalText, parseCanonical } from "../kernel/canonical.js";
import type { JsonObject, JsonValue } from "../kernel/canonical.js";
import { isDigest, sha256Hex, sha256HexOf } from "../kernel/digest.js";
import { describe, invalid, LedgerError } from "../kernel/errors.js";
import { depthMax, entriesPerTxMax, entryBytesMax, metaBytesMax, metaKeysMax, timeMsMax } from "../kernel/limits.js";
import { parseKey, parseLabel, parseStream, parseType } from "../kernel/names.js";

/** The format version that this code reads and writes. */
export const formatVersion = 1;
/** `prev` of the first entry. */
export const zeroId: string = "0".repeat(64);

/** `[claim key, incarnation, generation]` of the claim an event was written under. @public */
export type FenceMark = readonly [key: string, incarnation: number, generation: number];

/** An entry, field by field, as FORMAT.md names them. */
export interface EntryFields {
  readonly v: typeof formatVersion;
  readonly seq: number;
  readonly prev: string;
  readonly tx: readonly [first: number, count: number];
  readonly stream: string;
  readonly rev: number;
  readonly type: string;
  readonly tv: number;
  readonly at: number;
  readonly actor?: string;
  readonly command?: string;
  readonly cause?: string;
  readonly corr?: string;
  readonly fence?: FenceMark;
  readonly meta?: Readonly<Record<string, string>>;
  readonly data: JsonObject;
}

/** What a caller may say of an event beside its data. */
export interface EntryLabels {
  readonly actor?: string | undefined;
  readonly command?: string | undefined;
  readonly cause?: string | undefined;
  readonly corr?: string | undefined;
  readonly fence?: FenceMark | undefined;
  readonly meta?: Readonly<Record<string, string>> | undefined;
}

/** What the writer adds when the event gets its place. */
export interface EntryPlace {
  readonly seq: number;
  readonly prev: string;
  readonly txFirst: number;
  readonly txCount: number;
  readonly rev: number;
  readonly at: number;
}

/** The parts of the text that do not depend on the event's place, made once, outside the write lock. */
export interface EntryTemplate {
  readonly head: string;
  readonly beforeData: string;
  readonly afterData: string;
  readonly afterSeq: string;
  readonly afterTx: string;
}

/** Prepares the text around the data. The labels, the stream and the type are already checked. */
export function entryTemplate(stream: string, type: string, tv: number, labels: EntryLabels): EntryTemplate {
  const { actor, cause, command, corr, fence, meta } = labels;
  return {
    head: actor === undefined ? `{"at":` : `{"actor":${JSON.stringify(actor)},"at":`,
    beforeData:
      (cause === undefined ? "" : `,"cause":"${cause}"`) +
      (command === undefined ? "" : `,"command":${JSON.stringify(command)}`) +
      (corr === undefined ? "" : `,"corr":${JSON.stringify(corr)}`) +
      `,"data":`,
    afterData: `${fence === undefined ? "" : `,"fence":${canonicalize(fence)}`}${meta === undefined ? "" : `,"meta":${canonicalize(meta)}`},"prev":"`,
    afterSeq: `,"stream":${JSON.stringify(stream)},"tv":${tv},"tx":[`,
    afterTx: `],"type":"${type}","v":${formatVersion}}`,
  };
}

/** The canonical text of an entry: the template, its place and the canonical text of its data. */
export function encodeEntry(template: EntryTemplate, data: string, place: EntryPlace): string {
  return (
    template.head +
    place.at +
    template.beforeData +
    data +
    template.afterData +
    place.prev +
    `","rev":` +
    place.rev +
    `,"seq":` +
    place.seq +
    template.afterSeq +
    place.txFirst +
    "," +
    place.txCount +
    template.afterTx
  );
}

/** The id of an entry: `SHA-256(0x00 ‖ bytes)` as 64 hex digits; at once its content address, the link of the chain
 *  and its RFC 6962 leaf hash. @public */
export function entryId(entry: string | Uint8Array): string {
  if (typeof entry === "string") return sha256Hex("\0" + entry);
  if (!types.isUint8Array(entry)) throw invalid("entry", "text or bytes", entry);
  return sha256HexOf(["\0", entry]);
}

/** Why stored bytes are not an entry. `canonical`: not canonical JSON; `version`: another format; `field`: see `path`. */
export class EntryProblem extends Error {
  override readonly name = "EntryProblem";
  readonly kind: "canonical" | "version" | "field";
  readonly path: string;

  constructor(kind: EntryProblem["kind"], path: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.path = path;
  }
}

const knownFields = new Set([
  "v",
  "seq",
  "prev",
  "tx",
  "stream",
  "rev",
  "type",
  "tv",
  "at",
  "actor",
  "command",
  "cause",
  "corr",
  "fence",
  "meta",
  "data",
]);

/** Parses stored text or bytes into an entry, or throws an `EntryProblem`. Nothing is repaired and nothing defaulted. */
export function parseEntry(text: string | Uint8Array): EntryFields {
  let value: JsonValue;
  try {
    value = parseCanonical(text, "entry", depthMax + 1);
  } catch (cause) {
    if (cause instanceof LedgerError)
      throw new EntryProblem(
        "canonical",
        typeof cause.details["path"] === "string" ? cause.details["path"] : "entry",
        cause.message,
        cause,
      );
    throw cause;
  }
  return checkEntry(value, typeof text === "string" ? Buffer.byteLength(text) : text.length);
}

/** Checks the shape of a parsed entry whose text is already known to be canonical. */
export function checkEntry(value: unknown, bytes: number): EntryFields {
  if (!isObject(value)) throw field("entry", "an object", value);
  if (value["v"] !== formatVersion)
    throw new EntryProblem("version", "v", `entry format must be ${formatVersion}, found ${describe(value["v"])}`);
  if (bytes > entryBytesMax) throw field("entry", `at most ${entryBytesMax} bytes`, bytes);
  for (const name of Object.keys(value))
    if (!knownFields.has(name)) throw field(name, "absent: no such field", value[name]);
  const seq = integer(value["seq"], "seq", 0);
  const tx = value["tx"];
  if (!Array.isArray(tx) || tx.length !== 2) throw field("tx", "[first, count]", tx);
  const first = integer(tx[0], "tx[0]", 0);
  const count = integer(tx[1], "tx[1]", 1);
  if (count > entriesPerTxMax || first > seq || seq >= first + count)
    throw field("tx", `[first, count] around ${seq}, count at most ${entriesPerTxMax}`, `[${first},${count}]`);
  integer(value["rev"], "rev", 1);
  integer(value["tv"], "tv", 1);
  if (integer(value["at"], "at", 0) > timeMsMax) throw field("at", `at most ${timeMsMax}`, value["at"]);
  digest(value["prev"], "prev");
  named("stream", () => parseStream(value["stream"], "stream"));
  named("type", () => parseType(value["type"], "type"));
  checkLabels(value);
  if (!isObject(value["data"])) throw field("data", "an object", value["data"]);
  return value as unknown as EntryFields; // every field was checked above
}

/** Checks the optional fields, on the way in and on the way back. Throws an `EntryProblem`. */
export function checkLabels(labels: { readonly [key: string]: unknown }): void {
  const { actor, command, cause, corr, fence, meta } = labels;
  if (actor !== undefined) named("actor", () => parseLabel(actor, "actor"));
  if (command !== undefined) named("command", () => parseKey(command, "command"));
  if (cause !== undefined) digest(cause, "cause");
  if (corr !== undefined) named("corr", () => parseKey(corr, "corr"));
  if (fence !== undefined) {
    if (!Array.isArray(fence) || fence.length !== 3) throw field("fence", "[key, incarnation, generation]", fence);
    named("fence[0]", () => parseKey(fence[0], "fence[0]"));
    integer(fence[1], "fence[1]", 1);
    integer(fence[2], "fence[2]", 1);
  }
  if (meta !== undefined) checkMeta(meta);
}

function checkMeta(meta: unknown): void {
  // Written first: that refuses getters and Proxies without calling into them, whatever comes after reads plain data.
  const text = named("meta", () => canonicalText(meta, { path: "meta", unitsMax: metaBytesMax }));
  if (!isObject(meta)) throw field("meta", "an object of strings", meta);
  const names = Object.keys(meta);
  if (names.length === 0 || names.length > metaKeysMax)
    throw field("meta", `an object of 1 to ${metaKeysMax} members`, names.length);
  for (const name of names) {
    named(`meta.${name.slice(0, 40)}`, () => parseLabel(name, "meta key"));
    if (typeof meta[name] !== "string") throw field(`meta.${name}`, "a string", meta[name]);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > metaBytesMax) throw field("meta", `at most ${metaBytesMax} bytes`, bytes);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function integer(value: unknown, path: string, min: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min)
    throw field(path, `an integer from ${min} to 2^53−1`, value);
  return value;
}

function digest(value: unknown, path: string): void {
  if (!isDigest(value)) throw field(path, "64 lower-case hex digits", value);
}

function named<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof LedgerError) throw new EntryProblem("field", path, cause.message, cause);
    throw cause;
  }
}

function field(path: string, expected: string, found: unknown): EntryProblem {
  return new EntryProblem("field", path, `${path} must be ${expected}, found ${describe(found)}`);
}
