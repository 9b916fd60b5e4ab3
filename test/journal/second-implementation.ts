/** The journal format a second time, written from FORMAT.md alone: it shares no code with `src`.
 *  Slow and plain on purpose. What it accepts, the product must accept; what it finds, the product must find. */
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";

export type Line =
  | { readonly id: string; readonly entry: string }
  | { readonly n: number; readonly media: string; readonly salt: string; readonly bytes: string }
  | { readonly n: number; readonly digest: string; readonly erased: number }
  | { readonly size: number; readonly root: string };

export interface Problem {
  readonly code: string;
  /** The entry it is about; null when it is about none. */
  readonly seq: number | null;
  readonly message: string;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Fields = { readonly [name: string]: Json };

const sha256 = (...pieces: readonly (string | Uint8Array)[]): Buffer =>
  pieces.reduce((hash, piece) => hash.update(piece), createHash("sha256")).digest();

// Section 2.

export function canonical(value: unknown, level = 1): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    const rounded = Number.isInteger(value) && Math.abs(value) > 2 ** 53 - 1 && Math.abs(value) < 1e21;
    if (!Number.isFinite(value) || rounded) throw new Error(`number ${value}`);
    return String(value);
  }
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || level > 129) throw new Error(`${typeof value} at level ${level}`);
  if (Array.isArray(value)) return `[${value.map((element) => canonical(element, level + 1)).join(",")}]`;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  if (members.some(([name]) => name === "__proto__")) throw new Error("__proto__");
  return `{${members.map(([name, member]) => `${text(name)}:${canonical(member, level + 1)}`).join(",")}}`;
}

function text(value: string): string {
  let written = '"';
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    const short = { 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\" }[unit];
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const next = value.charCodeAt(at + 1);
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) throw new Error("lone surrogate");
      written += value.slice(at, at + 2);
      at++;
    } else if (short !== undefined) written += short;
    else written += unit < 0x20 ? `\\u${unit.toString(16).padStart(4, "0")}` : value.charAt(at);
  }
  return `${written}"`;
}

/** Reads canonical JSON from bytes. */
export function readCanonical(bytes: Uint8Array): Json {
  const decoded = Buffer.from(bytes).toString("utf8");
  if (!Buffer.from(decoded).equals(bytes)) throw new Error("malformed UTF-8");
  const value = JSON.parse(decoded) as Json;
  if (canonical(value) !== decoded) throw new Error("another spelling");
  return value;
}

// Section 3.

const isInteger = (value: unknown, min: number, max = 2 ** 53 - 1): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
const isHash = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isText = (value: unknown, unitsMax: number): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= unitsMax && !/[\u0000-\u001f\u007f]/.test(value);
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isArea = (value: unknown): boolean => typeof value === "string" && /^[a-z][a-zA-Z0-9-]{0,31}$/.test(value);

function isStream(value: unknown): value is string {
  if (typeof value !== "string" || !value.includes("/")) return false;
  return isArea(value.slice(0, value.indexOf("/"))) && isText(value.slice(value.indexOf("/") + 1), 512);
}

function isType(value: unknown): value is string {
  return typeof value === "string" && value.length <= 128 && /^[a-z][a-zA-Z0-9-]{0,31}\.[a-z][a-zA-Z0-9]*$/.test(value);
}

function isMeta(value: unknown): boolean {
  if (!isObject(value)) return false;
  const members = Object.entries(value);
  const sound = members.every(([name, member]) => isText(name, 128) && typeof member === "string");
  return sound && members.length >= 1 && members.length <= 16 && Buffer.byteLength(canonical(value)) <= 2_048;
}

function isFence(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length === 3 &&
    isText(value[0], 512) &&
    isInteger(value[1], 1) &&
    isInteger(value[2], 1)
  );
}

function isTx(value: unknown, seq: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [first, count] = value as unknown[];
  return isInteger(first, 0) && isInteger(count, 1, 10_000) && isInteger(seq, first, first + count - 1);
}

const members: Readonly<
  Record<string, { readonly optional?: boolean; readonly is: (value: unknown, fields: Fields) => boolean }>
> = {
  v: { is: (value) => value === 1 },
  seq: { is: (value) => isInteger(value, 0) },
  prev: { is: isHash },
  tx: { is: (value, fields) => isTx(value, fields["seq"]) },
  stream: { is: isStream },
  rev: { is: (value) => isInteger(value, 1) },
  type: { is: isType },
  tv: { is: (value) => isInteger(value, 1) },
  at: { is: (value) => isInteger(value, 0, 8.64e15) },
  actor: { optional: true, is: (value) => isText(value, 128) },
  command: { optional: true, is: (value) => isText(value, 512) },
  cause: { optional: true, is: isHash },
  corr: { optional: true, is: (value) => isText(value, 512) },
  fence: { optional: true, is: isFence },
  meta: { optional: true, is: isMeta },
  data: { is: isObject },
};

export interface Entry {
  readonly seq: number;
  readonly prev: string;
  readonly tx: readonly [number, number];
  readonly stream: string;
  readonly rev: number;
  readonly type: string;
  readonly at: number;
  readonly cause?: string;
  readonly data: Fields;
}

/** Reads an entry, or answers the code of what is wrong with its bytes. */
export function readEntry(bytes: Uint8Array): Entry | "E_CANON" | "E_FORMAT" | "E_FORMAT_VERSION" {
  let fields: Json;
  try {
    fields = readCanonical(bytes);
  } catch {
    return "E_CANON";
  }
  if (!isObject(fields)) return "E_FORMAT";
  if (fields["v"] !== 1) return "E_FORMAT_VERSION";
  if (bytes.length > 65_535 || Object.keys(fields).some((name) => !Object.hasOwn(members, name))) return "E_FORMAT";
  for (const [name, { optional, is }] of Object.entries(members)) {
    if (!Object.hasOwn(fields, name) ? optional !== true : !is(fields[name], fields)) return "E_FORMAT";
  }
  return fields as unknown as Entry; // each member was checked
}

// Sections 4 and 7.

export function idOf(bytes: Uint8Array): string {
  return sha256(Uint8Array.of(0), bytes).toString("hex");
}

export function digestOf(media: string, salt: Uint8Array, bytes: Uint8Array): string {
  return sha256(`runledger content/v1\n${media}\n${Buffer.from(salt).toString("base64")}\n`, bytes).toString("hex");
}

interface Reference {
  readonly digest: string;
  readonly bytes: number;
  readonly n: number;
}

/** The references in canonical text order; null stands for one that is malformed. */
function referencesIn(value: Json): (Reference | null)[] {
  if (Array.isArray(value)) return (value as Json[]).flatMap(referencesIn);
  if (!isObject(value)) return [];
  if (!Object.hasOwn(value, "$content")) {
    return Object.keys(value)
      .sort()
      .flatMap((name) => referencesIn(value[name] ?? null));
  }
  const { $content, bytes, n } = value;
  const sound =
    Object.keys(value).length === 3 && isHash($content) && isInteger(bytes, 0, 67_108_864) && isInteger(n, 1);
  return [sound ? { digest: $content, bytes, n } : null];
}

// Section 8.

export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256("");
  if (leaves.length === 1) return leaves[0] as Buffer; // there is one
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return node(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

const node = (left: Buffer, right: Buffer): Buffer => sha256(Uint8Array.of(1), left, right);

export function acceptsInclusion(leaf: Buffer, m: number, n: number, proof: readonly Buffer[], root: Buffer): boolean {
  let [hash, first, last] = [leaf, m, n - 1];
  for (const p of proof) {
    if (last === 0) return false;
    if (first % 2 === 1 || first === last) {
      hash = node(p, hash);
      while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    } else hash = node(hash, p);
    [first, last] = [half(first), half(last)];
  }
  return m < n && last === 0 && hash.equals(root);
}

export function acceptsConsistency(
  m: number,
  rootM: Buffer,
  n: number,
  rootN: Buffer,
  proof: readonly Buffer[],
): boolean {
  if (m === n) return proof.length === 0 && rootM.equals(rootN);
  const powerOfTwo = 2 ** Math.round(Math.log2(m)) === m; // log2 alone rounds: that of 2^53 − 2 is 53
  const [head, ...rest] = powerOfTwo ? [rootM, ...proof] : proof;
  if (head === undefined) return false;
  let [first, last, older, newer] = [m - 1, n - 1, head, head];
  while (first % 2 === 1) [first, last] = [half(first), half(last)];
  for (const p of rest) {
    if (last === 0) return false;
    if (first % 2 === 1 || first === last) {
      [older, newer] = [node(p, older), node(p, newer)];
      while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    } else newer = node(newer, p);
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && older.equals(rootM) && newer.equals(rootN);
}

const half = (value: number): number => Math.floor(value / 2);

// Section 9.

/** Does the note verify under the key? Answers its three lines. */
export function openNote(
  note: string,
  verifierKey: string,
): { readonly origin: string; readonly size: number; readonly root: Buffer } | null {
  const [, name = "", id = "", encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(verifierKey) ?? [];
  const key = Buffer.from(encoded, "base64");
  if (key.length !== 33 || key[0] !== 1) return null;
  if (sha256(`${name}\n`, key).subarray(0, 4).toString("hex") !== id) return null;
  const cut = note.lastIndexOf("\n\n") + 1;
  const body = note.slice(0, cut);
  const signature = note
    .slice(cut + 1)
    .split("\n")
    .map((line) => /^— (\S+) (\S+)$/.exec(line))
    .filter((line) => line?.[1] === name)
    .map((line) => Buffer.from(line?.[2] ?? "", "base64"))
    .find((bytes) => bytes.subarray(0, 4).toString("hex") === id);
  if (signature === undefined) return null;
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), key.subarray(1)]);
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
  if (!verifySignature(null, Buffer.from(body), publicKey, signature.subarray(4))) return null;
  const [origin = "", size = "", root = "", ...rest] = body.split("\n");
  if (!/^(0|[1-9][0-9]*)$/.test(size) || rest.join("") !== "") return null;
  return { origin, size: Number(size), root: Buffer.from(root, "base64") };
}

// Section 10.

const ownTypes = new Set([
  "journal.opened",
  "journal.keyChanged",
  "journal.bound",
  "journal.restored",
  "journal.attested",
  "area.defined",
  "content.erased",
]);

/** Checks a journal in JSON Lines form; an empty list means that it is valid. */
export function checkJournal(lines: readonly Line[]): Problem[] {
  const problems: Problem[] = [];
  const ids: string[] = [];
  const revisions = new Map<string, number>();
  const named: Reference[] = [];
  const namedAt: number[] = [];
  const erasedBy = new Map<string, number[]>();
  const stored = new Set<number>();
  let tx = { first: -1, count: 1, at: 0 };

  const entry = (bytes: Buffer, id: string): void => {
    const seq = ids.length;
    const report = (code: string, message: string): void => void problems.push({ code, seq, message });
    ids.push(idOf(bytes));
    if (idOf(bytes) !== id) report("E_ID", `want ${id}`);
    const fields = readEntry(bytes);
    if (typeof fields === "string") return report(fields, "not an entry");
    if (fields.seq !== seq) report("E_SEQ", `have ${fields.seq}`);
    if (fields.prev !== (ids[seq - 1] ?? "0".repeat(64))) report("E_PREV", `have ${fields.prev}`);
    checkOwn(fields, report);
    const [first, count] = fields.tx;
    const inside = seq < tx.first + tx.count;
    if (inside ? first !== tx.first || count !== tx.count || fields.at !== tx.at : first !== seq)
      report("E_TX", `[${first},${count}] at ${fields.at}`);
    if (!inside && (fields.at < tx.at || (seq > 0 && fields.at > tx.at + 31_622_400_000)))
      report("W_CLOCK", `${tx.at} then ${fields.at}`);
    tx = { first, count, at: fields.at };
    const revision = (revisions.get(fields.stream) ?? 0) + 1;
    if (fields.rev !== revision) report("E_REV", `want ${revision}, have ${fields.rev}`);
    revisions.set(fields.stream, fields.rev);
    if (fields.cause !== undefined && !ids.slice(0, first).includes(fields.cause)) report("E_CAUSE", fields.cause);
    for (const reference of referencesIn(fields.data)) {
      const known = reference === null ? undefined : named[reference.n - 1];
      if (reference === null) report("E_CONTENT_REFERENCE", "malformed");
      else if (known !== undefined) {
        if (known.digest !== reference.digest || known.bytes !== reference.bytes)
          report("E_CONTENT_REFERENCE", `content ${reference.n} differs`);
      } else if (reference.n !== named.length + 1)
        report("E_CONTENT_NUMBER", `want ${named.length + 1}, have ${reference.n}`);
      else {
        named.push(reference);
        namedAt.push(seq);
      }
    }
    if (fields.type === "content.erased") erase(fields, report);
  };

  const erase = ({ data, seq }: Entry, report: (code: string, message: string) => void): void => {
    const { digests, reason } = data;
    if (!Array.isArray(digests) || digests.length === 0) return report("E_ERASURE", "no digests");
    if (!isText(reason, 200)) report("E_ERASURE", "no reason");
    for (const digest of digests as unknown[]) {
      const at = named.findIndex((reference) => reference.digest === digest);
      if (!isHash(digest) || at < 0 || (namedAt[at] ?? seq) >= seq)
        report("E_ERASURE", `${JSON.stringify(digest)} was not named before`);
      else erasedBy.set(digest, [...(erasedBy.get(digest) ?? []), seq]);
    }
  };

  for (const line of lines) {
    if ("entry" in line) entry(Buffer.from(line.entry), line.id);
    else if ("root" in line) {
      const root = rootOf(ids.slice(0, line.size).map((id) => Buffer.from(id, "hex"))).toString("hex");
      if (line.size > ids.length || root !== line.root)
        problems.push({ code: "E_ROOT", seq: null, message: `of ${line.size}` });
    } else {
      const reference = named[line.n - 1];
      const report = (code: string): void => void problems.push({ code, seq: null, message: `content ${line.n}` });
      stored.add(line.n);
      if (reference === undefined) report("E_CONTENT_UNKNOWN");
      else if ("erased" in line) {
        if (line.digest !== reference.digest || !erasedBy.get(line.digest)?.includes(line.erased)) report("E_ERASURE");
      } else {
        const [salt, bytes] = [Buffer.from(line.salt, "base64"), Buffer.from(line.bytes, "base64")];
        if (salt.length !== 32 || digestOf(line.media, salt, bytes) !== reference.digest) report("E_CONTENT_DIGEST");
        if (bytes.length !== reference.bytes) report("E_CONTENT_BYTES");
        if (erasedBy.has(reference.digest)) report("W_ERASED_PRESENT");
        if (line.media === "application/json") readCanonical(bytes);
      }
    }
  }
  if (ids.length > 0 && ids.length !== tx.first + tx.count)
    problems.push({ code: "E_TX_INCOMPLETE", seq: ids.length - 1, message: `[${tx.first},${tx.count}]` });
  named.forEach((reference, index) => {
    if (!stored.has(index + 1))
      problems.push({ code: "E_CONTENT_MISSING", seq: namedAt[index] ?? null, message: reference.digest });
  });
  return problems;
}

function checkOwn({ seq, stream, type, data }: Entry, report: (code: string, message: string) => void): void {
  const own = stream === "journal/main";
  if (seq === 0) {
    const { engine, format, incarnation, nonce, origin } = data;
    const sound =
      typeof engine === "string" &&
      format === 1 &&
      incarnation === 1 &&
      typeof nonce === "string" &&
      Buffer.from(nonce, "base64").length === 16;
    const isOrigin = typeof origin === "string" && /^[a-z0-9][a-z0-9./-]{0,127}$/.test(origin);
    if (!own || type !== "journal.opened" || !sound || !isOrigin) report("E_GENESIS", type);
    return;
  }
  const reserved = ["journal", "area", "content"].includes(type.slice(0, type.indexOf(".")));
  if (own ? !ownTypes.has(type) || type === "journal.opened" : reserved || stream.startsWith("journal/"))
    report("E_JOURNAL_EVENT", `${type} on ${stream}`);
  if (type !== "area.defined") return;
  const { area, kinds, open } = data;
  if (!isArea(area) || typeof open !== "boolean" || !Array.isArray(kinds) || !kinds.every(isArea))
    report("E_JOURNAL_EVENT", "area.defined");
}
