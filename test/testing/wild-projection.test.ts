/** The laws of projections over reducers that nobody would write: whatever a recipe does to its document, the drivers agree. */
import fc from "fast-check";
import { describe, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { describeProjection } from "../../src/testing/describe-projection.js";
import { eventData } from "../../src/testing/arbitraries.js";

type Value = null | boolean | number | string | Value[] | { [member: string]: Value };
type Wild = Record<string, Value>;

/** One thing that is done to a document; names and values come from the event. */
interface Deed {
  readonly does: string;
  readonly name: string;
  readonly other: string;
  readonly value: Value;
}

/** What is not the document's own and must not be changed: a constant of the host here, a part of an event below. */
const constant: Value = Object.freeze({ shared: Object.freeze([1, "constant of the host"]) as never });

/** One event's deeds. */
class Deeds {
  private readonly document: Wild;
  private readonly foreign = new Set<unknown>([constant]);

  constructor(document: Wild) {
    this.document = document;
  }

  do({ does, name, other, value }: Deed): void {
    const { document } = this;
    switch (does) {
      case "set":
        document[name] = structuredClone(value);
        break;
      case "hang":
        this.foreign.add(value);
        document[name] = value;
        break;
      case "constant":
        document[name] = constant;
        break;
      case "delete":
        delete document[name];
        break;
      case "move":
        document[name] = this.at(other);
        if (name !== other) delete document[other];
        break;
      case "share":
        document[name] = this.at(other);
        break;
      case "push":
        this.list(name).push(value);
        break;
      case "unshift":
        this.list(name).unshift(value, value);
        break;
      case "splice":
        this.list(name).splice(1, 1, value, "spliced");
        break;
      case "shorten":
        this.list(name).length = Math.min(1, this.list(name).length);
        break;
      case "reverse":
        this.list(name).reverse();
        break;
      case "sort":
        this.list(name).sort((one, two) => (JSON.stringify(one) < JSON.stringify(two) ? -1 : 1));
        break;
      case "into":
        this.list(name).push(typeof this.at(other) === "object" ? "no cycles" : this.at(other));
        break;
      case "deep": {
        const inner = this.at(name);
        if (typeof inner !== "object" || inner === null || Array.isArray(inner) || this.foreign.has(inner))
          document[name] = { [other]: value };
        else inner[other] = value;
        break;
      }
      case "back":
        document[name] = value;
        delete document[name];
        break;
      case "zero":
        document[name] = -0;
        break;
      default:
        document[name] = undefined as never;
    }
  }

  private at(name: string): Value {
    return Object.hasOwn(this.document, name) ? (this.document[name] ?? null) : null;
  }

  private list(name: string): Value[] {
    const list = this.at(name);
    if (Array.isArray(list) && !this.foreign.has(list)) return list;
    this.document[name] = [];
    return this.at(name) as Value[]; // it was put there just now
  }
}

const wild = defineProjection<Wild>()({
  name: "wild",
  version: 1,
  indexes: {
    byA: ({ a }) => (typeof a === "string" || (typeof a === "number" && Number.isSafeInteger(a)) ? [a] : null),
    bySize: (document) => [Object.keys(document).length],
  },
  on: {
    "wild.changed": {
      key: ({ data }) => String(data["key"]),
      apply(document = {}, { data }) {
        const deeds = new Deeds(document);
        for (const deed of data["deeds"] as Deed[]) deeds.do(deed);
        return document;
      },
    },
    "wild.replaced": {
      key: ({ data }) => String(data["key"]),
      apply: (document, { data }) => ({ ...document, ...(data["with"] as Wild) }),
    },
    "wild.removed": { key: ({ data }) => String(data["key"]), apply: () => null },
  },
});

const names = fc.constantFrom("a", "b", "c", "constructor", "1", "length");
const values = fc.oneof(
  fc.constantFrom<Value>(null, true, 0, -1, 1.5, "", "x", [], {}, [[1]], { a: { b: [1, 2] } }),
  eventData() as fc.Arbitrary<Value>,
);
const deeds = fc.constantFrom(
  "set",
  "hang",
  "delete",
  "move",
  "share",
  "constant",
  "push",
  "unshift",
  "splice",
  "shorten",
  "reverse",
  "sort",
  "into",
  "deep",
  "back",
  "zero",
  "undefined",
);
const keys = fc.constantFrom("one", "two");
const stream = fc.constant("wild/1");

describeProjection(
  "a wild projection",
  {
    projection: wild,
    events: [],
    histories: fc.array(
      fc.oneof(
        {
          weight: 8,
          arbitrary: fc.record({
            stream,
            type: fc.constant("wild.changed"),
            data: fc.record({
              key: keys,
              deeds: fc.array(fc.record({ does: deeds, name: names, other: names, value: values }), { maxLength: 4 }),
            }),
          }),
        },
        fc.record({
          stream,
          type: fc.constant("wild.replaced"),
          data: fc.record({ key: keys, with: fc.dictionary(names, values, { maxKeys: 3 }) }),
        }),
        fc.record({ stream, type: fc.constant("wild.removed"), data: fc.record({ key: keys }) }),
      ),
      { maxLength: 15 },
    ),
  },
  { describe, test: (title, body) => test(title, { timeout: 600_000 }, body) },
);
