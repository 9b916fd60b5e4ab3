import type { Held } from "./cache.js";
import type { Table } from "./catalogue.js";

/** Documents that lie over others: table by table, key by key. */
export class Layer<Value extends Held = Held> {
  private readonly tables = new Map<Table, Map<string, Value>>();

  get(table: Table, key: string): Value | undefined {
    return this.tables.size === 0 ? undefined : this.tables.get(table)?.get(key);
  }

  set(table: Table, key: string, value: Value): void {
    let documents = this.tables.get(table);
    if (documents === undefined) this.tables.set(table, (documents = new Map<string, Value>()));
    documents.set(key, value);
  }

  of(table: Table): ReadonlyMap<string, Value> {
    return this.tables.get(table) ?? new Map<string, Value>();
  }

  forEach(visit: (table: Table, key: string, value: Value) => void): void {
    if (this.tables.size === 0) return;
    for (const [table, documents] of this.tables) for (const [key, value] of documents) visit(table, key, value);
  }
}
