/** One command through the engine, for the faces of the areas: what it became, and what it answered, in one object. */
import type { Command } from "../commands/define-command.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";

/** Executes a command and lays its answer over what became of it: a `revision` that it answers is that of its run. */
export async function executeOne<Result extends object>(
  engine: Engine,
  command: Command<Result>,
  options: ExecuteOptions,
): Promise<Executed & Told<Result>> {
  const { results, ...executed } = await engine.execute(command, options);
  const result = results[0] as Told<Result>; // as the command answered
  return { ...executed, ...result };
}
