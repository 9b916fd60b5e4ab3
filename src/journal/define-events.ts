/** Event definitions: everything the engine must know of an area's events, said once. Source: design section 6. */
import { types } from "node:util";
import type { JsonObject, PointerNode } from "../kernel/canonical.js";
import { describe, invalid } from "../kernel/errors.js";
import { isList } from "../kernel/members.js";
import { areaOf, parseArea, parseType } from "../kernel/names.js";
import { clientKind } from "./events/receipt.js";
import { parserOf } from "./schema.js";
import type { StandardSchema } from "./schema.js";

/** What is said of one event type. @public */
export interface EventDefinition {
  /** Schema version of `data` that is written today, from 1. Default 1. */
  readonly version?: number;
  /** Checks the data and may shape it: a Standard Schema, or a function that returns the data or throws. */
  readonly parse?: StandardSchema | ((data: unknown) => object);
  /** JSON pointers to values that are content: the engine moves them beside the journal. */
  readonly content?: readonly string[];
  /** For each older version the step to the next: `upcast[1]` turns data of version 1 into data of version 2. Pure. */
  readonly upcast?: Readonly<Record<number, (data: JsonObject) => JsonObject>>;
}

/** What an area is. @public */
export interface AreaOptions {
  /** May the area be written with `append`? A closed one is written by its commands alone. */
  readonly open: boolean;
  /** The stream kinds that the area owns. Default: its own name. */
  readonly kinds?: readonly string[];
}

/** The definitions of an area, made by `defineEvents`. @public */
export interface EventDefinitions {
  readonly area: string;
  readonly open: boolean;
  readonly kinds: readonly string[];
  readonly events: ReadonlyMap<string, ParsedEventDefinition>;
}

/** One event definition, checked. @public */
export interface ParsedEventDefinition {
  readonly type: string;
  readonly version: number;
  readonly parse: (data: unknown) => unknown;
  readonly pointers: PointerNode | undefined;
  readonly upcast: ReadonlyMap<number, (data: JsonObject) => JsonObject>;
}

/** Names that belong to the journal itself. */
export const reservedAreas: ReadonlySet<string> = new Set(["journal", "content", "receipt", "fence", "area"]);
/** Kinds of streams that belong to it; `client` holds receipts. */
export const reservedKinds: ReadonlySet<string> = new Set([...reservedAreas, clientKind]);

/** Defines the events of an area once: versions, parsing, content and upcasting. @public */
export function defineEvents(
  area: string,
  options: AreaOptions,
  events: Readonly<Record<string, EventDefinition>>,
): EventDefinitions {
  parseArea(area, "area");
  if (reservedAreas.has(area)) throw invalid("area", "a name that the journal does not use itself", area);
  const { open, kinds = [area] } = isObject(options) ? options : ({} as Partial<AreaOptions>);
  if (typeof open !== "boolean") throw invalid(`${area} options.open`, "true or false", open);
  if (!isObject(events)) throw invalid(`${area} events`, "an object with a definition for each type", events);
  const parsed = new Map<string, ParsedEventDefinition>();
  for (const [type, definition] of Object.entries(events)) parsed.set(type, parseDefinition(area, type, definition));
  return {
    area,
    open,
    kinds: parseKinds(kinds, `${area} options.kinds`),
    events: parsed,
  };
}

function parseKinds(kinds: unknown, path: string): readonly string[] {
  if (!isList(kinds)) throw invalid(path, "a list of names", kinds);
  const parsed = Array.from(kinds, (kind: unknown, index) => parseArea(kind, `${path}[${index}]`));
  parsed.forEach((kind, index) => {
    if (reservedKinds.has(kind))
      throw invalid(`${path}[${index}]`, "a kind that the journal does not use itself", kind);
    if (parsed.indexOf(kind) < index) throw invalid(`${path}[${index}]`, "named once", kind);
  });
  return parsed;
}

function parseDefinition(area: string, type: string, definition: EventDefinition): ParsedEventDefinition {
  parseType(type, `${area} event type`);
  if (areaOf(type) !== area) throw invalid(`${area} event type`, `one of area "${area}"`, type);
  if (!isObject(definition)) throw invalid(`${type} definition`, "an object", definition);
  const { version = 1, parse, content, upcast = {} } = definition;
  if (!Number.isSafeInteger(version) || version < 1) throw invalid(`${type} version`, "an integer from 1", version);
  if (!isObject(upcast)) throw invalid(`${type} upcast`, "an object with a step for each older version", upcast);
  const steps = new Map<number, (data: JsonObject) => JsonObject>();
  for (const [from, step] of Object.entries(upcast)) {
    if (!/^[1-9][0-9]*$/.test(from) || Number(from) >= version)
      throw invalid(`${type} upcast`, `steps from versions 1 to ${version - 1}`, from);
    if (typeof step !== "function") throw invalid(`${type} upcast[${from}]`, "a function", step);
    steps.set(Number(from), step);
  }
  for (let from = 1; from < version; from++) {
    if (!steps.has(from))
      throw invalid(`${type} upcast`, `a step from version ${from}: version ${version} is written today`, undefined);
  }
  return {
    type,
    version,
    parse: parserOf(parse, { name: type, what: "data" }),
    pointers: content === undefined ? undefined : pointerTree(type, content),
    upcast: steps,
  };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !types.isProxy(value) && !Array.isArray(value);
}

interface MutablePointerNode extends PointerNode {
  leaf: boolean;
  readonly children: Map<string, MutablePointerNode>;
}

/** JSON pointers (RFC 6901) as a tree. */
function pointerTree(type: string, pointers: readonly string[]): PointerNode {
  if (!isList(pointers)) throw invalid(`${type} content`, 'a list of JSON pointers such as "/note"', pointers);
  const root: MutablePointerNode = { leaf: false, children: new Map() };
  for (const pointer of pointers) {
    if (typeof pointer !== "string" || !pointer.startsWith("/") || /~(?![01])/.test(pointer)) {
      throw invalid(
        `${type} content`,
        'JSON pointers such as "/note"',
        typeof pointer === "string" ? pointer : describe(pointer),
      );
    }
    let node = root;
    for (const token of pointer.slice(1).split("/")) {
      const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
      let child = node.children.get(name);
      if (child === undefined) node.children.set(name, (child = { leaf: false, children: new Map() }));
      node = child;
      if (node.leaf) throw invalid(`${type} content`, "pointers to values that do not lie inside one another", pointer);
    }
    if (node.children.size > 0)
      throw invalid(`${type} content`, "pointers to values that do not lie inside one another", pointer);
    node.leaf = true;
  }
  return root;
}
