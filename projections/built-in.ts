/** The projections that every ledger has. */
import { attempts } from "./attempt.js";
import type { AnyProjection } from "./define-projection.js";
import { definitions } from "./definition.js";
import { queue } from "./queue.js";
import { receipts } from "./receipt.js";
import { runs } from "./run.js";
import { sessionCaptures } from "./session-capture.js";

/** Their names are taken. */
export const builtInProjections: readonly AnyProjection[] = [
  receipts,
  queue,
  runs,
  attempts,
  definitions,
  sessionCaptures,
];
