/** The journal's own events, on the stream `journal/main`. Source: design section 4. */
import { version as engineVersion } from "../../kernel/version.js";
import type { JsonObject } from "../../kernel/canonical.js";
import { LedgerError } from "../../kernel/errors.js";
import { isDigest } from "../../kernel/digest.js";
import { parseArea, parseOrigin, parseReason } from "../../kernel/names.js";
import type { RandomBytes } from "../../kernel/random.js";
import { formatVersion } from "../entry.js";

/** The kind of the streams that hold what is said of the journal itself. */
export const journalKind = "journal";
/** The one stream of that kind. */
export const journalStream = "journal/main";

/** `journal.opened`, entry 0: names the journal. */
export interface JournalOpened {
  readonly engine: string;
  readonly format: number;
  readonly incarnation: number;
  readonly nonce: string;
  readonly origin: string;
  /** The verifier key of the journal's checkpoints; absent when they are not signed. */
  readonly key?: string;
}

/** `journal.keyChanged`: whose key signs from the next checkpoint on. */
export interface KeyChanged {
  readonly key: string;
}

/** `area.defined`: who may write an area, said before its first event. */
export interface AreaDefined {
  readonly area: string;
  readonly open: boolean;
  readonly kinds: readonly string[];
}

/** `content.erased`: contents were erased, and why. */
export interface ContentErased {
  /** At least one, each named by an earlier entry. */
  readonly digests: readonly string[];
  readonly reason: string;
}

/** The data of a new journal's first entry; `key` is a verifier key. */
export function journalOpened(origin: string | undefined, random: RandomBytes, key?: string): JournalOpened {
  return {
    engine: engineVersion,
    format: formatVersion,
    incarnation: 1,
    ...(key === undefined ? {} : { key }),
    nonce: Buffer.from(random(16)).toString("base64"),
    origin: origin ?? newOrigin(random),
  };
}

/** The identity of a journal that nobody named. */
export function newOrigin(random: RandomBytes): string {
  return `runledger/${base32(random(26))}`;
}

/** Reads the data of entry 0. */
export function parseJournalOpened(data: JsonObject): JournalOpened {
  const { engine, format, incarnation, key, nonce, origin } = data as Partial<JournalOpened> & JsonObject;
  if (format !== formatVersion) {
    throw new LedgerError("SCHEMA_UNKNOWN", `journal format must be ${formatVersion}, found ${String(format)}`, {
      details: { expected: formatVersion, found: format },
    });
  }
  if (typeof engine !== "string" || typeof nonce !== "string" || incarnation !== 1)
    throw damaged("journal.opened", data);
  if (key !== undefined && !isVerifierKey(key)) throw damaged("journal.opened", data);
  return {
    engine,
    format,
    incarnation,
    nonce,
    origin: parseOrigin(origin, "journal.opened origin"),
    ...(key === undefined ? {} : { key }),
  };
}

/** Reads the data of a `journal.keyChanged`. */
export function parseKeyChanged(data: JsonObject): KeyChanged {
  const { key } = data;
  if (!isVerifierKey(key)) throw damaged("journal.keyChanged", data);
  return { key };
}

// The shape alone: whether the key id is that of the key, and the name that of the journal, is for whoever trusts it.
const verifierKeyPattern = /^[a-z0-9][a-z0-9./-]{0,127}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/;

function isVerifierKey(value: unknown): value is string {
  return typeof value === "string" && verifierKeyPattern.test(value);
}

/** Reads the data of an `area.defined`. */
export function parseAreaDefined(data: JsonObject): AreaDefined {
  const { area, open, kinds } = data;
  if (typeof open !== "boolean" || !Array.isArray(kinds)) throw damaged("area.defined", data);
  return {
    area: parseArea(area, "area.defined area"),
    open,
    kinds: kinds.map((kind) => parseArea(kind, "area.defined kind")),
  };
}

/** Reads the data of a `content.erased`. */
export function parseContentErased(data: JsonObject): ContentErased {
  const { digests, reason } = data;
  if (!Array.isArray(digests) || digests.length === 0 || !digests.every(isDigest))
    throw damaged("content.erased", data);
  return { digests, reason: parseReason(reason, "content.erased reason") };
}

function damaged(type: string, data: JsonObject): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `${type} must have the members of its format, found ${Object.keys(data).join(", ")}`,
    { details: { type } },
  );
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

function base32(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += alphabet[byte & 31];
  return text;
}

/** The incarnation that a `journal.restored` begins. */
export function restoredIncarnation(data: JsonObject): number {
  const { incarnation } = data;
  if (typeof incarnation === "number" && Number.isSafeInteger(incarnation) && incarnation > 1) return incarnation;
  throw new LedgerError("STORE_DAMAGED", "journal.restored must name its incarnation, found none", {
    details: { type: "journal.restored", incarnation },
  });
}
