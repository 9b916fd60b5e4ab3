/** What a call mints: ids, salts, tokens. All of it comes from 32 random bytes that were drawn at the call.
 *  Invariant: a command that is decided again, or in another batch, mints the same things. */
import { hash } from "node:crypto";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

export class Mint {
  private readonly seed: Uint8Array;
  private readonly part: number | string;
  /** What is hashed with each label; made when something is minted. */
  private prefix: string | null = null;
  private ids = 0;
  private salts = 0;

  /** `part` tells the commands of one call apart. */
  constructor(seed: Uint8Array, part: number | string) {
    this.seed = seed;
    this.part = part;
  }

  /** The next id: 26 base32 characters. */
  id(): string {
    let text = "";
    for (const byte of this.bytes(`id ${this.ids++}`).subarray(0, 26)) text += alphabet[byte & 31];
    return text;
  }

  /** The next salt: 32 bytes. */
  salt(): Uint8Array {
    return this.bytes(`salt ${this.salts++}`);
  }

  private bytes(label: string): Uint8Array {
    this.prefix ??= `runledger mint/v1\n${Buffer.from(this.seed).toString("base64")}\n${this.part}\n`;
    return hash("sha256", this.prefix + label, "buffer");
  }
}
