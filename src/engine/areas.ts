/** Which areas there are: those that this program defines, and those that the journal says somebody defined.
 *  Invariants: a closed area is never written by `append`, and never by a program without its definition; a kind of streams
 *  is owned by one area, or by several of the ledger's own.
 *  Source: design section 6. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { areaOf, kindOf } from "../kernel/names.js";
import { reservedAreas, reservedKinds } from "../journal/define-events.js";
import type { EventDefinitions, ParsedEventDefinition } from "../journal/define-events.js";
import { builtInEvents } from "../journal/events/built-in.js";
import type { AreaDefined } from "../journal/events/journal.js";

const builtInAreas: ReadonlySet<string> = new Set(builtInEvents.map(({ area }) => area));

export class Areas {
  private readonly definitions = new Map<string, EventDefinitions>();
  /** By kind of streams, the areas that own it: one, or several of the ledger's own. */
  private readonly owners = new Map<string, readonly EventDefinitions[]>();
  private readonly recorded = new Map<string, AreaDefined>();
  private readonly strict: boolean;

  constructor(definitions: readonly EventDefinitions[], strict: boolean) {
    this.strict = strict;
    for (const definition of definitions) {
      if (!(definition?.events instanceof Map))
        throw invalid("options.events", "definitions made by defineEvents", definition);
      if (this.definitions.has(definition.area))
        throw invalid("options.events", "one definition an area", definition.area);
      this.definitions.set(definition.area, definition);
      for (const kind of definition.kinds) {
        const owners = this.owners.get(kind) ?? [];
        const other = owners.find(({ area }) => !(builtInAreas.has(area) && builtInAreas.has(definition.area)));
        if (other !== undefined)
          throw invalid("options.events", `one area a stream kind: ${other.area} owns ${kind}`, definition.area);
        this.owners.set(kind, [...owners, definition]);
      }
    }
  }

  /** The areas that this program defines. */
  get defined(): ReadonlyMap<string, EventDefinitions> {
    return this.definitions;
  }

  /** The definition of a type, if this program has one. */
  definitionOf(type: string): ParsedEventDefinition | undefined {
    return this.definitions.get(areaOf(type))?.events.get(type);
  }

  /** May `append` write this type to this stream, as far as this program knows? Outside the lock. */
  checkAppend(stream: string, type: string, path: string): void {
    const kind = kindOf(stream);
    const area = areaOf(type);
    if (reservedKinds.has(kind))
      throw invalid(`${path} stream`, "of a kind that the journal does not use itself", stream);
    if (reservedAreas.has(area)) throw invalid(`${path}.type`, "of an area that the journal does not use itself", type);
    const definition = this.definitions.get(area);
    const owners = this.owners.get(kind) ?? [];
    if (owners[0] !== undefined && !owners.some((owner) => owner === definition))
      throw invalid(`${path}.type`, `of area ${owners[0].area}, which owns the stream kind ${kind}`, type);
    if (definition === undefined) {
      if (this.strict) throw invalid(`${path}.type`, "of a defined area: the ledger was opened strict", type);
      return;
    }
    if (!definition.open)
      throw invalid(
        `${path}.type`,
        "of an open area: a closed one is written by its commands alone",
        type,
        "write it with ledger.execute, or define the area with `open: true`",
      );
    if (!definition.events.has(type)) throw invalid(`${path}.type`, `one that area ${area} defines`, type);
    if (!definition.kinds.includes(kind))
      throw invalid(`${path} stream`, `of a kind that area ${area} owns (${definition.kinds.join(", ")})`, stream);
  }

  /** Does this program define it? */
  isDefined(area: string): boolean {
    return this.definitions.has(area);
  }

  /** May a command that writes these areas, all of them defined, write this type to this stream? */
  checkCommand(areas: readonly string[], stream: string, type: string, path: string): void {
    const area = areaOf(type);
    const definition = areas.includes(area) ? this.definitions.get(area) : undefined;
    if (definition === undefined)
      throw invalid(`${path}.type`, `of an area that the command writes (${areas.join(", ")})`, type);
    if (!definition.events.has(type)) throw invalid(`${path}.type`, `one that area ${area} defines`, type);
    if (!definition.kinds.includes(kindOf(stream)))
      throw invalid(`${path}.stream`, `of a kind that area ${area} owns (${definition.kinds.join(", ")})`, stream);
  }

  /** Under the lock: what must be recorded before an event of this type is written, or null; refused when the journal
   *  says that the area is closed and this program does not know it. */
  toRecord(stream: string, type: string): AreaDefined | null {
    const area = areaOf(type);
    const recorded = this.recorded.get(area);
    const definition = this.definitions.get(area);
    if (definition === undefined) {
      const owner = [...this.recorded.values()].find((each) => each.kinds.includes(kindOf(stream)));
      if (recorded?.open === false) throw unknownArea(area, "is closed, and this program does not define it", recorded);
      if (owner !== undefined && owner.area !== area)
        throw unknownArea(owner.area, `owns the stream kind ${kindOf(stream)}, and ${type} is not of it`, owner);
      return null;
    }
    const { open, kinds } = definition;
    if (recorded === undefined) return { area, open, kinds };
    if (recorded.kinds.length !== kinds.length || recorded.kinds.some((kind, index) => kind !== kinds[index]))
      throw unknownArea(
        area,
        `was recorded with kinds ${recorded.kinds.join()}, and this program defines ${kinds.join()}`,
        recorded,
      );
    if (recorded.open === open) return null;
    if (recorded.open) return { area, open, kinds };
    throw unknownArea(area, "was recorded as closed, and this program defines it as open", recorded);
  }

  /** The journal said so. */
  record(defined: AreaDefined): void {
    this.recorded.set(defined.area, defined);
  }

  /** Forgets what the journal said, to be read again. */
  forget(): void {
    this.recorded.clear();
  }
}

function unknownArea(area: string, what: string, recorded: AreaDefined): LedgerError {
  return new LedgerError("SCHEMA_UNKNOWN", `area ${area} ${what}`, {
    details: { area, recorded },
    hint: "open the ledger with the definitions of the program that wrote it",
  });
}
