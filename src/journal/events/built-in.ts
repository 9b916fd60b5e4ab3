/** The areas that every ledger has. */
import type { EventDefinitions } from "../define-events.js";
import { queueEvents } from "./queue.js";
import { sessionEvents } from "./session.js";

/** Their names are taken. */
export const builtInEvents: readonly EventDefinitions[] = [queueEvents, sessionEvents];
