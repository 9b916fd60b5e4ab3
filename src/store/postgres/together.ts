/** Several statements that go out behind one another with one Sync at their end. Where one fails, the server does nothing of what is
 *  behind it, wherever the failure is: a BEGIN that was cancelled does not leave the rest to commit by itself.
 *  Invariants: answers come in the order of the statements, one for each; a name that may not have been prepared is closed before it
 *  is prepared again. */
import pg from "pg";
import { InvariantError } from "../../kernel/errors.js";
import type { Ask } from "./ask.js";

/** What `pg` has and does not say in its types. */
interface Wire {
  readonly stream: { destroy(): void };
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: {
    readonly statement: string;
    readonly values: readonly unknown[];
    readonly valueMapper: (value: unknown) => unknown;
  }): void;
  describe(message: { readonly type: "P"; readonly name: string }): void;
  execute(message: object): void;
  close(message: { readonly type: "S"; readonly name: string }): void;
  sync(): void;
}

/** What has no rows need not say what they look like. */
const hasRows = /^\s*(SELECT|WITH)\b|\bRETURNING\b/i;

type Settle = (error: Error | undefined, results: unknown) => void;

export class Together extends pg.Query {
  private readonly asks: readonly Ask[];
  private readonly fresh: string[] = [];

  constructor(asks: readonly Ask[], settle: Settle) {
    super({ text: "", rowMode: "array" } as pg.QueryConfig, settle);
    this.asks = asks;
    this.submit = (connection) => {
      const wire = connection as unknown as Wire;
      try {
        this.send(wire);
      } catch (cause) {
        // Half of it must not be taken for the whole by what is sent behind it.
        wire.stream.destroy();
        throw cause;
      }
    };
  }

  /** `pg` hands errors here. */
  handleError(error: Error, connection: unknown): void {
    const wire = connection as Wire;
    for (const name of this.fresh.splice(0)) {
      wire.close({ type: "S", name });
      delete wire.parsedStatements[name];
    }
    (this as unknown as { callback: Settle }).callback(error, undefined);
  }

  private send(wire: Wire): void {
    for (const {
      statement: { name, text },
      values,
    } of this.asks) {
      if (name === "" || !(name in wire.parsedStatements || name in wire.submittedNamedStatements)) {
        wire.parse({ name, text });
        if (name !== "") {
          // Not among those that were submitted: from there `pg` strikes what it asks for itself and fails, prepared or not.
          wire.parsedStatements[name] = text;
          this.fresh.push(name);
        }
      }
      wire.bind({ statement: name, values, valueMapper });
      if (hasRows.test(text)) wire.describe({ type: "P", name: "" });
      wire.execute({});
    }
    wire.sync();
  }
}

/** Lists are bytes already, but for those of booleans or of nothing, which need no quotes. */
function valueMapper(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return bytesOf(value);
  if (!Array.isArray(value)) return inWords(value);
  return `{${value.map((each) => (each === null ? "NULL" : inWords(each))).join(",")}}`;
}

function inWords(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  throw new InvariantError(
    `a value of a statement must be text, a number, a boolean, bytes or nothing, found ${typeof value}`,
  );
}

function bytesOf(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
