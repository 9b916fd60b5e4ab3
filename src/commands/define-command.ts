/** Commands, said once: what they read and how they are decided. Deciding is a plain function of what was read, the input and
 *  the context. Source: design section 6, decision 0019. */
import { types } from "node:util";
import { invalid } from "../kernel/errors.js";
import { checkBoolean, checkMembers, isList } from "../kernel/members.js";
import { areaOf, parseArea, parseCommandName } from "../kernel/names.js";
import { parserOf } from "../journal/schema.js";
import type { StandardSchema } from "../journal/schema.js";
import type { Accepted, CommandAnswer } from "./answer.js";
import type { CommandContext } from "./context.js";
import type { Found, Moment, Stage } from "./read.js";

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a stage that is not there finds nothing
type NoReads = Readonly<Record<never, never>>;

/** What `defineCommand` is told. @public */
export interface CommandOptions<
  Given,
  Input,
  Answer extends CommandAnswer,
  First extends Stage,
  Second extends Stage,
  Third extends Stage,
  Fourth extends Stage,
  Fifth extends Stage,
> {
  /** The areas whose events it writes. Default: the area of its name. */
  readonly areas?: readonly string[];
  /** Is the fence of the last holder accepted after its claim has expired, until somebody reclaims? For the ledger's own
   *  commands that let go of claims; those of hosts are refused with it. Default false. */
  readonly lateFence?: boolean;
  /** Checks the input and may shape it: a Standard Schema, or a function that returns the input or throws. It must be
   *  synchronous. */
  readonly parse?: StandardSchema<Given, Input> | ((input: Given) => Input);
  /** One to five stages: functions that say what to read, each of which sees what the earlier ones found, and what time it
   *  is. Pure. */
  readonly reads?: readonly [
    first: (input: Input, found: NoReads, moment: Moment) => First,
    second?: (input: Input, found: Found<First>, moment: Moment) => Second,
    third?: (input: Input, found: Found<First> & Found<Second>, moment: Moment) => Third,
    fourth?: (input: Input, found: Found<First> & Found<Second> & Found<Third>, moment: Moment) => Fourth,
    fifth?: (input: Input, found: Found<First> & Found<Second> & Found<Third> & Found<Fourth>, moment: Moment) => Fifth,
  ];
  /** Returns `accept(events, result)` or `refuse(code, details)`. Pure and synchronous: no clock, no randomness, nothing but
   *  its arguments, for it may be asked again. An exception is the caller's, as it is. */
  readonly decide: (
    found: Found<First> & Found<Second> & Found<Third> & Found<Fourth> & Found<Fifth>,
    input: Input,
    context: CommandContext,
  ) => Answer;
}

/** A command as the engine and laws see it, whatever it reads. @public */
export interface CommandDefinition {
  readonly name: string;
  /** The areas whose events it writes. */
  readonly areas: readonly string[];
  readonly lateFence: boolean;
  readonly parse: (input: unknown) => unknown;
  readonly reads: readonly ((input: never, found: never, moment: Moment) => Stage)[];
  readonly decide: (found: never, input: never, context: CommandContext) => CommandAnswer;
}

/** What an accepted answer carries. @public */
export type ResultOf<Answer> = Answer extends Accepted<infer Result> ? Result : never;

/** A command, made by `defineCommand`: a function from an input to a wish that `ledger.execute` carries out. @public */
export interface CommandMaker<Given, Input, Answer extends CommandAnswer, FoundAll> extends CommandDefinition {
  (...input: undefined extends Given ? [input?: Given] : [input: Given]): Command<ResultOf<Answer>>;
  /** As it was given: to be called directly by a test. */
  readonly decide: (found: FoundAll, input: Input, context: CommandContext) => Answer;
}

/** A wish: a command with its input. Nothing is checked and nothing happens before it is executed. @public */
export class Command<Result = unknown> {
  readonly definition: CommandDefinition;
  readonly input: unknown;
  /** What an execution answers; no value. @internal */
  declare readonly answers?: Result;
  readonly #made = true;

  /** @internal */
  constructor(definition: CommandDefinition, input: unknown) {
    this.definition = definition;
    this.input = input;
    Object.freeze(this);
  }

  get name(): string {
    return this.definition.name;
  }

  /** Was it made by what `defineCommand` returned? @internal */
  static made(value: unknown): value is Command {
    return typeof value === "object" && value !== null && #made in value && value.#made;
  }
}

const optionNames = ["areas", "lateFence", "parse", "reads", "decide"];
const stagesMax = 5;
const definitions = new WeakSet<object>();

/** Defines a command: its name is `area.verb`. Input is JSON, in which values may be marked with `content()`. Its type is that
 *  of the first parameter of the first stage, or what `parse` takes and returns; without either that of the second parameter of
 *  `decide`. The types of what was found and answered follow. @public */
export function defineCommand<
  Answer extends CommandAnswer,
  Input = undefined,
  Given = Input,
  First extends Stage = NoReads,
  Second extends Stage = NoReads,
  Third extends Stage = NoReads,
  Fourth extends Stage = NoReads,
  Fifth extends Stage = NoReads,
>(
  name: string,
  options: CommandOptions<Given, Input, Answer, First, Second, Third, Fourth, Fifth>,
): CommandMaker<Given, Input, Answer, Found<First> & Found<Second> & Found<Third> & Found<Fourth> & Found<Fifth>> {
  parseCommandName(name, "command name");
  checkMembers(options, `command ${name}`, optionNames);
  const { areas, lateFence = false, parse, reads = [], decide } = options;
  checkBoolean(lateFence, `${name} lateFence`);
  checkFunction(decide, `${name} decide`);
  if (!isList(reads) || reads.length > stagesMax)
    throw invalid(`${name} reads`, `a list of at most ${stagesMax} functions`, isList(reads) ? reads.length : reads);
  for (const [index, stage] of reads.entries()) checkFunction(stage, `${name} reads[${index}]`);
  if (types.isAsyncFunction(parse)) throw invalid(`${name} parse`, "synchronous", "an async function");
  const make = (input?: unknown): Command => new Command(definition, input);
  // The types of reads and input are what the host's own functions say of each other; nobody else calls them.
  const definition = Object.defineProperties(make, {
    name: { value: name, enumerable: true },
    areas: { value: parseAreas(areas, name), enumerable: true },
    lateFence: { value: lateFence, enumerable: true },
    parse: { value: parserOf(parse, { name, what: "input" }), enumerable: true },
    reads: { value: Object.freeze([...reads]), enumerable: true },
    decide: { value: decide, enumerable: true },
  }) as unknown as CommandMaker<
    Given,
    Input,
    Answer,
    Found<First> & Found<Second> & Found<Third> & Found<Fourth> & Found<Fifth>
  >;
  definitions.add(definition);
  return Object.freeze(definition);
}

/** Was it made by `defineCommand`? */
export function isCommandDefinition(value: unknown): value is CommandDefinition {
  return typeof value === "function" && definitions.has(value);
}

function parseAreas(areas: unknown, name: string): readonly string[] {
  if (areas === undefined) return Object.freeze([areaOf(name)]);
  if (!isList(areas) || areas.length === 0) throw invalid(`${name} areas`, "a list of at least one area", areas);
  const parsed = Array.from(areas, (area: unknown, index) => parseArea(area, `${name} areas[${index}]`));
  return Object.freeze([...new Set(parsed)]);
}

function checkFunction(value: unknown, path: string): void {
  if (typeof value !== "function") throw invalid(path, "a function", value);
  if (types.isAsyncFunction(value)) throw invalid(path, "synchronous", "an async function");
}
