/** What the command of definitions is told, and how it is checked. */
import { sha256Hex } from "../kernel/digest.js";
import { invalid } from "../kernel/errors.js";
import { parseName } from "../kernel/names.js";
import { ContentValue, jsonMedia, toContent } from "../journal/content.js";
import { members } from "./input.js";

/** A definition for runs to follow. @public */
export interface RegisterDefinitionInput {
  /** A letter, then letters, digits, `_`, `.` or `-`; at most 128 units. */
  readonly name: string;
  /** JSON, kept as content. Its plain digest is a fact by which anybody can guess it: nothing secret belongs in it. */
  readonly snapshot: unknown;
}

/** `RegisterDefinitionInput` with its snapshot as content, and the digest of that. */
export interface RegisterDefinitionParsed {
  readonly name: string;
  readonly digest: string;
  readonly snapshot: ContentValue;
}

export function parseRegisterDefinition(given: RegisterDefinitionInput): RegisterDefinitionParsed {
  const input = members(given, "register", ["name", "snapshot"]);
  const name = parseName(input["name"], "register.name");
  if (input["snapshot"] === undefined) throw invalid("register.snapshot", "a JSON value", undefined);
  const snapshot = snapshotOf(input["snapshot"], "register.snapshot");
  return { name, digest: sha256Hex(ContentValue.bytesOf(snapshot)!), snapshot };
}

/** The digest of a definition: SHA-256 of the canonical JSON of its snapshot, 64 hex digits. @public */
export function definitionDigest(snapshot: unknown): string {
  return sha256Hex(ContentValue.bytesOf(snapshotOf(snapshot, "snapshot"))!);
}

function snapshotOf(value: unknown, path: string): ContentValue {
  const snapshot = toContent(value, path, typeof value === "string" ? jsonMedia : undefined);
  if (snapshot.media !== jsonMedia) throw invalid(path, "a JSON value", snapshot.media);
  return snapshot;
}
