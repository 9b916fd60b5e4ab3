/** Canonical JSON (RFC 8785) behind a strict gate: one walk refuses what JSON cannot carry and writes what it can.
 *  Invariants: the text is a fixpoint (parsing and writing it again gives the same text); a value is read once and
 *  never called into (no getter, no `toJSON`, no proxy trap runs); a law holds the text equal to that of
 *  `fast-json-stable-stringify` on everything accepted. Source: design section 4, decision 0002. */
import { types } from "node:util";
import { describe, invalid, LedgerError, limit } from "./errors.js";
import { canonicalUnitsMax, depthMax as valueDepthMax } from "./limits.js";

/** What canonical JSON can carry. @public */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
/** A JSON object. @public */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Values that are taken out of the walk: one node a JSON pointer token. */
export interface PointerNode {
  readonly leaf: boolean;
  readonly children: ReadonlyMap<string, PointerNode>;
}

export interface CanonicalOptions {
  /** How messages name the value; by default `$`. */
  readonly path?: string;
  /** Stop as soon as the text, all segments together, is longer than this, in UTF-16 units; by default 64 Mi. */
  readonly unitsMax?: number;
  readonly depthMax?: number;
  /** Values at these pointers go to `take`. */
  readonly pointers?: PointerNode;
  /** Is offered each object that is not plain, and each value that a pointer names; true: taken, the text breaks there. */
  readonly take?: (value: unknown, path: string) => boolean;
  /** Sees each object with the member `$content`, once all of it is known to be plain. */
  readonly reference?: (value: object, path: string) => void;
}

/** The canonical text of a value. Members that are `undefined` are dropped and `-0` becomes `0`;
 *  whatever else JSON cannot carry is refused with `INVALID_ARGUMENT` and the path, and a text of more than 64 Mi UTF-16
 *  units with `LIMIT_EXCEEDED`. No code of the value runs. @public */
export function canonicalize(value: unknown): string {
  return canonicalText(value);
}

/** The canonical text of a value, in one piece. */
export function canonicalText(value: unknown, options: CanonicalOptions = {}): string {
  return writeCanonical(value, options).join("");
}

/** The canonical text of a value in segments: it is broken where `take` took a value. */
export function writeCanonical(value: unknown, options: CanonicalOptions = {}): readonly string[] {
  const writer = new CanonicalWriter(options);
  writer.write(value, options.pointers);
  return writer.finish();
}

/** Parses canonical text, from bytes or from a string, and refuses any other spelling of the same value. */
export function parseCanonical(text: string | Uint8Array, path = "$", depthMax: number = valueDepthMax): JsonValue {
  const string = typeof text === "string" ? text : decodeUtf8(text, path);
  let value: JsonValue;
  try {
    value = JSON.parse(string) as JsonValue; // checked below, by writing it again
  } catch {
    // Without the cause, whose message quotes the text: it may be a content, which is private.
    throw new LedgerError("INVALID_ARGUMENT", `${path} must be canonical JSON, found text that does not parse`, {
      details: { path },
    });
  }
  const again = canonicalText(value, { path, depthMax });
  if (again !== string) {
    let at = 0;
    while (again.charCodeAt(at) === string.charCodeAt(at)) at++;
    throw new LedgerError("INVALID_ARGUMENT", `${path} must be canonical JSON, found another spelling at unit ${at}`, {
      details: { path, unit: at },
    });
  }
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8 and refuses malformed bytes instead of replacing them. */
export function decodeUtf8(bytes: Uint8Array, path: string): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new LedgerError("INVALID_ARGUMENT", `${path} must be well-formed UTF-8`, { details: { path }, cause });
  }
}

/** Where a member stands, as messages say it: `$.a[0]["odd name"]`, cut when it gets long. */
export function pathTo(base: string, keys: readonly (string | number)[]): string {
  let path = base;
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else path += /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 100))}]`;
    if (path.length > 400) return `${path.slice(0, 400)}…`;
  }
  return path;
}

const escapePattern = /[\u0000-\u001f"\\\ud800-\udfff]/;

/** Text is set aside in pieces of about this size: a string that grows by `+=` alone costs 32 bytes a step until it is flat. */
const pieceUnits = 65_536;

const labelsMax = 4_096;
const labels = new Map<string, string>();

class CanonicalWriter {
  private text = "";
  private pieces: string[] = [];
  private unitsSetAside = 0;
  private readonly segments: string[] = [];
  private readonly keys: (string | number)[] = [];
  private readonly ancestors: object[] = [];
  private readonly options: CanonicalOptions;
  private readonly unitsMax: number;
  /** When `text` is longer than this it is time to set it aside, or to stop. */
  private textUnitsMax: number;
  private readonly depthMax: number;

  constructor(options: CanonicalOptions) {
    this.options = options;
    this.unitsMax = options.unitsMax ?? canonicalUnitsMax;
    this.textUnitsMax = Math.min(this.unitsMax, pieceUnits);
    this.depthMax = options.depthMax ?? valueDepthMax;
  }

  finish(): readonly string[] {
    this.refuseUnits(0);
    this.endSegment();
    return this.segments;
  }

  write(value: unknown, pointers: PointerNode | undefined): void {
    if (pointers?.leaf && this.taken(value)) return;
    switch (typeof value) {
      case "string":
        return this.string(value);
      case "number":
        return this.number(value);
      case "boolean":
        this.text += value ? "true" : "false";
        return;
      case "object":
        if (value === null) {
          this.text += "null";
          return;
        }
        return this.container(value, pointers);
      default:
        throw this.refuse("a JSON value", describe(value));
    }
  }

  private string(value: string): void {
    this.text += this.quoted(value);
    if (this.text.length > this.textUnitsMax) this.grown();
  }

  private quoted(value: string): string {
    if (value.length > this.textUnitsMax) this.refuseUnits(value.length);
    if (!escapePattern.test(value)) return `"${value}"`;
    if (!value.isWellFormed()) throw this.refuse("free of lone surrogates", "one");
    return JSON.stringify(value);
  }

  /** A member's name as it stands in the text, colon included. The same few names come back in every event. */
  private label(name: string): string {
    let label = labels.get(name);
    if (label === undefined) {
      label = `${this.quoted(name)}:`;
      if (labels.size < labelsMax && name.length <= 64) labels.set(name, label);
    }
    return label;
  }

  private number(value: number): void {
    if (!Number.isFinite(value)) throw this.refuse("a finite number", String(value));
    if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21) {
      throw this.refuse(
        "an integer within ±(2^53−1): a larger one was rounded before it came here; send it as a string",
        String(value),
      );
    }
    this.text += String(value); // -0 prints as 0
  }

  private container(value: object, pointers: PointerNode | undefined): void {
    this.refuseProxy(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    const isArray = Array.isArray(value);
    if (isArray ? prototype !== Array.prototype : prototype !== Object.prototype && prototype !== null) {
      if (this.taken(value)) return;
      throw this.refuse("a plain object or array", `an instance of ${className(prototype)}`);
    }
    if (this.ancestors.length >= this.depthMax) throw this.tooDeep(value);
    this.ancestors.push(value);
    if (isArray) this.array(value, pointers);
    else this.object(value as Record<string, unknown>, pointers);
    this.ancestors.pop();
  }

  private array(value: readonly unknown[], pointers: PointerNode | undefined): void {
    this.refuseUnits(value.length * (this.options.take === undefined ? 2 : 1)); // a comma each, and a unit unless it is taken
    if (Object.keys(value).length !== value.length || hasSymbols(value))
      throw this.refuse("an array without holes or extra members", "one with some");
    this.refuseToJson(value);
    this.text += "[";
    for (let index = 0; index < value.length; index++) {
      if (index > 0) this.text += ",";
      this.keys.push(index);
      const member = this.member(value, String(index));
      if (member === undefined) throw this.refuse("a JSON value", "undefined in an array");
      this.write(member, pointers?.children.get(String(index)));
      if (this.text.length > this.textUnitsMax) this.grown();
      this.keys.pop();
    }
    this.text += "]";
  }

  private object(value: Readonly<Record<string, unknown>>, pointers: PointerNode | undefined): void {
    const names = sorted(Object.getOwnPropertyNames(value));
    if (hasSymbols(value)) throw this.refuse("free of symbol keys", "an object with some");
    this.refuseToJson(value);
    this.text += "{";
    let first = true;
    for (const name of names) {
      this.keys.push(name);
      if (name === "__proto__") throw this.refuse("free of members named __proto__", "one");
      const member = this.member(value, name);
      if (member !== undefined) {
        this.text += first ? this.label(name) : `,${this.label(name)}`;
        first = false;
        this.write(member, pointers?.children.get(name));
        if (this.text.length > this.textUnitsMax) this.grown();
      }
      this.keys.pop();
    }
    this.text += "}";
    if (this.options.reference !== undefined && Object.hasOwn(value, "$content") && value["$content"] !== undefined)
      this.options.reference(value, this.path());
  }

  /** Reads a member once, through its descriptor, so that no getter runs. */
  private member(container: object, name: string): unknown {
    const descriptor = Object.getOwnPropertyDescriptor(container, name);
    if (descriptor === undefined) throw this.refuse("a JSON value", "a hole in an array");
    if (!("value" in descriptor)) throw this.refuse("a plain member", "an accessor");
    if (!descriptor.enumerable) throw this.refuse("an enumerable member", "a hidden one");
    return descriptor.value;
  }

  private taken(value: unknown): boolean {
    this.refuseProxy(value);
    if (this.options.take === undefined || !this.options.take(value, this.path())) return false;
    this.endSegment();
    return true;
  }

  /** Before anything asks it a question. */
  private refuseProxy(value: unknown): void {
    if (types.isProxy(value)) throw this.refuse("plain data", "a Proxy");
  }

  /** An own `toJSON` that is data is data; a function, or one that is inherited, is refused without being read. */
  private refuseToJson(value: object): void {
    if (!("toJSON" in value)) return;
    const own = Object.getOwnPropertyDescriptor(value, "toJSON");
    if (own === undefined || typeof own.value === "function") throw this.refuse("plain data", "a value with toJSON");
  }

  private endSegment(): void {
    this.segments.push(this.pieces.length === 0 ? this.text : this.pieces.join("") + this.text);
    this.pieces = [];
    this.startText();
  }

  private grown(): void {
    this.refuseUnits(0);
    if (Number.isNaN(this.text.charCodeAt(0))) return; // empty; asking makes it flat, which gives the memory of its parts back
    this.pieces.push(this.text);
    this.startText();
  }

  private startText(): void {
    this.unitsSetAside += this.text.length;
    this.text = "";
    this.textUnitsMax = Math.min(this.unitsMax - this.unitsSetAside, pieceUnits);
  }

  private refuseUnits(more: number): void {
    const units = this.unitsSetAside + this.text.length + more;
    if (units > this.unitsMax) throw limit(this.path(), "UTF-16 units of canonical JSON", this.unitsMax, units);
  }

  private path(keys: number = this.keys.length): string {
    return pathTo(this.options.path ?? "$", this.keys.slice(0, keys));
  }

  private refuse(expected: string, found: string): LedgerError {
    const path = this.path();
    return new LedgerError("INVALID_ARGUMENT", `${path} must be ${expected}, found ${found}`, {
      details: { path, expected, found },
    });
  }

  private tooDeep(value: object): LedgerError {
    const seen = new Set<object>();
    for (const [level, container] of [...this.ancestors, value].entries()) {
      if (seen.has(container)) return invalid(this.path(level), "free of cycles", container);
      seen.add(container);
    }
    return limit(this.path(), "levels of nesting", this.depthMax, this.depthMax + 1);
  }
}

function hasSymbols(value: object): boolean {
  return Object.getOwnPropertySymbols(value).length > 0;
}

/** Sorts names by UTF-16 code units, in place; most objects come sorted, or nearly so. */
export function sorted(names: string[]): string[] {
  let previous = "";
  for (const name of names) {
    if (previous > name) return names.sort();
    previous = name;
  }
  return names;
}

function className(prototype: unknown): string {
  const constructor = ownData(prototype, "constructor");
  const name = ownData(constructor, "name");
  return typeof name === "string" && name !== "" ? describe(name).slice(1, -1) : "another prototype";
}

/** An own member that is plain data; nothing is called to find it. */
function ownData(holder: unknown, name: string): unknown {
  if ((typeof holder !== "object" && typeof holder !== "function") || holder === null || types.isProxy(holder))
    return undefined;
  return Object.getOwnPropertyDescriptor(holder, name)?.value as unknown;
}
