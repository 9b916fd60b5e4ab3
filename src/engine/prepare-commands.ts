/** Turns an execution into what the writer needs, at the moment of the call and outside the write lock: options checked,
 *  inputs redacted, parsed, copied and frozen. Invariant: after this the caller may change its objects. */
import { writeCanonical } from "../kernel/canonical.js";
import type { FenceProof } from "../kernel/claim.js";
import { invalid, limit } from "../kernel/errors.js";
import { commandsPerListMax, inputUnitsMax } from "../kernel/limits.js";
import { checkMembers, checkSignal, isList } from "../kernel/members.js";
import { isContentValue } from "../journal/content.js";
import type { ContentValue } from "../journal/content.js";
import type { EntryLabels } from "../journal/entry.js";
import { clientDefault, parseClient, parseCommandId } from "../journal/events/receipt.js";
import type { RandomBytes } from "../kernel/random.js";
import type { Command, CommandDefinition } from "../commands/define-command.js";
import type { Commands } from "./commands.js";
import type { ExecuteOptions } from "./execution.js";
import { markOf, parseFenceOption } from "./fence-option.js";
import { frozenCopy } from "./frozen-copy.js";
import type { Needs } from "./known.js";
import { needsOf } from "./prepare.js";
import { parseCause, parseLabels, parseRequire } from "./prepare-labels.js";
import type { Requirement } from "./prepare-labels.js";
import { redactInput } from "./redact.js";
import type { Redact } from "./redact.js";
import type { EventReference } from "./types.js";

/** One command of a call. */
export interface PreparedCommand {
  readonly definition: CommandDefinition;
  /** Frozen. */
  readonly input: unknown;
  /** The canonical text of the input; between two segments stands a content. */
  readonly segments: readonly string[];
  readonly contents: readonly ContentValue[];
  /** How messages name it. */
  readonly path: string;
}

/** One call of `execute`, ready for the writer. */
export interface PreparedCall extends Needs {
  readonly commands: readonly PreparedCommand[];
  /** Was it a list, be it of one? */
  readonly isList: boolean;
  readonly id: string | null;
  readonly client: string;
  readonly labels: EntryLabels;
  readonly requirements: readonly Requirement[];
  readonly cause: EventReference | undefined;
  /** The fence that it presents; null: none. */
  readonly fence: FenceProof | null;
  readonly signal: AbortSignal | undefined;
  /** Random bytes from which everything comes that is minted for it. */
  readonly seed: Uint8Array;
  readonly weight: number;
}

export interface PreparingCommands {
  readonly commands: Commands;
  readonly randomBytes: RandomBytes;
  readonly redact: Redact | undefined;
}

const optionNames = ["id", "client", "actor", "cause", "correlation", "meta", "require", "fence", "signal"];
const seedBytes = 32;
/** What the entry and the salt of a receipt weigh in the queue. */
const receiptWeight = 1_000;

/** Checks and encodes an execution, or throws what is wrong with it. */
export function prepareCommands(
  wishes: unknown,
  options: ExecuteOptions,
  { commands, randomBytes, redact }: PreparingCommands,
): PreparedCall {
  checkMembers(options, "options", optionNames);
  checkSignal(options.signal, "options.signal");
  const id = options.id === undefined ? null : parseCommandId(options.id, "options.id");
  const client = options.client === undefined ? clientDefault : parseClient(options.client, "options.client");
  const cause = parseCause(options.cause);
  const fence = parseFenceOption(options.fence);
  const labels = parseLabels(options, { cause: cause?.id, command: id ?? undefined, fence: markOf(fence) }, redact);
  const requirements = parseRequire(options.require);
  const list = isList(wishes);
  if (list && wishes.length === 0) throw invalid("commands", "a list of at least one command", "none");
  if (list && wishes.length > commandsPerListMax)
    throw limit("commands", "commands", commandsPerListMax, wishes.length);
  const prepared = (list ? Array.from(wishes) : [wishes]).map((wish, index) => {
    const path = list ? `commands[${index}]` : "command";
    return prepareCommand(commands.parse(wish, path), path, redact);
  });
  const { touched, lookups } = needsOf([], [], requirements, cause);
  return {
    commands: prepared,
    isList: list,
    id,
    client,
    labels,
    requirements,
    touched,
    lookups,
    cause,
    fence,
    signal: options.signal,
    seed: randomBytes(seedBytes),
    weight: prepared.reduce((sum, command) => sum + weigh(command), id === null ? 0 : receiptWeight),
  };
}

function prepareCommand(
  { definition, input: given }: Command,
  path: string,
  redact: Redact | undefined,
): PreparedCommand {
  const at = `${path} input`;
  const named = path === "command" ? definition.name : `${path} (${definition.name})`;
  const redacted = given === undefined ? undefined : redactInput(redact, given, at, definition.name);
  const input = definition.parse(redacted);
  if (input === undefined) return { definition, input, segments: ["null"], contents: [], path: named };
  const contents: ContentValue[] = [];
  const segments = writeCanonical(input, {
    path: at,
    unitsMax: inputUnitsMax,
    take: (value) => isContentValue(value) && contents.push(value) > 0,
  });
  return { definition, input: frozenCopy(input), segments, contents, path: named };
}

function weigh({ segments, contents }: PreparedCommand): number {
  let weight = 400;
  for (const segment of segments) weight += segment.length;
  for (const content of contents) weight += content.size + 200;
  return weight;
}
