/** `receipt.recorded` on `client/<client>`: what became of a command, or a list of them, that carried an id.
 *  Invariants: it is the last entry of the tx whose answer it is, and a refusal's is a tx by itself; for each client an id
 *  has at most one. Source: design section 9, decision 0019. */
import type { JsonObject, JsonValue } from "../../kernel/canonical.js";
import { isDigest } from "../../kernel/digest.js";
import { invalid, LedgerError, limit } from "../../kernel/errors.js";
import { commandIdUnitsMax, saltBytes } from "../../kernel/limits.js";
import { parseCode, parseCommandName, parseKey, parseName } from "../../kernel/names.js";
import { isContentReference } from "../content.js";
import type { ContentReference } from "../content.js";

/** The kind of the streams that hold receipts. */
export const clientKind = "client";
export const receiptType = "receipt.recorded";
/** The client of a command whose caller named none. */
export const clientDefault = "default";

/** Why a command was refused, as it was recorded. @public */
export interface RecordedRefusal {
  readonly code: string;
  readonly details: JsonObject;
  readonly message: string;
  /** Which command of a list it was, from 0. */
  readonly index?: number;
}

/** The data of a `receipt.recorded`. */
export interface ReceiptRecorded {
  readonly id: string;
  /** The command; absent for a list. */
  readonly name?: string;
  /** The commands of a list, each name once, in the order in which they first come. */
  readonly names?: readonly string[];
  readonly fingerprint: string;
  /** The salt of the fingerprint: a content of 32 bytes. */
  readonly salt: ContentReference;
  readonly outcome: "accepted" | "refused";
  /** What an accepted command answered; absent when that is nothing. */
  readonly result?: JsonValue;
  /** Of an accepted list: for each command an array with what it answered, or an empty one. */
  readonly results?: readonly (readonly JsonValue[])[];
  /** Of a refused one. */
  readonly refusal?: RecordedRefusal;
}

const members = ["id", "name", "names", "fingerprint", "salt", "outcome", "result", "results", "refusal"];
const refusalMembers = ["code", "details", "message", "index"];

/** The stream that holds the receipts of a client. */
export function receiptStream(client: string): string {
  return `${clientKind}/${client}`;
}

/** The client whose receipts a stream holds. */
export function clientOf(stream: string): string {
  return stream.slice(clientKind.length + 1);
}

/** Parses who sends commands: a letter, then letters, digits, `_`, `.` or `-`, at most 128 units. */
export function parseClient(value: unknown, path: string): string {
  return parseName(value, path);
}

/** Parses the id of a command: 1 to 200 units, no control characters, no lone surrogates; compared as it is. */
export function parseCommandId(value: unknown, path: string): string {
  const id = parseKey(value, path);
  if (id.length > commandIdUnitsMax) throw limit(path, "UTF-16 units", commandIdUnitsMax, id.length);
  return id;
}

/** Reads the data of a `receipt.recorded`. */
export function parseReceipt(data: JsonObject): ReceiptRecorded {
  try {
    return read(data);
  } catch (cause) {
    if (!(cause instanceof LedgerError)) throw cause;
    throw new LedgerError("STORE_DAMAGED", `${receiptType} must have the members of its format: ${cause.message}`, {
      details: { type: receiptType, ...cause.details },
      cause,
    });
  }
}

function read(data: JsonObject): ReceiptRecorded {
  checkNames(data, "data", members);
  const { name, names, fingerprint, salt, outcome, result, results, refusal } = data;
  const id = parseCommandId(data["id"], "data.id");
  if ((name === undefined) === (names === undefined))
    throw invalid("data", "an object with either name or names", "both or neither");
  if (!isDigest(fingerprint)) throw invalid("data.fingerprint", "64 lower-case hex digits", fingerprint);
  if (!isContentReference(salt) || salt.bytes !== saltBytes)
    throw invalid("data.salt", `a reference to a content of ${saltBytes} bytes`, salt);
  const said = {
    id,
    ...(name === undefined ? { names: parseNames(names) } : { name: parseCommandName(name, "data.name") }),
    fingerprint,
    salt,
  };
  if (outcome === "accepted") {
    if (refusal !== undefined) throw invalid("data.refusal", "absent when it was accepted", refusal);
    if (name === undefined && result !== undefined) throw invalid("data.result", "absent of a list", result);
    if (name === undefined) return { ...said, outcome, results: parseResults(results) };
    if (results !== undefined) throw invalid("data.results", "absent of a command", results);
    return { ...said, outcome, ...(result === undefined ? {} : { result }) };
  }
  if (outcome !== "refused") throw invalid("data.outcome", '"accepted" or "refused"', outcome);
  if (result !== undefined || results !== undefined)
    throw invalid("data", "an object without a result when it was refused", "one with it");
  return { ...said, outcome, refusal: parseRefusal(refusal, name === undefined) };
}

function parseNames(names: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(names) || names.length === 0) throw invalid("data.names", "a list of at least one name", names);
  const parsed = names.map((name: unknown, index) => parseCommandName(name, `data.names[${index}]`));
  if (new Set(parsed).size < parsed.length) throw invalid("data.names", "a list that has each name once", names);
  return parsed;
}

function parseResults(results: JsonValue | undefined): readonly (readonly JsonValue[])[] {
  const expected = "a list with an array of at most one element for each command";
  if (!Array.isArray(results) || results.length === 0) throw invalid("data.results", expected, results);
  return results.map((result: JsonValue, index) => {
    if (!Array.isArray(result) || result.length > 1) throw invalid(`data.results[${index}]`, expected, result);
    return result as readonly JsonValue[]; // as was just seen
  });
}

function parseRefusal(refusal: JsonValue | undefined, ofList: boolean): RecordedRefusal {
  if (!isObject(refusal)) throw invalid("data.refusal", "an object", refusal);
  checkNames(refusal, "data.refusal", refusalMembers);
  const { details, message, index } = refusal;
  const code = parseCode(refusal["code"], "data.refusal.code");
  if (!isObject(details)) throw invalid("data.refusal.details", "an object", details);
  if (typeof message !== "string") throw invalid("data.refusal.message", "a string", message);
  if (!ofList && index === undefined) return { code, details, message };
  if (!ofList || typeof index !== "number" || !Number.isSafeInteger(index) || index < 0)
    throw invalid("data.refusal.index", "a whole number from 0 for a list, and absent for a command", index);
  return { code, details, message, index };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkNames(value: JsonObject, path: string, names: readonly string[]): void {
  const other = Object.keys(value).find((name) => !names.includes(name));
  if (other !== undefined) throw invalid(path, `an object with no members but ${names.join(", ")}`, other);
}
