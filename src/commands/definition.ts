/** Definitions: what may become of them. Source: decision 0026; rows U-02, U-05. */
import { definitionStream } from "../journal/events/definition.js";
import type { DefinitionRegistered } from "../journal/events/definition.js";
import type { DefinitionName } from "../journal/events/run.js";
import { definitions } from "../../projections/definition.js";
import type { Definition } from "../../projections/definition.js";
import { accept, refuse } from "./answer.js";
import type { CommandAnswer, Refused } from "./answer.js";
import { defineCommand } from "./define-command.js";
import type { CommandMaker } from "./define-command.js";
import { parseRegisterDefinition } from "./definition-input.js";
import type { RegisterDefinitionInput, RegisterDefinitionParsed } from "./definition-input.js";

/** Stores a definition once; registering an equal one again writes nothing. */
export const register: CommandMaker<
  RegisterDefinitionInput,
  RegisterDefinitionParsed,
  CommandAnswer<DefinitionName>,
  { readonly definition: Definition | null }
> = defineCommand("definition.register", {
  parse: parseRegisterDefinition,
  reads: [({ digest }) => ({ definition: definitions.get(digest) })],
  decide({ definition }, { name, digest, snapshot }) {
    if (definition !== null) return refuseName(definition, name) ?? accept([], { name, digest });
    const data: Omit<DefinitionRegistered, "snapshot"> = { name, digest };
    const event = { stream: definitionStream(digest), type: "definition.registered", data: { ...data, snapshot } };
    return accept([event], { name, digest });
  },
});

/** What `definitionCommands` has. @public */
export interface DefinitionCommands {
  readonly register: typeof register;
}

/** The commands of definitions. @public */
export const definitionCommands: DefinitionCommands = { register };

/** Refuses a definition by another name than that by which it was registered. */
export function refuseName({ digest, name }: Definition, called: string): Refused | null {
  if (name === called) return null;
  return refuse(
    "REQUEST_CONFLICT",
    { digest, name, called },
    { message: `definition ${digest} must be called ${name}, as it was registered, found ${called}` },
  );
}
