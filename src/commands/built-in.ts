/** The commands that every ledger has. */
import type { CommandDefinition } from "./define-command.js";
import { queueCommands } from "./queue.js";

export const builtInCommands: readonly CommandDefinition[] = Object.values(queueCommands);
