/** The claim: one owner at a time for anything that is owned. The token itself is never kept.
 *  Source: design section 8. */

/** Who owns something, and until when. @public */
export interface Claim {
  /** An opaque label of the owner. */
  readonly holder: string;
  /** Grows with every claim of the same thing; the highest one wins. */
  readonly generation: number;
  /** SHA-256 of the token, 64 hex digits. */
  readonly tokenHash: string;
  /** Ms since the epoch. */
  readonly acquiredAt: number;
  /** Ms since the epoch; at this very moment the holder has lost. */
  readonly expiresAt: number;
}
