/** The messages of PostgreSQL's protocol in a stream of bytes, for a proxy that must know where one ends.
 *  A message is a byte for its type and a length that counts itself; the first of a frontend has no type. */

export interface Frame {
  /** Empty for the first message of a frontend. */
  readonly type: string;
  /** All of it, with type and length. */
  readonly bytes: Buffer;
  /** What is behind the length. */
  readonly body: Buffer;
}

/** What the first message of a frontend asks for. */
export const openings = { cancel: 80877102, tls: 80877103, gss: 80877104 } as const;

export class Frames {
  /** Has the first message no type? Until a session was asked for: requests for encryption come before. */
  untyped: boolean;
  private rest: Buffer = Buffer.alloc(0);

  constructor(side: "frontend" | "backend") {
    this.untyped = side === "frontend";
  }

  /** Adds bytes, and gives each message that is whole now. `untyped` is looked at for each of them. */
  *push(bytes: Buffer): Generator<Frame> {
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    for (;;) {
      const typeBytes = this.untyped ? 0 : 1;
      if (this.rest.length < typeBytes + 4) return;
      const length = typeBytes + this.rest.readInt32BE(typeBytes);
      if (this.rest.length < length) return;
      const whole = this.rest.subarray(0, length);
      this.rest = this.rest.subarray(length);
      const type = typeBytes === 0 ? "" : String.fromCharCode(whole[0]!);
      yield { type, bytes: whole, body: whole.subarray(typeBytes + 4) };
    }
  }
}

/** The texts that end in a zero byte at the beginning of a body. */
export function zeroEnded(body: Buffer, count: number): string[] {
  const texts: string[] = [];
  let from = 0;
  while (texts.length < count) {
    const end = body.indexOf(0, from);
    if (end < 0) throw new Error(`${count} texts must be there, found ${texts.length}`);
    texts.push(body.toString("utf8", from, end));
    from = end + 1;
  }
  return texts;
}

/** A frontend says that its answers may be sent. */
export const sync = Buffer.from([0x53, 0, 0, 0, 4]);
