/** What a ledger refuses, as fast-check arbitraries: each sample says where its fault is.
 *  Invariant: no sample is accepted. Companion of `arbitraries.ts`; source: design section 4. */
import fc from "fast-check";
import { depthMax } from "../kernel/limits.js";
import { jsonKeys, jsonValues } from "./arbitraries.js";

/** A value that must be refused with `INVALID_ARGUMENT`. @public */
export interface RefusedValue {
  /** What is wrong with it, in a word or two. */
  readonly fault: string;
  readonly value: unknown;
  /** The JSON path at which it is refused, from `$`. */
  readonly path: string;
}

type Step = string | number;

/** One value that JSON cannot carry, alone. */
interface Fault {
  readonly fault: string;
  readonly make: () => unknown;
  /** Where inside the value the fault shows. */
  readonly at?: readonly Step[];
}

class Instance {
  readonly member: number = 1;
}

class Numbers extends Array<number> {}

/** Every kind of thing that JSON cannot carry. Made afresh for each sample, because some can be changed by who reads them. */
const faults: readonly Fault[] = [
  { fault: "NaN", make: () => NaN },
  { fault: "Infinity", make: () => Infinity },
  { fault: "-Infinity", make: () => -Infinity },
  { fault: "2^53", make: () => 2 ** 53 },
  { fault: "-(2^53)", make: () => -(2 ** 53) },
  { fault: "the largest integer that prints as digits", make: () => 999_999_999_999_999_900_000 },
  { fault: "BigInt", make: () => 1n },
  { fault: "function", make: () => () => 1 },
  { fault: "symbol", make: () => Symbol("s") },
  { fault: "Date", make: () => new Date(0) },
  { fault: "invalid Date", make: () => new Date(NaN) },
  { fault: "Map", make: () => new Map([["a", 1]]) },
  { fault: "Set", make: () => new Set([1]) },
  { fault: "RegExp", make: () => /a/ },
  { fault: "Error", make: () => new Error("a") },
  { fault: "Promise", make: () => Promise.resolve(1) },
  { fault: "class instance", make: () => new Instance() },
  { fault: "boxed string", make: () => Object("a") as unknown },
  { fault: "boxed number", make: () => Object(1) as unknown },
  { fault: "boxed boolean", make: () => Object(true) as unknown },
  { fault: "typed array", make: () => new Uint8Array(2) },
  { fault: "ArrayBuffer", make: () => new ArrayBuffer(2) },
  { fault: "array of a subclass", make: () => new Numbers(1, 2) },
  { fault: "Proxy of an object", make: () => new Proxy({}, hostileHandler) },
  { fault: "Proxy of an array", make: () => new Proxy([], hostileHandler) },
  { fault: "revoked Proxy", make: revokedProxy },
  { fault: "lone high surrogate", make: () => "a\ud800" },
  { fault: "lone low surrogate", make: () => "\udc00a" },
  { fault: "lone surrogate in a key", make: () => ({ "\ud800": 1 }), at: ["\ud800"] },
  { fault: "undefined in an array", make: () => [1, undefined], at: [1] },
  { fault: "hole", make: () => Array<number>(1) },
  { fault: "hole beside an extra member", make: holeBesideExtra, at: [1] },
  { fault: "array with an extra member", make: () => Object.assign([1], { extra: 1 }) },
  { fault: "symbol key", make: () => ({ [Symbol("s")]: 1 }) },
  { fault: "getter", make: () => Object.defineProperty({}, "a", { get: hostile, enumerable: true }), at: ["a"] },
  { fault: "setter", make: () => Object.defineProperty({}, "a", { set: hostile, enumerable: true }), at: ["a"] },
  { fault: "hidden member", make: () => Object.defineProperty({}, "a", { value: 1 }), at: ["a"] },
  { fault: "toJSON", make: () => ({ toJSON: hostile }) },
  {
    fault: "getter named toJSON",
    make: () => Object.defineProperty({}, "toJSON", { get: hostile, enumerable: true }),
    at: ["toJSON"],
  },
  { fault: "toJSON of an array", make: () => Object.defineProperty([], "toJSON", { value: hostile }) },
  { fault: "own __proto__", make: () => JSON.parse('{"a":1,"__proto__":{"b":2}}') as unknown, at: ["__proto__"] },
  { fault: "cycle", make: ownCycle, at: ["a", "a"] },
  { fault: "cycle through arrays", make: arrayCycle, at: [0, 0] },
];

function hostile(): never {
  throw new Error("a value was called into");
}

const hostileHandler: ProxyHandler<object> = {
  get: hostile,
  getOwnPropertyDescriptor: hostile,
  getPrototypeOf: hostile,
  has: hostile,
  ownKeys: hostile,
};

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** As many names as an array of three elements has, and yet one of the elements is missing. */
function holeBesideExtra(): unknown {
  const value = Array<number>(3);
  value[0] = 1;
  value[2] = 3;
  return Object.assign(value, { extra: 1 });
}

function ownCycle(): unknown {
  const inner: Record<string, unknown> = {};
  inner["a"] = inner;
  return { a: inner };
}

function arrayCycle(): unknown {
  const inner: unknown[] = [];
  inner.push(inner);
  return [inner];
}

/** Values with one fault each, at a random place inside a value that is fine otherwise. @public */
export function refusedValues(): fc.Arbitrary<RefusedValue> {
  const places = fc.array(fc.oneof(fc.integer({ min: 0, max: 2 }), jsonKeys()), { maxLength: 4 });
  return fc.tuple(fc.constantFrom(...faults), places, jsonValues()).map(([fault, place, beside]) => {
    const value = place.reduceRight<unknown>((inner, step) => wrap(inner, step, beside), fault.make());
    return { fault: fault.fault, value, path: pathOf([...place, ...(fault.at ?? [])]) };
  });
}

/** Each kind of fault once, alone. @public */
export function everyRefusedValue(): readonly RefusedValue[] {
  return faults.map(({ fault, make, at }) => ({ fault, value: make(), path: pathOf(at ?? []) }));
}

/** Values that nest one level too deep, or very much too deep: refused with `LIMIT_EXCEEDED`. @public */
export function tooDeepValues(): fc.Arbitrary<unknown> {
  return fc.tuple(fc.constantFrom(depthMax + 1, depthMax + 2, 1_000, 100_000), fc.boolean()).map(([levels, arrays]) => {
    let value: unknown = arrays ? [] : {};
    for (let level = 1; level < levels; level++) value = arrays ? [value] : { a: value };
    return value;
  });
}

function wrap(inner: unknown, step: Step, beside: unknown): unknown {
  if (typeof step === "string") return { [step]: inner };
  return [...Array<unknown>(step).fill(beside), inner];
}

function pathOf(steps: readonly Step[]): string {
  let path = "$";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else path += /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return path;
}
