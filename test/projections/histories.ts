/** Histories of events that say themselves what a reducer does with its document: every way in which a document can come to
 *  hold something, and every way in which a reducer can go wrong. */
import fc from "fast-check";
import { defineProjection } from "../../projections/define-projection.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { ProjectionEvent } from "../../projections/event.js";

type Tree = Record<string, unknown> | unknown[];

/** One act on the container of the document that `at` picks. */
export interface Act {
  readonly what: keyof typeof acts;
  readonly at: number;
  readonly name: string;
  readonly value: unknown;
}

/** Constants of a host: they are hung into many documents, and changed in none. */
export const constants: readonly Tree[] = [{ kind: "constant", list: [1, { deep: true }] }, [], { empty: {} }];

class Money {
  amount = 1;
}

const acts = {
  set: (tree: Tree, act: Act) => put(tree, act.name, act.value),
  hangEventPart: (tree: Tree, act: Act) => put(tree, act.name, act.value),
  hangConstant: (tree: Tree, act: Act) => put(tree, act.name, constants[act.at % constants.length]),
  hangTwice: (tree: Tree, act: Act) => {
    const shared = { shared: act.value, list: [act.value] };
    put(tree, act.name, shared);
    put(tree, "again", shared);
  },
  hangAndChange: (tree: Tree, act: Act) => {
    const fresh = { n: 1, list: [] as unknown[] };
    put(tree, act.name, fresh);
    fresh.n += 1;
    fresh.list.push(act.value);
  },
  move: (tree: Tree, act: Act) =>
    put(
      tree,
      act.name,
      Object.values(tree).find((each) => typeof each === "object"),
    ),
  count: (tree: Tree) => put(tree, "n", Number(Reflect.get(tree, "n") ?? 0) + 1),
  setUndefined: (tree: Tree, act: Act) => {
    if (!Array.isArray(tree)) tree[act.name] = undefined;
  },
  setAsItIs: (tree: Tree) => {
    for (const [name, value] of Object.entries(tree)) Reflect.set(tree, name, value);
  },
  minusZero: (tree: Tree, act: Act) => put(tree, act.name, -0),
  remove: (tree: Tree, act: Act) => {
    if (Array.isArray(tree)) tree.shift();
    else delete tree[act.name];
  },
  splice: (tree: Tree, act: Act) => {
    if (Array.isArray(tree)) tree.splice(act.at % (tree.length + 1), 1, act.value, act.value);
  },
  reverse: (tree: Tree) => {
    if (Array.isArray(tree)) tree.reverse();
  },
  truncate: (tree: Tree) => {
    if (Array.isArray(tree)) tree.length = Math.min(1, tree.length);
  },
  setDate: (tree: Tree, act: Act) => put(tree, act.name, new Date(0)),
  setInstance: (tree: Tree, act: Act) => put(tree, act.name, new Money()),
  setUnsafe: (tree: Tree, act: Act) => put(tree, act.name, 2 ** 53),
  setNaN: (tree: Tree, act: Act) => put(tree, act.name, Number.NaN),
  setSurrogate: (tree: Tree, act: Act) => put(tree, act.name, "\ud800"),
  setFunction: (tree: Tree, act: Act) => put(tree, act.name, () => 1),
  setSymbol: (tree: Tree, act: Act) => put(tree, act.name, { [Symbol("mark")]: act.value }),
  fail: () => {
    throw new Error("it went wrong");
  },
} satisfies Record<string, (tree: Tree, act: Act) => void>;

/** Acts that leave no document behind. */
const wrong = new Set<string>([
  "setDate",
  "setInstance",
  "setUnsafe",
  "setNaN",
  "setSurrogate",
  "setFunction",
  "setSymbol",
  "fail",
]);

function put(tree: Tree, name: string, value: unknown): void {
  if (Array.isArray(tree)) tree.push(value);
  else tree[name] = value;
}

function containers(value: unknown, into: Tree[] = []): Tree[] {
  if (typeof value !== "object" || value === null) return into;
  into.push(value as Tree);
  for (const member of Object.values(value)) containers(member, into);
  return into;
}

function play(document: Tree, list: readonly Act[]): void {
  for (const act of list) {
    const all = containers(document);
    const tree = all[act.at % all.length] ?? document;
    acts[act.what](tree, act);
    if (act.what === "hangConstant") return; // what changed it now would change the host's own
  }
}

type Any = Record<string, unknown>;

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A projection that does what its events say; an index goes wrong over a document whose `n` is 13. */
export function playing(name: string): AnyProjection {
  const key = (event: ProjectionEvent): string | null => event.data["key"] as string | null;
  return defineProjection<Any>()({
    name,
    version: 1,
    indexes: {
      n: (document) => (typeof document["n"] === "number" ? [document["n"] === 13 ? 0.5 : document["n"]] : null),
      a: (document) => (typeof document["a"] === "string" ? [document["a"], null, true] : null),
    },
    on: {
      "play.changed": {
        key,
        apply: (document, event) => {
          const own: Any = document ?? { born: event.position };
          play(own, event.data["acts"] as Act[]);
          return document === undefined ? own : undefined;
        },
      },
      "play.returned": {
        key,
        apply: (document, event) => {
          const copy: Any = { ...document, at: event.data };
          play(copy, event.data["acts"] as Act[]);
          return copy;
        },
      },
      "play.replaced": { key, apply: (_, event) => event.data["value"] as Any },
      "play.raised": {
        key,
        apply: (document) => Object.values(document ?? {}).find((each) => isObject(each)) as Any | undefined,
      },
      "play.removed": { key, apply: () => null },
      "play.seen": { key, apply: (document) => document },
    },
  });
}

const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, 1, 13, "", "a", "ä", 1.5, -1),
  fc.string({ unit: "binary", maxLength: 3 }),
);
const value = fc.oneof(
  leaf,
  fc.constant({ part: { of: "event" }, list: [{ n: 1 }, [2]] }),
  fc.array(leaf, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "b", "n", "constructor", "prototype", "1"), leaf, { maxKeys: 3 }),
);
const names = fc.constantFrom("a", "b", "n", "list", "constructor", "prototype", "toString", "1", "0", "then");

function actOf(what: readonly (keyof typeof acts)[]): fc.Arbitrary<Act> {
  return fc.record({ what: fc.constantFrom(...what), at: fc.nat(8), name: names, value });
}

const allActs = Object.keys(acts) as (keyof typeof acts)[];
const right = actOf(allActs.filter((what) => !wrong.has(what)));
const any = actOf(allActs);

function said(anAct: fc.Arbitrary<Act>): fc.Arbitrary<readonly [type: string, data: object]> {
  const list = fc.array(anAct, { minLength: 1, maxLength: 4 });
  const key = fc.constantFrom("a", "b", "ä", "\uffff", "\u{1f600}", null);
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant("play.changed"), fc.record({ key, acts: list })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("play.returned"), fc.record({ key, acts: list })) },
    {
      weight: 1,
      arbitrary: fc.tuple(
        fc.constant("play.replaced"),
        fc.record({ key, value: fc.constant({ whole: { new: [1] } }) }),
      ),
    },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom("play.removed", "play.raised", "play.seen"), fc.record({ key })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("other.happened"), fc.record({ key })) },
  );
}

/** Events, plain and unfrozen, as a host may hold them. `failures`: some reducers go wrong. */
export function histories(options: { readonly failures: boolean }): fc.Arbitrary<ProjectionEvent[]> {
  return fc
    .array(
      options.failures
        ? fc.oneof({ weight: 15, arbitrary: said(right) }, { weight: 1, arbitrary: said(any) })
        : said(right),
      {
        maxLength: 30,
      },
    )
    .map((list) =>
      list.map(([type, data], position) => ({
        position,
        stream: "play/one",
        revision: position + 1,
        type,
        version: 1,
        data,
        at: 1_000 + position,
      })),
    );
}
