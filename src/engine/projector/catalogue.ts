/** The projections that this program has code for: those that the host gave, and built-in ones.
 *  Invariant: one version a name, so that a name means one thing in a program. */
import { types } from "node:util";
import { builtInProjections } from "../../../projections/built-in.js";
import type { AnyProjection } from "../../../projections/define-projection.js";
import { invalid, LedgerError } from "../../kernel/errors.js";
import { isList } from "../../kernel/members.js";
import { areaOf } from "../../kernel/names.js";
import type { ProjectionRow } from "../../journal/documents.js";
import type { Store } from "../../journal/store.js";
import { withSnapshot } from "../snapshot.js";
import { placeOf } from "./place.js";

/** One projection of this program, and what this process remembers of it for as long as it runs. */
export class Table {
  readonly projection: AnyProjection;
  /** Is it followed from the start, or not before it is asked for? */
  readonly eager: boolean;
  /** Was it asked for? */
  wanted = false;
  /** Is it too far behind for a batch, and brought up outside the lock? Then no batch looks whether it can follow. */
  building = false;
  /** Did this process see it fail? Then it is not tried again here. */
  tried = false;
  /** Where and why it stopped in this process alone. */
  private stopped: { readonly position: number; readonly error: Error } | null = null;

  constructor(projection: AnyProjection, eager: boolean) {
    this.projection = projection;
    this.eager = eager;
  }

  /** This process cannot fold what comes behind a position. */
  stop(position: number, error: Error): void {
    this.stopped = { position, error };
  }

  /** Why this process cannot bring a table on that stands at a position; null when it can. Another one may have brought it on. */
  stopAt(position: number): Error | null {
    return this.stopped !== null && position <= this.stopped.position ? this.stopped.error : null;
  }
}

export class Catalogue {
  readonly tables: readonly Table[];
  private readonly byName = new Map<string, Table>();
  private readonly byType = new Map<string, readonly Table[]>();
  private readonly byArea = new Map<string, readonly Table[]>();

  constructor(projections: readonly AnyProjection[]) {
    if (!isList(projections))
      throw invalid("options.projections", "a list of projections made by defineProjection", projections);
    const given = projections.map((projection) => new Table(checkProjection(projection), true));
    // Tables of built-in ones are made when they are first asked for.
    this.tables = [...builtInProjections.map((projection) => new Table(projection, false)), ...given];
    for (const table of this.tables) {
      const { name } = table.projection;
      const builtIn = builtInProjections.some((each) => each.name === name);
      if (table.eager && builtIn) throw invalid("options.projections", "free of names of built-in projections", name);
      if (this.byName.has(name)) throw invalid("options.projections", "one version a name", name);
      this.byName.set(name, table);
    }
  }

  /** The projections of the host. */
  get given(): readonly AnyProjection[] {
    return this.tables.filter(({ eager }) => eager).map(({ projection }) => projection);
  }

  /** The table of a projection that was given to `openLedger`, by its definition or its name. */
  tableOf(projection: AnyProjection | string, path = "projection"): Table {
    const name = typeof projection === "string" ? projection : nameOf(projection);
    const table = typeof name === "string" ? this.byName.get(name) : undefined;
    if (table === undefined) throw invalid(path, this.expected(), name);
    if (typeof projection === "string" || table.projection === projection) return table;
    const hint = `read it by the definition that was given, or by its name: projection(${JSON.stringify(name)})`;
    throw invalid(path, this.expected(), `another definition of ${table.projection.name}`, hint);
  }

  private expected(): string {
    const given = this.given.map(({ name, version }) => `${name}@${version}`);
    return `one that was given to openLedger in \`projections\` (${given.length === 0 ? "none" : given.join(", ")})`;
  }

  /** The tables that commits keep current and that fold events of this type. */
  folding(type: string): readonly Table[] {
    return remembered(this.byType, type, () => this.synchronous().filter(({ projection }) => projection.on.has(type)));
  }

  /** The tables that commits keep current and that list the area of this type. */
  listing(type: string): readonly Table[] {
    const area = areaOf(type);
    return remembered(this.byArea, area, () =>
      this.synchronous().filter(({ projection }) => projection.areas.has(area)),
    );
  }

  /** Refuses tables that are stored with other indexes than this program declares (`SCHEMA_UNKNOWN`). */
  async requireSame(store: Store): Promise<void> {
    const indexed = this.tables.filter(({ eager }) => eager);
    if (indexed.length === 0) return;
    const rows = await withSnapshot(store, (reads) => reads.projections());
    for (const table of indexed) {
      const { row } = placeOf(table.projection, rows, null);
      const difference = row === null ? null : differenceOf(table, row);
      if (difference !== null) throw difference;
    }
  }

  private synchronous(): readonly Table[] {
    return this.tables.filter(({ projection }) => !projection.async);
  }
}

/** Null, or why the table that is stored is not the one that this program means. */
export function differenceOf({ projection }: Table, row: ProjectionRow): LedgerError | null {
  const { name, version } = projection;
  const own = [...projection.indexes.keys()];
  if (own.join() === row.indexes.join()) return null;
  return new LedgerError(
    "SCHEMA_UNKNOWN",
    `projection ${name} (version ${version}) must declare the indexes it was stored with (${said(row.indexes)}), found ${said(own)}`,
    {
      details: { projection: name, version, stored: row.indexes, declared: own },
      hint: "give it another version: that one gets a table of its own",
    },
  );
}

function said(indexes: readonly string[]): string {
  return indexes.length === 0 ? "none" : indexes.join(", ");
}

/** What may be the name of anything, without running its code. */
function nameOf(projection: unknown): unknown {
  if (typeof projection !== "object" || projection === null || types.isProxy(projection)) return projection;
  return Object.getOwnPropertyDescriptor(projection, "name")?.value ?? projection;
}

function checkProjection(projection: AnyProjection): AnyProjection {
  if (!(projection?.on instanceof Map) || !(projection.areas instanceof Set))
    throw invalid("options.projections", "projections made by defineProjection", projection);
  return projection;
}

/** Types come from the journal, so that what is remembered must have an end. */
const rememberedMax = 10_000;

function remembered<Value>(map: Map<string, Value>, name: string, find: () => Value): Value {
  let value = map.get(name);
  if (value === undefined) {
    value = find();
    if (map.size < rememberedMax) map.set(name, value);
  }
  return value;
}
