/** The commands that every ledger has, and which tables those of each area read. */
import { attempts } from "../../projections/attempt.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { definitions } from "../../projections/definition.js";
import { queue } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import { attemptCommands } from "./attempt.js";
import type { CommandDefinition } from "./define-command.js";
import { definitionCommands } from "./definition.js";
import { queueCommands } from "./queue.js";
import { runCommands } from "./run.js";
import { sessionCommands } from "./session.js";

export const builtInCommands: readonly CommandDefinition[] = [
  ...allOf(queueCommands),
  ...allOf(runCommands),
  ...allOf(attemptCommands),
  ...allOf(definitionCommands),
  ...allOf(sessionCommands),
];

/** By area, so that the tables are there when the first of its commands is decided. */
export const tablesRead: ReadonlyMap<string, readonly AnyProjection[]> = new Map<string, readonly AnyProjection[]>([
  ["queue", [queue]],
  ["run", [runs, queue, definitions]],
  ["attempt", [attempts, runs, queue]],
  ["definition", [definitions]],
  ["session", [sessionCaptures, runs, attempts, queue]],
]);

function allOf<Commands extends { readonly [Name in keyof Commands]: CommandDefinition }>(
  commands: Commands,
): readonly CommandDefinition[] {
  return Object.values<CommandDefinition>(commands);
}
