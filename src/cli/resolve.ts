/** Looks selectors up in a ledger. What a selector names is one position or an error; two candidates are an error. */
import { LedgerError } from "../index.js";
import type { Ledger, LedgerEvent } from "../index.js";
import { UsageError } from "./exit.js";
import { missingStream } from "./lookalike.js";
import type { Selector, SelectorRange } from "./selector.js";

/** Positions of a ledger as it was when the look-up began; what is appended later is not seen. */
export class Positions {
  readonly size: number;
  private readonly ledger: Ledger;

  private constructor(ledger: Ledger, size: number) {
    this.ledger = ledger;
    this.size = size;
  }

  static async of(ledger: Ledger): Promise<Positions> {
    return new Positions(ledger, (await ledger.status()).size);
  }

  /** The position that a selector names. `NOT_FOUND` when there is none. */
  async find(selector: Selector): Promise<number> {
    switch (selector.kind) {
      case "head":
        return this.check(this.size - 1 - selector.back, `@~${selector.back}`);
      case "position":
        return this.check(selector.position, `#${selector.position}`);
      case "id":
        return this.only(selector.prefix, await this.withId(selector.prefix));
      case "digits": {
        const found = await this.withId(selector.prefix);
        if (selector.position < this.size && !found.includes(selector.position)) found.push(selector.position);
        return this.only(selector.prefix, found);
      }
      case "revision":
        return this.ofRevision(selector.stream, selector.revision);
      case "time":
        return this.check((await this.firstAfter(selector.at)) - 1, new Date(selector.at).toISOString());
      case "checkpoint":
        return this.underCheckpoint();
    }
  }

  /** The event that a selector names. */
  async event(selector: Selector): Promise<LedgerEvent> {
    return this.at(await this.find(selector));
  }

  /** The event at a position that is known to be there. */
  async at(position: number): Promise<LedgerEvent> {
    for await (const event of this.ledger.read({ from: position, limit: 1 })) return event;
    throw new LedgerError("STORE_DAMAGED", `event #${position} must be there, found nothing`, {
      details: { position },
      hint: "run `runledger verify` on it",
    });
  }

  /** First and last position of a range; both are in it. */
  async range({ from, to }: SelectorRange): Promise<{ readonly first: number; readonly last: number }> {
    const first = from === null ? 0 : await this.find(from);
    const last = to === null ? this.size - 1 : await this.find(to);
    if (first > last) throw new UsageError(`a range must end where it starts or later, found #${first}..#${last}`);
    return { first, last };
  }

  /** The first position whose time is later; the size when there is none. Times never fall, so halves can be left out. */
  async firstAfter(at: number): Promise<number> {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((await this.at(middle)).at > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private async underCheckpoint(): Promise<number> {
    const [latest] = await this.ledger.checkpoints({ limit: 1 });
    if (latest !== undefined) return this.check(latest.size - 1, "cp:latest");
    throw new LedgerError("NOT_FOUND", "cp:latest must name a checkpoint that the ledger keeps, found none", {
      details: { selector: "cp:latest", size: this.size },
      hint: "`runledger checkpoint --store` keeps one",
    });
  }

  private check(position: number, selector: string): number {
    if (position >= 0 && position < this.size) return position;
    throw new LedgerError("NOT_FOUND", `${selector} must name an event from #0 to #${this.size - 1}, found none`, {
      details: { selector, size: this.size },
    });
  }

  private async withId(prefix: string): Promise<number[]> {
    const found: number[] = [];
    for await (const event of this.ledger.read()) if (event.id.startsWith(prefix)) found.push(event.position);
    return found;
  }

  private only(prefix: string, found: readonly number[]): number {
    const [position] = found;
    if (position === undefined)
      throw new LedgerError("NOT_FOUND", `an event must have an id that starts with ${prefix}, found none`, {
        details: { selector: prefix, size: this.size },
      });
    if (found.length === 1) return position;
    const shown = found.slice(0, 5).map((each) => `#${each}`);
    throw new LedgerError(
      "INVALID_ARGUMENT",
      `${prefix} must name one event, found ${found.length}: ${shown.join(", ")}${found.length > 5 ? ", …" : ""}`,
      {
        details: { selector: prefix, positions: found },
        hint: "write # before a position, or more digits of the id",
      },
    );
  }

  private async ofRevision(stream: string, revision: number): Promise<number> {
    for await (const event of this.ledger.readStream(stream, { from: revision, limit: 1 }))
      return this.check(event.position, `${stream}@${revision}`);
    for await (const last of this.ledger.readStream(stream, { direction: "backward", limit: 1 })) {
      throw new LedgerError(
        "NOT_FOUND",
        `stream ${JSON.stringify(stream)} must have a revision ${revision}, found ${last.revision} as its last`,
        { details: { stream, revision, last: last.revision } },
      );
    }
    throw await missingStream(this.ledger, stream);
  }
}
