/** All that a ledger tells of one run, as of one position: the streams of the run, of its queue item and of what was refused
 *  there are read up to it and folded here. So no table has to be there, and none is believed. Of captures, whose streams are
 *  as long as what was captured, the documents are read, and the first and the last event. */
import { attemptKey, attempts } from "../../projections/attempt.js";
import type { Attempt } from "../../projections/attempt.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { replay } from "../../projections/replay.js";
import { runs } from "../../projections/run.js";
import type { Run } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { SessionCapture } from "../../projections/session-capture.js";
import { LedgerError } from "../index.js";
import type { Ledger, LedgerEvent, ReadStreamOptions, RunOwner } from "../index.js";
import { fenceStream } from "../journal/events/fence.js";
import { queueStream } from "../journal/events/queue.js";
import { runStream } from "../journal/events/run.js";
import { sessionStream } from "../journal/events/session.js";
import { readCommand } from "./exec/exec-run.js";
import type { RecordedCommand } from "./exec/exec-run.js";
import { holdersOf } from "./holders.js";
import type { Holder } from "./holders.js";
import { missingStream } from "./lookalike.js";
import { nowOf, ownerOf } from "./owner.js";
import { foundDocuments, readsOf } from "./read-documents.js";
import { timelineOf } from "./run-timeline.js";
import type { TimelineStep } from "./run-timeline.js";

/** A run with what became of it. A run that is on the queue alone has no `run`, one that never was there no `item`. */
export interface RunHistory {
  readonly run: Run | null;
  /** What `exec` ran; null for a run that it did not make, and where that cannot be read any more. */
  readonly command: RecordedCommand | null;
  readonly item: QueueItem | null;
  /** Who has a live claim now. */
  readonly owner: RunOwner | null;
  readonly holders: readonly Holder[];
  /** In the order in which they started. */
  readonly attempts: readonly Attempt[];
  readonly captures: readonly SessionCapture[];
  readonly timeline: readonly TimelineStep[];
}

/** Reads one; `NOT_FOUND` when the ledger does not know the run, with a hint at those whose name looks like it. */
export async function readRunHistory(ledger: Ledger, runId: string): Promise<RunHistory> {
  const { head } = await ledger.status();
  const read = (stream: string, options: ReadStreamOptions = {}): Promise<readonly LedgerEvent[]> =>
    readUpTo(ledger, stream, head.position, options);
  const [onRun, onQueue, refused] = [
    await read(runStream(runId)),
    await read(queueStream(runId)),
    await read(fenceStream(queueStream(runId))),
  ];
  if (onRun.length === 0 && onQueue.length === 0)
    throw await missingStream(ledger, runStream(runId), "`runledger runs` lists the runs there are");
  const events = inOrder([...onRun, ...onQueue, ...refused]);
  const folded = await replay([runs, attempts, queue], events);
  const captures = await capturesOf(ledger, runId);
  const ends: LedgerEvent[] = [];
  for (const { attemptId } of captures) {
    const stream = sessionStream(runId, attemptId);
    ends.push(...(await read(stream, { limit: 1 })));
    ends.push(...(await read(stream, { direction: "backward", limit: 1 })).filter(isEnd));
  }
  const now = await nowOf(ledger);
  const item = folded.projection(queue).get(runId);
  const holders = holdersOf(onQueue, now);
  const run = folded.projection(runs).get(runId);
  return {
    run,
    command: run === null ? null : await commandOf(ledger, run),
    item,
    owner: ownerOf(item?.claim ?? null, now),
    holders,
    attempts: onRun.flatMap(({ type, data }) => {
      if (type !== "attempt.started") return [];
      // What the definition of its event lets in.
      return folded.projection(attempts).get(attemptKey(runId, data["attemptId"] as string)) ?? [];
    }),
    captures,
    timeline: timelineOf(inOrder([...events, ...ends]), holders),
  };
}

async function readUpTo(
  ledger: Ledger,
  stream: string,
  last: number,
  options: ReadStreamOptions,
): Promise<readonly LedgerEvent[]> {
  const events: LedgerEvent[] = [];
  for await (const event of ledger.readStream(stream, options)) if (event.position <= last) events.push(event);
  return events;
}

/** Whatever became of its content: the rest of the history is there. */
async function commandOf(ledger: Ledger, run: Run): Promise<RecordedCommand | null> {
  try {
    return await readCommand(ledger, run);
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}

async function capturesOf(ledger: Ledger, runId: string): Promise<readonly SessionCapture[]> {
  const { reader } = await readsOf(ledger, sessionCaptures);
  const found: SessionCapture[] = [];
  const query = { index: "run", prefix: [runId] };
  for await (const { document } of foundDocuments(reader, query, Number.MAX_SAFE_INTEGER)) found.push(document);
  return found;
}

function isEnd({ type }: LedgerEvent): boolean {
  return type === "session.finished";
}

function inOrder(events: readonly LedgerEvent[]): readonly LedgerEvent[] {
  return events.toSorted((left, right) => left.position - right.position);
}
