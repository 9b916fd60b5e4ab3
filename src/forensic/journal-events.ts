/** What the journal says of itself on `journal/main`: who it is, and what the engine did to it. */
import type { EntryFields } from "../journal/entry.js";
import {
  journalStream,
  parseAreaDefined,
  parseContentErased,
  parseJournalOpened,
  parseKeyChanged,
} from "../journal/events/journal.js";
import type { JournalOpened } from "../journal/events/journal.js";
import { Epochs } from "../journal/epochs.js";
import { parseVerifierKey } from "../journal/note-keys.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { kindOf } from "../kernel/names.js";
import type { ContentTable } from "./contents.js";
import type { FindingCode, Findings } from "./findings.js";
import { isJournalType, journalTypes } from "./types.js";

export class JournalEvents {
  /** What entry 0 says; null as long as it could not be read. */
  opened: JournalOpened | null = null;
  incarnation: number | null = null;
  /** Whose keys sign which sizes, and under which incarnation; null as long as entry 0 could not be read. */
  epochs: Epochs | null = null;
  /** Events on `journal/main`. */
  count = 0;
  private readonly findings: Findings;
  private readonly contents: ContentTable;

  constructor(findings: Findings, contents: ContentTable) {
    this.findings = findings;
    this.contents = contents;
  }

  /** Checks one sound entry, whatever its stream. */
  check(fields: EntryFields, position: number): void {
    const { stream, type } = fields;
    if (stream === journalStream) this.count++;
    if (fields.seq === 0) this.checkGenesis(fields, position);
    else if (stream === journalStream) this.checkOwn(fields, position);
    else if (kindOf(stream) === "journal")
      this.report("E_JOURNAL_EVENT", fields, position, `streams of kind journal are ${journalStream} alone`);
    else if (isJournalType(type))
      this.report("E_JOURNAL_EVENT", fields, position, `an event of type ${type} must stand on ${journalStream}`);
  }

  private checkGenesis(fields: EntryFields, position: number): void {
    const { stream, type, tv } = fields;
    if (stream !== journalStream || type !== "journal.opened" || tv !== 1) {
      this.report(
        "E_GENESIS",
        fields,
        position,
        `entry 0 must be journal.opened on ${journalStream}, found ${type} on ${stream}`,
      );
      return;
    }
    this.parsed(fields, position, "E_GENESIS", () => {
      const opened = parseJournalOpened(fields.data);
      if (opened.key !== undefined) checkKey(opened.key, opened.origin);
      this.opened = opened;
      this.epochs = new Epochs(opened);
      this.incarnation = this.opened.incarnation;
    });
  }

  private checkOwn(fields: EntryFields, position: number): void {
    const { type, data } = fields;
    if (!journalTypes.has(type) || type === "journal.opened") {
      this.report("E_JOURNAL_EVENT", fields, position, `the engine writes no ${type} there`);
    } else if (type === "area.defined") {
      this.parsed(fields, position, "E_JOURNAL_EVENT", () => parseAreaDefined(data));
    } else if (type === "journal.keyChanged") {
      this.parsed(fields, position, "E_JOURNAL_EVENT", () => {
        const { key } = parseKeyChanged(data);
        if (this.opened !== null) checkKey(key, this.opened.origin);
        this.epochs?.add(position, type, data);
      });
    } else if (type === "journal.restored") {
      const { incarnation } = data;
      if (
        typeof incarnation !== "number" ||
        !Number.isSafeInteger(incarnation) ||
        incarnation <= (this.incarnation ?? 0)
      ) {
        this.report("E_JOURNAL_EVENT", fields, position, `incarnation must be greater than ${this.incarnation}`);
      } else {
        this.incarnation = incarnation;
        this.epochs?.add(position, type, data);
      }
    } else if (type === "content.erased") {
      this.parsed(fields, position, "E_ERASURE", () => parseContentErased(data));
      this.contents.erase(data, position);
    }
  }

  private parsed(fields: EntryFields, position: number, code: FindingCode, parse: () => void): void {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      this.report(error.code === "SCHEMA_UNKNOWN" ? "E_FORMAT_VERSION" : code, fields, position, error.message);
    }
  }

  private report(code: FindingCode, { stream, rev }: EntryFields, position: number, message: string): void {
    this.findings.add(code, { position, stream, revision: rev, message });
  }
}

/** The key of a journal's checkpoints has the journal's name, so that no other journal's key is taken for it. */
function checkKey(text: string, origin: string): void {
  const { name } = parseVerifierKey(text, "key");
  if (name !== origin) throw invalid("key", `a key named ${origin}, as the journal is`, name);
}
