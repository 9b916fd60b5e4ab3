/** The areas that every ledger has. */
import type { EventDefinitions } from "../define-events.js";
import { attemptEvents } from "./attempt.js";
import { definitionEvents } from "./definition.js";
import { queueEvents } from "./queue.js";
import { runEvents } from "./run.js";
import { sessionEvents } from "./session.js";

/** Their names are taken, and so are their kinds of streams, which they may share with each other and with nobody else. */
export const builtInEvents: readonly EventDefinitions[] = [
  queueEvents,
  runEvents,
  attemptEvents,
  definitionEvents,
  sessionEvents,
];
