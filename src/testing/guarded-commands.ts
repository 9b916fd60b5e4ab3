/** Commands as laws run them: their functions run without hidden inputs, and what they refuse is remembered. */
import { parseAnswer } from "../commands/answer.js";
import type { CommandAnswer } from "../commands/answer.js";
import { defineCommand } from "../commands/define-command.js";
import type { Command, CommandDefinition, CommandMaker } from "../commands/define-command.js";
import { withoutHiddenInputs } from "./hidden-inputs.js";

type AnyMaker = CommandMaker<unknown, unknown, CommandAnswer, unknown>;

/** The commands of a host, watched. */
export class GuardedCommands {
  readonly definitions: readonly AnyMaker[];
  /** The codes with which they have refused something. */
  readonly refusals: Set<string> = new Set();
  /** Was the last refusal transient? */
  transient = false;
  /** The codes with which they have refused something for the moment. */
  readonly transientCodes: Set<string> = new Set();
  private readonly byName: ReadonlyMap<string, AnyMaker>;

  constructor(commands: readonly CommandDefinition[]) {
    this.definitions = commands.map((command) => this.guard(command));
    this.byName = new Map(this.definitions.map((each) => [each.name, each]));
  }

  /** The same wish, of the watched command. */
  of(command: Command): Command {
    const maker = this.byName.get(command.name);
    if (maker === undefined) throw new Error(`the generated command ${command.name} must be one of \`commands\``);
    return maker(command.input);
  }

  private guard({ name, areas, lateFence, parse, reads, decide }: CommandDefinition): AnyMaker {
    const watch =
      <Arguments extends unknown[], Answer>(act: (...given: Arguments) => Answer) =>
      (...given: Arguments): Answer =>
        withoutHiddenInputs(() => act(...given));
    const decideWatched = watch((...given: Parameters<typeof decide>) => {
      const answer = parseAnswer(decide(...given), `${name} decide`);
      if (answer.type === "refused") {
        this.refusals.add(answer.code);
        this.transient = answer.transient;
        if (answer.transient) this.transientCodes.add(answer.code);
      }
      return answer;
    });
    // The types of its stages are the host's own matter; it was they that were given to `defineCommand` before.
    const options = { areas, lateFence, parse, reads: reads.map(watch), decide: decideWatched };
    return defineCommand(name, options as never) as AnyMaker;
  }
}
