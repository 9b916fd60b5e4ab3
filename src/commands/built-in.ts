/** The commands that every ledger has. */
import type { CommandDefinition } from "./define-command.js";
import { queueCommands } from "./queue.js";
import { sessionCommands } from "./session.js";

const queueDefinitions: readonly CommandDefinition[] = Object.values(queueCommands);
const sessionDefinitions: readonly CommandDefinition[] = Object.values(sessionCommands);

export const builtInCommands: readonly CommandDefinition[] = [...queueDefinitions, ...sessionDefinitions];
