/** The events of the bench: entries of about 340 bytes in an open area, in streams named at random as runs are. */
import { createHash } from "node:crypto";
import { defineEvents } from "../../../src/index.js";
import type { EventDefinitions, NewEvent } from "../../../src/index.js";

export const jobEvents: EventDefinitions = defineEvents("job", { open: true }, { "job.stepFinished": {} });

const variants: readonly NewEvent[] = Array.from({ length: 997 }, (_, index) => ({
  type: "job.stepFinished",
  data: {
    attempt: 1 + (index % 3),
    durationMs: 20 + ((index * 7_919) % 5_000),
    output: digestOf(`output ${index}`).slice(0, 32),
    step: `fetch-orders-${String(index).padStart(3, "0")}`,
    worker: `w-${index % 16}`,
  },
}));

/** One of a thousand events; the same number gives the same event. */
export function jobEvent(index: number): NewEvent {
  return variants[index % variants.length]!;
}

/** The stream of a job. Its name has no order, like that of a run. */
export function jobStream(index: number): string {
  return `job/${digestOf(`job ${index}`).slice(0, 26)}`;
}

/** The name of a run that is queued. It has no order either. */
export function itemName(index: number): string {
  return digestOf(`run ${index}`).slice(0, 26);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
