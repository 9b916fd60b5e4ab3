/** Receipts as the journal has them: each is of its format, ends its tx, and is the only one of its client and id. */
import type { EntryFields } from "../journal/entry.js";
import { fenceRefusedType } from "../journal/events/fence.js";
import { clientKind, clientOf, parseClient, parseReceipt, receiptType } from "../journal/events/receipt.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { kindOf } from "../kernel/names.js";
import type { FindingCode, Findings } from "./findings.js";

export class Receipts {
  count = 0;
  private readonly findings: Findings;
  /** Where the receipt of each client and id stands. */
  private readonly places = new Map<string, number>();
  /** Where a fence was refused last; the receipt of the refusal may stand behind it, in the same tx. */
  private refusedAt = -1;

  constructor(findings: Findings) {
    this.findings = findings;
  }

  /** Checks one sound entry, whatever its type. */
  check(fields: EntryFields, position: number): void {
    const { stream, type } = fields;
    if (type === fenceRefusedType) this.refusedAt = position;
    if (type !== receiptType) {
      if (kindOf(stream) === clientKind)
        this.report("E_JOURNAL_EVENT", fields, position, `streams of kind ${clientKind} hold ${receiptType} alone`);
      return;
    }
    this.count++;
    try {
      this.checkReceipt(fields, position);
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      this.report("E_JOURNAL_EVENT", fields, position, error.message);
    }
  }

  private checkReceipt(fields: EntryFields, position: number): void {
    const { stream, seq, tx, tv, data, command } = fields;
    if (kindOf(stream) !== clientKind) throw invalid("the stream of a receipt", `one of kind ${clientKind}`, stream);
    const client = parseClient(clientOf(stream), "the client of a receipt");
    if (tv !== 1) throw invalid(`the version of ${receiptType}`, "1", tv);
    const { id, outcome } = parseReceipt(data);
    if (command !== id) throw invalid("the command of a receipt", `its id, ${JSON.stringify(id)}`, command);
    const [first, count] = tx;
    if (seq !== first + count - 1)
      throw invalid(`a receipt of the tx from #${first}`, `its last entry, #${first + count - 1}`, seq);
    const alone = this.refusedAt === first ? 2 : 1;
    if (outcome === "refused" && count !== alone)
      throw invalid("the receipt of a refusal", "a tx by itself, or behind the refusal of a fence", count);

    const key = `${client}/${id}`;
    const earlier = this.places.get(key);
    if (earlier === undefined) this.places.set(key, position);
    else
      this.report(
        "E_COMMAND_CONFLICT",
        fields,
        position,
        `command ${JSON.stringify(id)} of client ${client} has its receipt at #${earlier}`,
      );
  }

  private report(code: FindingCode, { stream, rev }: EntryFields, position: number, message: string): void {
    this.findings.add(code, { position, stream, revision: rev, message });
  }
}
