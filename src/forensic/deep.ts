/** What the deep level adds to the others: receipts, claims and fences, and the documents of projections, held against what
 *  the events fold to.
 *  Invariants: entries are folded in order while they are verified, and not beyond the first whose bytes or place are wrong;
 *  a table is compared as of the position that it claims; a table whose code is not here is said to be unchecked.
 *  Memory: the documents of the tables that are checked, twice; what was claimed. Source: design section 11, decisions 0018
 *  and 0022. */
import { setTimeout as pause } from "node:timers/promises";
import { builtInProjections } from "../../projections/built-in.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { eventOf } from "../../projections/event-of.js";
import type { DefinedAreas } from "../../projections/event-of.js";
import { receipts } from "../../projections/receipt.js";
import type { EntryFields } from "../journal/entry.js";
import { receiptType } from "../journal/events/receipt.js";
import type { RawReader } from "../journal/raw-reader.js";
import { LedgerError } from "../kernel/errors.js";
import { areaOf } from "../kernel/names.js";
import { Claims } from "./claims.js";
import { compareDocuments } from "./compare-documents.js";
import type { DocumentDifference } from "./compare-documents.js";
import { showJson } from "./difference.js";
import { placeIn, readTables, tableLabel } from "./document-tables.js";
import type { Claim, DocumentTable } from "./document-tables.js";
import { DocumentWatch } from "./explain-documents.js";
import { counted } from "./figures.js";
import type { DocumentPlace, FindingCode, Findings, Sight } from "./findings.js";
import type { JournalEvents } from "./journal-events.js";
import { Receipts } from "./receipts.js";
import { TableFold } from "./table-fold.js";

/** Events that are folded once before they are folded again, and how long the second time waits: long enough for a clock to
 *  have moved. */
const eventsPerBlock = 4_096;
const pauseMs = 2;

/** What it has to be told by the caller. */
export interface DeepSettings {
  readonly projections: readonly AnyProjection[];
  readonly areas: DefinedAreas;
  /** Differences beyond these are counted, and not explained. */
  readonly findingsMax: number;
}

/** What a check has to be told of the journal, once all its entries were read. */
export interface JournalSight {
  /** How many entries there are. */
  readonly size: number;
  /** The id of an entry; null when there is none or it cannot be read. */
  id(position: number): Promise<string | null>;
  /** Where an entry stands. */
  locate(position: number): Promise<Sight>;
  /** Hands over the entries before a position once more, in order. */
  again(take: (fields: EntryFields) => void, end: number): Promise<void>;
}

/** A table, or a projection that is not stored, and its fold. */
interface Checked {
  readonly table: DocumentTable | null;
  readonly fold: TableFold;
}

export class DeepCheck {
  readonly receipts: Receipts;
  readonly claims: Claims;
  /** How many documents were compared, of how many tables. */
  documents = 0;
  tables = 0;
  /** The first entry that could not be folded because it is not in order; null when there is none. */
  brokenAt: number | null = null;
  /** Were the documents compared? */
  finished = false;
  private readonly reader: RawReader;
  private readonly findings: Findings;
  private readonly projections: readonly AnyProjection[];
  private readonly areas: DefinedAreas;
  private readonly differencesMax: number;
  private readonly areasOfTables = new Set<string>();
  private readonly checked: Checked[] = [];
  private positions: readonly Claim[] = [];
  private waiting = 0;

  constructor(reader: RawReader, findings: Findings, journal: JournalEvents, settings: DeepSettings) {
    this.reader = reader;
    this.findings = findings;
    this.receipts = new Receipts(findings);
    this.claims = new Claims(findings, journal);
    this.projections = [...builtInProjections, ...settings.projections];
    this.areas = settings.areas;
    this.differencesMax = settings.findingsMax;
  }

  /** Reads which tables there are. */
  async load(): Promise<void> {
    const { tables, claims } = await readTables(this.reader, this.findings);
    this.positions = claims;
    for (const table of tables) {
      const known = this.projections.find(({ name, version }) => name === table.name && version === table.version);
      if (known !== undefined) this.checked.push({ table, fold: new TableFold(known, table.claim.position) });
      else this.reportUnknown(table, "no code for it is here: it was not checked");
    }
    for (const projection of this.projections)
      if (!this.checked.some(({ fold }) => fold.projection === projection))
        this.checked.push({ table: null, fold: new TableFold(projection, Number.POSITIVE_INFINITY) });
    for (const { fold } of this.checked) for (const area of fold.projection.areas) this.areasOfTables.add(area);
  }

  /** Is an entry of this type and text to be taken? Any other, claims are to pass. */
  concerns(type: string, text: string): boolean {
    return this.isFolded(type) || type === receiptType || this.claims.concerns(type, text);
  }

  /** Takes an entry whose bytes and place are right, in order. */
  take(fields: EntryFields): void {
    this.receipts.check(fields, fields.seq);
    this.claims.check(fields);
    if (!this.isFolded(fields.type)) return;
    const event = eventOf(fields, this.areas);
    for (const { fold } of this.checked) if (fold.listsAreaOf(event.type)) fold.take(event);
    this.waiting++;
  }

  /** Between pages of entries: folds for the second time once enough were taken. */
  async turn(): Promise<void> {
    if (this.waiting >= eventsPerBlock) await this.repeat();
  }

  /** From here on nothing is folded. */
  breakAt(position: number): void {
    this.brokenAt ??= position;
  }

  /** Compares what is stored, once all entries were read. */
  async finish(journal: JournalSight): Promise<void> {
    await this.repeat();
    for (const claim of this.positions) await this.checkClaim(claim, journal);
    const differences: DocumentDifference[] = [];
    const beyond: FindingCode[] = [];
    const watch = new DocumentWatch();
    for (const { table, fold } of this.checked) {
      if (!(await this.mayCompare(table, fold, journal)) || table === null) continue;
      const compared = await this.compare(table, fold, (difference) => {
        if (differences.length === this.differencesMax) {
          beyond.push(codeOf(table));
          return;
        }
        differences.push(difference);
        watch.add(difference, fold);
      });
      if (compared === null) continue;
      this.tables++;
      this.documents += compared;
    }
    if (differences.length > 0) {
      const end = Math.min(journal.size, this.brokenAt ?? journal.size);
      await journal.again((fields) => watch.take(eventOf(fields, this.areas)), end);
    }
    for (const difference of differences) {
      const { position = null, stream = null, revision = null } = watch.explain(difference) ?? {};
      this.reportDifference(difference, { position, stream, revision });
    }
    for (const code of beyond) this.findings.add(code, {}); // counted, not listed
    this.finished = true;
  }

  private isFolded(type: string): boolean {
    return this.areasOfTables.has(areaOf(type));
  }

  /** Answers how many documents are stored; null when their table is not one, which the store has said of itself. */
  private async compare(
    table: DocumentTable,
    fold: TableFold,
    onDifference: (difference: DocumentDifference) => void,
  ): Promise<number | null> {
    try {
      return await compareDocuments(this.reader, table, fold, onDifference);
    } catch (error) {
      const damaged = error instanceof LedgerError && error.code === "STORE_DAMAGED";
      if (!damaged || this.findings.count("E_SCHEMA") === 0) throw error;
      this.reportUnknown(table, `it was not checked: ${error.message}`);
      return null;
    }
  }

  /** Folds for the second time what was taken since. */
  private async repeat(): Promise<void> {
    if (this.waiting === 0) return;
    this.waiting = 0;
    await pause(pauseMs);
    for (const { fold } of this.checked) fold.repeat();
  }

  /** Is the fold one that documents can be held against? Otherwise says why not. */
  private async mayCompare(table: DocumentTable | null, fold: TableFold, journal: JournalSight): Promise<boolean> {
    const { projection, nondeterminism, failure } = fold;
    const named = table ?? { id: null, name: projection.name, version: projection.version };
    const where = table === null ? `projection ${named.name}@${named.version}` : tableLabel(table);
    const place = (key: string | null, path: string | null): DocumentPlace => ({
      ...placeIn({ ...named, id: named.id ?? 0 }, "reducer", key, path),
      table: named.id,
    });
    if (nondeterminism !== null) {
      const { position, key, difference, message } = nondeterminism;
      const at = key === null ? where : `${where} ${JSON.stringify(key)}`;
      this.findings.add("E_NONDETERMINISM", {
        ...(await journal.locate(position)),
        where: `${at}${difference === null || difference.path === "" ? "" : ` ${difference.path}`}`,
        message,
        want: difference === null ? undefined : (showJson(difference.want) ?? "nothing"),
        have: difference === null ? undefined : (showJson(difference.have) ?? "nothing"),
        document: place(key, difference?.path ?? null),
      });
      return false;
    }
    if (failure !== null && table !== null) {
      const { code, position, key, message } = failure;
      if (code === "SCHEMA_UNKNOWN") this.reportUnknown(table, `it was not checked: at #${position} ${message}`);
      else
        this.findings.add("E_PROJECTION", {
          ...(await journal.locate(position)),
          where: key === null ? where : `${where} ${JSON.stringify(key)}`,
          message: `the table goes on to #${table.claim.position} behind an event that cannot be folded: ${message}`,
          document: place(key, null),
        });
      return false;
    }
    if (table === null || (this.brokenAt !== null && this.brokenAt <= Math.min(fold.until, journal.size - 1)))
      return false;
    if (table.failure !== null)
      this.findings.add("W_PROJECTION_FAILED", {
        where,
        message: `it stopped behind #${table.claim.position}: ${table.failure}`,
        document: placeIn(table, "table"),
      });
    const declared = [...projection.indexes.keys()];
    if (declared.join("\n") !== table.indexes.join("\n"))
      this.findings.add("E_PROJECTION", {
        where,
        message: "the table has other indexes than its projection declares",
        want: JSON.stringify(declared),
        have: JSON.stringify(table.indexes),
        document: placeIn(table, "table"),
      });
    return true;
  }

  private async checkClaim({ where, position, entryId, document }: Claim, journal: JournalSight): Promise<void> {
    if (position >= journal.size)
      this.findings.add("E_PROJECTION", {
        where,
        message: "it says that it is folded beyond the last entry",
        want: `at most #${journal.size - 1}`,
        have: `#${position}`,
        document,
      });
    else if (position >= 0 && this.brokenAt === null) {
      const id = await journal.id(position);
      if (id !== entryId)
        this.findings.add("E_PROJECTION", {
          where,
          message: `it names another entry than #${position}`,
          want: id ?? "nothing",
          have: entryId ?? "nothing",
          document,
        });
    }
  }

  private reportUnknown(table: DocumentTable, message: string): void {
    this.findings.add("W_PROJECTION_UNKNOWN", {
      where: tableLabel(table),
      message,
      document: placeIn(table, "table"),
    });
  }

  private reportDifference({ table, fault, key, path, message, want, have }: DocumentDifference, at: Sight): void {
    this.findings.add(codeOf(table), {
      ...at,
      where: `${tableLabel(table)} ${JSON.stringify(key)}`,
      message,
      want,
      have,
      document: placeIn(table, fault, key, path),
    });
  }

  /** How many claims and events under them were checked, in words; without a number, they were not, or not all. */
  sayClaims(): readonly [count: number | null, message: string] {
    const { taken, fenced } = this.claims;
    const checked = this.claims.say();
    const end = this.brokenAt === null ? "" : `not checked from #${this.brokenAt} on: the entries are not in order`;
    if (this.finished && end === "") return [taken + fenced, checked];
    return [null, [checked, end === "" ? "reading came to no end" : end].filter((part) => part !== "").join("; ")];
  }

  /** What was compared, in words; without a number, nothing was. */
  sayDocuments(): readonly [count: number | null, message: string] {
    const compared = `${counted(this.documents, "document")} of ${counted(this.tables, "table")} as the events fold them`;
    if (!this.finished) return [null, "documents were not compared: reading came to no end"];
    if (this.brokenAt !== null)
      return [null, `${compared}; nothing was folded from #${this.brokenAt} on: the entries are not in order`];
    if (this.tables > 0) return [this.documents, compared];
    return this.findings.ofCheck("documents", "warn") > 0 ? [0, ""] : [null, "no documents are stored"];
  }
}

function codeOf({ name }: DocumentTable): FindingCode {
  return name === receipts.name ? "E_RECEIPT" : "E_PROJECTION";
}
