import type { Projection } from "../../projections/define-projection.js";
import type { AsOf } from "../engine/as-of.js";
import type { ProjectionReader } from "../engine/projector/reads.js";
import type { Reading } from "../engine/reading.js";
import type { ReadOptions, ReadStreamOptions } from "../engine/types.js";

/** The ledger as it was behind one event: what came later is not there. Made by `ledger.at`; readable until the ledger is
 *  closed. @public */
export class PastLedger {
  private readonly asOf: AsOf;

  /** @internal */
  constructor(asOf: AsOf) {
    this.asOf = asOf;
  }

  /** The last event that is seen. */
  get position(): number {
    return this.asOf.moment.position;
  }

  /** Its id, 64 hex digits. */
  get id(): string {
    return this.asOf.moment.id;
  }

  /** Its engine time, in ms since the epoch. */
  get at(): number {
    return this.asOf.moment.at;
  }

  /** As `ledger.read`, up to the position. */
  read(options: ReadOptions = {}): Reading {
    return this.asOf.read(options);
  }

  /** As `ledger.readStream`, up to the position. */
  readStream(stream: string, options: ReadStreamOptions = {}): Reading {
    return this.asOf.readStream(stream, options);
  }

  /** As `ledger.projection`, at the position, an async projection too. With the first read its events are folded from the
   *  first one on, in memory: that takes as long as reading the journal, and as much memory as its documents; what is read
   *  after that costs nothing. Nothing is written, and the table that the ledger keeps is not looked at. */
  projection<Document extends object>(projection: Projection<Document>): ProjectionReader<Document>;
  projection(name: string): ProjectionReader<object>;
  projection<Document extends object>(projection: Projection<Document> | string): ProjectionReader<Document> {
    return this.asOf.projection(projection);
  }
}
