import { limit } from "../kernel/errors.js";
import { entriesPerTxMax } from "../kernel/limits.js";
import { checkMembers } from "../kernel/members.js";
import { parseStream } from "../kernel/names.js";
import type { EntryLabels } from "../journal/entry.js";
import type { CommandEvent } from "../commands/answer.js";
import type { Mint } from "../commands/mint.js";
import type { Areas } from "./areas.js";
import type { PreparedCommand } from "./prepare-commands.js";
import { prepareEvent } from "./prepare-event.js";
import type { PreparedEvent } from "./prepare-event.js";

/** With what the events of commands are prepared. */
export interface CommandPreparing {
  readonly areas: Areas;
  readonly dedupe: boolean;
}

const eventNames = ["stream", "type", "data"];

/** Checks and encodes the events that a command accepted with, or throws what is wrong with them. Their salts are minted, and
 *  nothing is redacted: the input was. */
export function prepareCommandEvents(
  { definition, path }: PreparedCommand,
  events: readonly CommandEvent[],
  { areas, dedupe }: CommandPreparing,
  labels: EntryLabels,
  mint: Mint,
): readonly PreparedEvent[] {
  const preparing = {
    areas,
    dedupe,
    randomBytes: () => mint.salt(),
    redact: undefined,
    allow: (stream: string, type: string, at: string) => areas.checkCommand(definition.areas, stream, type, at),
  };
  if (events.length > entriesPerTxMax) throw limit(path, "events", entriesPerTxMax, events.length);
  return Array.from(events, (event, index) => {
    const at = `${path} events[${index}]`;
    checkMembers(event, at, eventNames);
    return prepareEvent(parseStream(event.stream, `${at}.stream`), event, at, labels, preparing);
  });
}
