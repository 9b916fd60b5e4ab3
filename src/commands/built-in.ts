/** The commands that every ledger has, and which tables those of each area read. */
import { queue } from "../../projections/queue.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { CommandDefinition } from "./define-command.js";
import { queueCommands } from "./queue.js";
import { sessionCommands } from "./session.js";

const queueDefinitions: readonly CommandDefinition[] = Object.values(queueCommands);
const sessionDefinitions: readonly CommandDefinition[] = Object.values(sessionCommands);

export const builtInCommands: readonly CommandDefinition[] = [...queueDefinitions, ...sessionDefinitions];

/** By area, so that the tables are there when the first of its commands is decided. */
export const tablesRead: ReadonlyMap<string, readonly AnyProjection[]> = new Map<string, readonly AnyProjection[]>([
  ["queue", [queue]],
  ["session", [sessionCaptures, queue]],
]);
