/** The commands of a program: each name means one thing, and writes areas that the program defines. */
import { invalid } from "../kernel/errors.js";
import { isList } from "../kernel/members.js";
import { Command, isCommandDefinition } from "../commands/define-command.js";
import type { CommandDefinition } from "../commands/define-command.js";
import type { Areas } from "./areas.js";

export class Commands {
  private readonly definitions = new Map<string, CommandDefinition>();

  constructor(builtIn: readonly CommandDefinition[], definitions: unknown, areas: Areas) {
    const own = new Set(builtIn.flatMap((definition) => definition.areas));
    for (const definition of builtIn) this.definitions.set(definition.name, definition);
    if (!isList(definitions))
      throw invalid("options.commands", "a list of commands made by defineCommand", definitions);
    for (const [index, definition] of definitions.entries()) {
      const path = `options.commands[${index}]`;
      if (!isCommandDefinition(definition)) throw invalid(path, "a command made by defineCommand", definition);
      const { name } = definition;
      if (this.definitions.has(name)) throw invalid(path, "one definition a name", name);
      // What a holder may write late, and what takes claims, is checked from the journal by whoever verifies it.
      if (definition.lateFence) throw invalid(path, `${name} without lateFence, which lets go of claims`, true);
      for (const area of definition.areas) {
        if (own.has(area)) throw invalid(path, `${name} of areas that the ledger's own commands leave to hosts`, area);
        if (!areas.isDefined(area)) throw invalid(path, `${name} of areas that options.events defines`, area);
      }
      this.definitions.set(name, definition);
    }
  }

  /** Refuses what is no command of this program. */
  parse(value: unknown, path: string): Command {
    if (!Command.made(value)) throw invalid(path, "a command: what a function made by defineCommand returns", value);
    if (this.definitions.get(value.name) !== value.definition)
      throw invalid(path, "one of options.commands that the ledger was opened with", value.name);
    return value;
  }
}
