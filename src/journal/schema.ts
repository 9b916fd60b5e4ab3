/** Parsing by the host's own code: a Standard Schema or a function, asked at once and never waited for. */
import { types } from "node:util";
import { describe, invalid, LedgerError } from "../kernel/errors.js";
import { abandon, isThenable } from "../kernel/promises.js";

/** The part of a Standard Schema (version 1) that is used here: a synchronous `validate`, and the types of what goes in and
 *  what comes out. @public */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Of what something is parsed, as messages name it: `name` and `what`. */
export interface Parsed {
  readonly name: string;
  readonly what: "data" | "input";
}

/** The function that parses; without a schema it lets everything through. What it throws is the host's own, or
 *  `INVALID_ARGUMENT`. */
export function parserOf(
  parse: StandardSchema | ((value: never) => unknown) | undefined,
  parsed: Parsed,
): (value: unknown) => unknown {
  if (parse === undefined) return (value) => value;
  // Whether it can take the value is what it is asked.
  const run = typeof parse === "function" ? (parse as (value: unknown) => unknown) : standardParser(parse, parsed);
  return (value) => {
    const result = run(value);
    refusePromise(parsed, result);
    return result;
  };
}

function standardParser(schema: StandardSchema, parsed: Parsed): (value: unknown) => unknown {
  const { name, what } = parsed;
  const validate = schema?.["~standard"]?.validate;
  if (typeof validate !== "function") throw invalid(`${name} parse`, "a function or a Standard Schema", schema);
  return (given) => {
    const result = validate(given);
    refusePromise(parsed, result);
    if (!isObject(result)) throw invalid(`${name} parse`, "a schema that returns a value or issues", result);
    const { issues, value } = result as {
      issues?: readonly { message: string; path?: readonly unknown[] }[];
      value?: unknown;
    };
    if (issues !== undefined && issues.length > 0) {
      const said: unknown = issues[0]?.message;
      const message = typeof said === "string" ? said : describe(said);
      throw new LedgerError("INVALID_ARGUMENT", `${name} ${what} is not what its schema says: ${message}`, {
        details: { [what === "data" ? "type" : "command"]: name, issues },
      });
    }
    if (value === undefined) throw invalid(`${name} parse`, "a schema that returns a value", result);
    return value;
  };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !types.isProxy(value) && !Array.isArray(value);
}

function refusePromise({ name }: Parsed, result: unknown): void {
  if (!isThenable(result)) return;
  abandon(result);
  throw invalid(`${name} parse`, "synchronous", "a promise");
}
