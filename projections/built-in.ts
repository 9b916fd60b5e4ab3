/** The projections that every ledger has. */
import type { AnyProjection } from "./define-projection.js";
import { queue } from "./queue.js";
import { receipts } from "./receipt.js";
import { sessionCaptures } from "./session-capture.js";

/** Their names are taken. */
export const builtInProjections: readonly AnyProjection[] = [receipts, queue, sessionCaptures];
