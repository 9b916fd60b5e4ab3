/** What a pure function must not read: clocks, randomness, timers, the environment, the locale and time zone of the machine.
 *  While a function runs under `withoutHiddenInputs`, each of them throws.
 *  Invariant: whatever happens, everything is put back before it returns, also when it is nested. Not seen: what a module
 *  took from its object when it was loaded (`const { now } = Date`), files, sockets, and what runs later. */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";

/** A pure function read something beside its arguments. @public */
export class HiddenInputError extends Error {
  override readonly name = "HiddenInputError";
  /** What it read: `Date.now()`, `Math.random()`. */
  readonly input: string;

  /** @internal */
  constructor(input: string) {
    super(`a pure function must read nothing but its arguments, found ${input}`);
    this.input = input;
  }
}

/** The first thing that was read while everything is away; a function that swallows the error is found all the same. */
let read: HiddenInputError | null = null;
let away = false;

/** Runs a synchronous function while every hidden input throws a `HiddenInputError`, and throws it when one was read, even
 *  if the function caught it. @public */
export function withoutHiddenInputs<Result>(act: () => Result): Result {
  if (away) return act();
  const putBack = takeAway();
  away = true;
  read = null;
  let result: Result;
  try {
    result = act();
  } finally {
    putBack();
    away = false;
  }
  if (read !== null) throw read as HiddenInputError;
  return result;
}

function refuse(input: string): never {
  const error = new HiddenInputError(input.replace(/^globalThis\./, ""));
  read ??= error;
  throw error;
}

/** Answers what puts everything back. */
function takeAway(): () => void {
  const kept: { readonly owner: object; readonly name: string; readonly descriptor: PropertyDescriptor }[] = [];
  const replace = (owner: object, name: string, replacement: PropertyDescriptor): void => {
    for (let holder: object | null = owner; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
      const descriptor = Object.getOwnPropertyDescriptor(holder, name);
      if (descriptor?.configurable !== true) continue;
      kept.push({ owner: holder, name, descriptor });
      Object.defineProperty(holder, name, {
        configurable: true,
        enumerable: descriptor.enumerable === true,
        ...replacement,
      });
      return;
    }
  };
  const putBack = (): void => {
    for (const { owner, name, descriptor } of kept.reverse()) Object.defineProperty(owner, name, descriptor);
    syncBuiltinESMExports();
  };
  try {
    for (const { owner, says, calls = [], reads = [] } of inputs()) {
      for (const name of calls) replace(owner, name, { writable: true, value: refusing(`${says}.${name}()`) });
      // Not by a getter: that the exports of modules are brought in line would read it.
      for (const name of reads) replace(owner, name, { writable: true, value: unreadable(`${says}.${name}`) });
    }
    replace(globalThis, "Date", { writable: true, value: frozenDate() });
    syncBuiltinESMExports();
    return putBack;
  } catch (error) {
    putBack();
    throw error;
  }
}

/** A function that refuses, and so do its members: `process.hrtime.bigint`. */
function refusing(input: string): object {
  return Object.assign(() => refuse(input), { bigint: () => refuse(input) });
}

/** An object whose every use refuses, but for the mode of the program, which immer asks for under every reducer. */
function unreadable(input: string): object {
  const { NODE_ENV } = process.env;
  const refused = (): never => refuse(input);
  return new Proxy(
    {},
    {
      get: (_, name) => (name === "NODE_ENV" ? NODE_ENV : refused()),
      has: refused,
      ownKeys: refused,
      getOwnPropertyDescriptor: refused,
    },
  );
}

/** `Date` without the present and without the zone of the machine: a moment is given as a number or as text. */
function frozenDate(): DateConstructor {
  return new Proxy(Date, {
    apply: () => refuse("Date()"),
    construct(target, args: [], newTarget: () => void) {
      if (args.length === 0) refuse("new Date()");
      if (args.length > 1) refuse("new Date(year, month, …), which is local time");
      return Reflect.construct(target, args, newTarget) as Date;
    },
  });
}

interface Inputs {
  readonly owner: object;
  readonly says: string;
  readonly calls?: readonly string[];
  readonly reads?: readonly string[];
}

function inputs(): readonly Inputs[] {
  const timerCalls = ["setTimeout", "setInterval", "setImmediate"];
  const random = ["randomBytes", "randomInt", "randomUUID", "randomFill", "randomFillSync", "getRandomValues"];
  const local = ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"];
  return [
    { owner: Date, says: "Date", calls: ["now"] },
    { owner: Math, says: "Math", calls: ["random"] },
    { owner: performance, says: "performance", calls: ["now", "mark", "measure", "toJSON"] },
    { owner: globalThis.crypto, says: "crypto", calls: ["getRandomValues", "randomUUID"] },
    { owner: crypto, says: "crypto", calls: random },
    { owner: timers, says: "timers", calls: timerCalls },
    { owner: globalThis, says: "globalThis", calls: [...timerCalls, "queueMicrotask", "fetch"], reads: ["Intl"] },
    {
      owner: process,
      says: "process",
      calls: ["hrtime", "uptime", "cpuUsage", "memoryUsage", "nextTick", "cwd"],
      reads: ["env"],
    },
    {
      owner: Date.prototype,
      says: "Date.prototype",
      calls: [
        ...local.map((part) => `get${part}`),
        ...local.filter((part) => part !== "Day").map((part) => `set${part}`),
        "getTimezoneOffset",
        "toString",
        "toDateString",
        "toTimeString",
        "toLocaleString",
        "toLocaleDateString",
        "toLocaleTimeString",
      ],
    },
    {
      owner: String.prototype,
      says: "String.prototype",
      calls: ["localeCompare", "toLocaleLowerCase", "toLocaleUpperCase"],
    },
    { owner: Number.prototype, says: "Number.prototype", calls: ["toLocaleString"] },
    { owner: Array.prototype, says: "Array.prototype", calls: ["toLocaleString"] },
  ];
}
