/** `fence.refused` as the journal has it: of a claim that was issued, once, within bounds, in a tx that holds nothing else but
 *  the receipt of the refusal. Source: decision 15.9, decision 0022. */
import type { EntryFields } from "../journal/entry.js";
import { fenceRefusedType, fenceStream, parseFenceRefused } from "../journal/events/fence.js";
import { receiptType } from "../journal/events/receipt.js";
import { refusedNamesMax } from "../kernel/limits.js";
import type { JsonObject } from "../kernel/canonical.js";
import type { ClaimTable } from "./claim-table.js";

export class FenceRefusals {
  count = 0;
  private readonly table: ClaimTable;
  /** Where the receipt of the last refusal must stand; null when none must. */
  private receiptAt: number | null = null;

  constructor(table: ClaimTable) {
    this.table = table;
  }

  /** What is wrong with an entry on a stream of the kind `fence`, or of the type; null when nothing is. */
  check({ stream, type, tv, seq, tx, fence, data }: EntryFields): string | null {
    if (type !== fenceRefusedType) return `streams of kind fence hold ${fenceRefusedType} alone`;
    this.count++;
    if (tv !== 1) return `the version of ${type} must be 1, found ${tv}`;
    const { key, generation, command, reason } = parseFenceRefused(data);
    if (stream !== fenceStream(key)) return `a refusal of ${key} must stand on ${fenceStream(key)}`;
    if (fence !== undefined) return "a refusal is written without a fence";
    const [first, count] = tx;
    if (seq !== first || count > 2) return "a refusal is a tx by itself, or with the receipt of the refusal";
    if (count === 2) this.receiptAt = seq + 1;
    const state = this.table.get(key);
    if (state === undefined) return `nobody has claimed ${key}`;
    const last = state.generation;
    if (generation > last) return `generation ${generation} of ${key} was not issued: the last one is ${last}`;
    if (reason === "generation" ? generation === last : reason !== "incarnation" && generation < last)
      return `the last generation of ${key} is ${last}: that does not make ${generation} refused for "${reason}"`;
    const name = `${generation} ${command}`;
    const refused = (state.refused ??= new Set());
    if (refused.has(name)) return `${command} was refused under generation ${generation} of ${key} before`;
    if (refused.size >= refusedNamesMax) return `${refusedNamesMax} refusals of ${key} were recorded before`;
    refused.add(name);
    return null;
  }

  /** What is wrong with the entry behind a refusal in its tx; null when nothing is, or this is not behind one. */
  checkBehind(position: number, type: string, data: JsonObject | null): string | null {
    if (this.receiptAt === null) return null;
    const expected = this.receiptAt;
    this.receiptAt = null;
    if (position !== expected) return null;
    const refusal = data?.["refusal"] as JsonObject | undefined;
    if (type === receiptType && refusal?.["code"] === "FENCED") return null;
    return "behind the refusal of a fence comes nothing but the receipt of it";
  }
}
