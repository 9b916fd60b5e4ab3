/** The table of types: what each number in the column `type` stands for. */
import { LedgerError } from "../kernel/errors.js";
import { areaOf, parseType } from "../kernel/names.js";
import type { RawReader } from "../journal/raw-reader.js";
import type { Findings } from "./findings.js";
import { Shapes } from "./shapes.js";

/** Areas whose events stand on the journal's own stream and nowhere else. */
const ownAreas: ReadonlySet<string> = new Set(["journal", "area", "content"]);
/** What the engine writes there. */
export const journalTypes: ReadonlySet<string> = new Set([
  "journal.opened",
  "journal.keyChanged",
  "journal.bound",
  "journal.restored",
  "journal.attested",
  "area.defined",
  "content.erased",
]);

export interface TypeState {
  readonly name: string;
  readonly number: number;
  /** How the text of each of its entries ends. */
  readonly ending: string;
  /** An event of the journal itself: its entries are looked at one by one. */
  readonly special: boolean;
  readonly shapes: Shapes;
  used: boolean;
}

/** Is it a type of the journal's own areas? */
export function isJournalType(type: string): boolean {
  return ownAreas.has(areaOf(type));
}

export class TypeTable {
  private readonly byNumber = new Map<unknown, TypeState>();

  async load(reader: RawReader, findings: Findings): Promise<void> {
    const byName = new Map<string, TypeState>();
    for (const { id, name } of await reader.types()) {
      const where = `types ${String(id)}`;
      try {
        parseType(name, "name");
      } catch (error) {
        if (!(error instanceof LedgerError)) throw error;
        findings.add("E_COLUMN", { where, message: error.message, have: name });
        continue;
      }
      const type = name as string; // parsed just above
      const twin = byName.get(type);
      if (twin !== undefined) findings.add("E_COLUMN", { where, message: "two rows have the same name", have: type });
      if (typeof id === "number") {
        const state = twin ?? {
          name: type,
          number: id,
          ending: `],"type":"${type}","v":1}`,
          special: isJournalType(type),
          shapes: new Shapes(),
          used: false,
        };
        byName.set(type, state);
        this.byNumber.set(id, state);
      } else findings.add("E_TYPE", { where, message: "id must be an integer", have: id });
    }
  }

  /** The type with a number; undefined when no row has it. */
  numbered(number: unknown): TypeState | undefined {
    return this.byNumber.get(number);
  }

  /** Notes that an entry has a type, whatever number its row says. */
  use(name: string): void {
    for (const type of this.byNumber.values()) if (type.name === name) type.used = true;
  }

  /** The types that entries were seen to have. */
  used(): { readonly number: number; readonly name: string }[] {
    const used = [...new Set(this.byNumber.values())].filter((type) => type.used);
    return used.map(({ number, name }) => ({ number, name }));
  }

  /** Reports rows that no entry uses. */
  compare(findings: Findings): void {
    for (const { number, name, used } of new Set(this.byNumber.values())) {
      if (!used)
        findings.add("E_COLUMN", {
          where: `types ${number}`,
          message: "the row names a type without entries",
          have: name,
        });
    }
  }
}
