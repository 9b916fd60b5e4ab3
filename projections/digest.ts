/** The digest of a projection: one hash over all its documents, that whoever folds the same events gets as well.
 *  Source: design section 7, "Digest". */
import { createHash } from "node:crypto";
import { canonicalText } from "../src/kernel/canonical.js";
import { invariant } from "../src/kernel/errors.js";
import { depthMax } from "../src/kernel/limits.js";
import { compareKeys } from "./order.js";

/** What a projection is at a position. @public */
export interface ProjectionDigest {
  /** The last event that is folded; −1 before the first. */
  readonly position: number;
  /** How many documents there are. */
  readonly documents: number;
  /** SHA-256 in hex over name, version and documents. */
  readonly digest: string;
}

/** Text is hashed in pieces of about this size. */
const pieceUnits = 65_536;

/** Hashes documents one after the other, in the order of the UTF-8 bytes of their keys. */
export class DocumentsDigest {
  private readonly hash = createHash("sha256");
  private pending: string;
  private previous: string | null = null;
  private count = 0;

  constructor(projection: { readonly name: string; readonly version: number }) {
    this.pending = `runledger state/v1\n${projection.name}\n${projection.version}\n`;
  }

  add(key: string, document: object): void {
    invariant(this.previous === null || compareKeys(this.previous, key) < 0, "documents are hashed in order of keys");
    this.previous = key;
    this.count += 1;
    this.pending += `${canonicalText([key, document], { depthMax: depthMax + 1 })}\n`;
    if (this.pending.length > pieceUnits) this.flush();
  }

  /** Ends it; nothing can be added any more. */
  end(position: number): ProjectionDigest {
    this.flush();
    return { position, documents: this.count, digest: this.hash.digest("hex") };
  }

  private flush(): void {
    this.hash.update(this.pending);
    this.pending = "";
  }
}
