/** A host's own definitions, from the modules that `--define` names: with them its events are upcast and its projections
 *  folded. Loading a module runs it; nobody but the command line says which. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Projection } from "../../projections/define-projection.js";
import type { EventDefinitions } from "../index.js";
import { messageOf } from "../../projections/failure.js";
import { UsageError } from "./exit.js";
import { collect } from "./outside.js";

/** What modules define. */
export interface Definitions {
  readonly events: readonly EventDefinitions[];
  readonly projections: readonly Projection[];
}

/** The option that verbs have which upcast or fold. */
export interface DefineOptions {
  readonly define?: readonly string[];
}

export const defineOption: readonly [flags: string, says: string, collects: typeof collect] = [
  "--define <module>",
  "a module (JavaScript, a path or a package) that exports what defineEvents and defineProjection return, singly or in lists; it is run; may be repeated (default: $RUNLEDGER_DEFINE)",
  collect,
];

/** Loads the modules that the command line names, or else those of the environment. */
export async function loadDefinitions(
  { define }: DefineOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Definitions> {
  const named = define ?? (env["RUNLEDGER_DEFINE"] ?? "").split(delimiter).filter((each) => each !== "");
  const events = new Set<EventDefinitions>();
  const projections = new Set<Projection>();
  for (const each of named) {
    const found = definitionsIn(await load(each));
    if (found.size === 0)
      throw new UsageError(
        `--define must name a module that exports definitions, found none in ${JSON.stringify(each)}`,
        "export what defineEvents, defineCommand and defineProjection return, by name, as default or in lists",
      );
    for (const definition of found) {
      if (isEvents(definition)) events.add(definition);
      else if (isProjection(definition)) projections.add(definition);
    }
  }
  refuseTwo([...events].map(({ area }) => `area ${area}`));
  refuseTwo([...projections].map(({ name, version }) => `projection ${name} version ${version}`));
  return { events: [...events], projections: [...projections] };
}

async function load(module: string): Promise<object> {
  if (module === "") throw new UsageError("--define must name a module, found nothing");
  try {
    return (await import(locate(module))) as object; // what an import gives is a namespace
  } catch (error) {
    const said = messageOf(error);
    throw new UsageError(`--define must name a module that loads, found ${JSON.stringify(module)}: ${said}`);
  }
}

/** A file, seen from the working directory; else a package, seen from there or from here. */
function locate(module: string): string {
  const file = resolve(module);
  if (/^\.{1,2}[/\\]/.test(module) || isAbsolute(module) || existsSync(file)) return pathToFileURL(file).href;
  try {
    return pathToFileURL(createRequire(resolve("module")).resolve(module)).href;
  } catch {
    return module;
  }
}

/** What a module exports, by its shape: made by another copy of this package it serves as well. */
function definitionsIn(exports: object): Set<unknown> {
  const found = new Set<unknown>();
  for (const value of Object.values(exports) as unknown[])
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) if (isDefinition(each)) found.add(each);
  return found;
}

/** What throws when it is looked at is none. */
function isDefinition(value: unknown): boolean {
  try {
    return isEvents(value) || isProjection(value) || isCommand(value);
  } catch {
    return false;
  }
}

function isEvents(value: unknown): value is EventDefinitions {
  const { area, open, kinds, events } = membersOf(value);
  return typeof area === "string" && typeof open === "boolean" && Array.isArray(kinds) && events instanceof Map;
}

function isProjection(value: unknown): value is Projection {
  const { name, version, on, indexes, areas } = membersOf(value);
  return (
    typeof name === "string" &&
    typeof version === "number" &&
    on instanceof Map &&
    indexes instanceof Map &&
    areas instanceof Set
  );
}

/** Of no use here, and no mistake either. */
function isCommand(value: unknown): boolean {
  if (typeof value !== "function" || !("decide" in value) || !("reads" in value)) return false;
  return typeof value.decide === "function" && Array.isArray(value.reads);
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function refuseTwo(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new UsageError(`--define must give each definition once, found two of ${twice}`);
}
