import { types } from "node:util";
import { pathTo } from "../kernel/canonical.js";
import { depthMax, entryBytesMax } from "../kernel/limits.js";

export interface DataWalkOptions {
  /** How messages name the value. */
  readonly path: string;
  /** What is to stand in the place of a value that is no container: a string, a number, an instance of a class. */
  readonly leaf: (value: unknown, path: () => string) => unknown;
  /** What a member is to be called. */
  readonly name?: (name: string) => string;
}

/** Replaces values in data that a caller gave, and copies the containers around them; what does not change is not copied.
 *  Invariants: no code of the data runs; what is no plain data, or more than is ever accepted, is left as it is, to be
 *  refused by who writes it; each container is visited once, however often it is named. */
export function walkData(value: unknown, options: DataWalkOptions): unknown {
  return new DataWalk(options).walk(value);
}

class DataWalk {
  private readonly options: DataWalkOptions;
  private readonly keys: (string | number)[] = [];
  private readonly done = new Map<object, unknown>();

  constructor(options: DataWalkOptions) {
    this.options = options;
  }

  walk(value: unknown): unknown {
    if (types.isProxy(value)) return value;
    if (!isContainer(value)) return this.options.leaf(value, () => pathTo(this.options.path, this.keys));
    if (this.done.has(value)) return this.done.get(value);
    // A cycle leads back to the value itself.
    this.done.set(value, value);
    const walked = this.container(value);
    this.done.set(value, walked);
    return walked;
  }

  private container(value: object): object {
    const isArray = Array.isArray(value);
    if (this.keys.length >= depthMax || (isArray && value.length > entryBytesMax)) return value;
    const members = new Map<string, PropertyDescriptor>();
    let changed = false;
    for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      const named = isArray ? name : (this.options.name?.(name) ?? name);
      if (members.has(named)) throw new Error("two members of an object would have the same name");
      this.keys.push(isArray ? Number(name) : named);
      const walked = this.walk(member.value);
      this.keys.pop();
      changed ||= walked !== member.value || named !== name;
      members.set(named, "value" in member ? { ...member, value: walked } : member);
    }
    if (!changed) return value;
    const copy: object = isArray ? [] : (Object.create(Object.getPrototypeOf(value) as object | null) as object);
    for (const [name, member] of members) Object.defineProperty(copy, name, member);
    return copy;
  }
}

function isContainer(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) ? prototype === Array.prototype : prototype === Object.prototype || prototype === null;
}
