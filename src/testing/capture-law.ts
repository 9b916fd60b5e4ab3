/** The law of captures: whatever is tried, in whatever order, each call is answered as a naive model of captures says, and what
 *  is read back is what was accepted. Source: decisions 15.3 and 15.8; rows SB-01 to SB-13. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { SessionCapture } from "../../projections/session-capture.js";
import type { Ledger } from "../api/ledger.js";
import type { CaptureFailure } from "../journal/events/session.js";
import { LedgerError } from "../kernel/errors.js";

/** Of which run, or of which of its attempts. */
interface Named {
  readonly runId: string;
  readonly attemptId: string;
}

/** One call on a capture. */
export type CaptureCall = Named &
  (
    | { readonly type: "bind" }
    /** `skip`: by how many records it is too late, or too early where it is below 0. */
    | { readonly type: "append"; readonly skip: number; readonly texts: readonly string[] }
    | { readonly type: "finish"; readonly end: CaptureEnd }
  );

interface CaptureEnd {
  readonly status: "complete" | "failed";
  readonly failure?: CaptureFailure;
  readonly open?: boolean;
}

/** A capture as the model has it: what it was told, and nothing else. */
interface ModelCapture {
  readonly texts: string[];
  end: CaptureEnd | null;
}

const captures = [
  { runId: "r1", attemptId: "" },
  { runId: "r1", attemptId: "a.1" },
  { runId: "r2", attemptId: "" },
];
const failure = fc.constantFrom({ code: "a", message: "gone" }, { code: "a", message: "lost" });
const end: fc.Arbitrary<CaptureEnd> = fc.oneof(
  fc.record({ status: fc.constant("complete" as const), open: fc.boolean() }),
  fc.record({ status: fc.constant("failed" as const), failure, open: fc.boolean() }),
);
const call: fc.Arbitrary<CaptureCall> = fc.constantFrom(...captures).chain((named) =>
  fc.oneof<fc.WeightedArbitrary<CaptureCall>[]>(
    { weight: 2, arbitrary: fc.constant({ ...named, type: "bind" }) },
    {
      weight: 5,
      arbitrary: fc
        .record({
          skip: fc.constantFrom(0, 0, 0, 0, -1, 1, -2, 200),
          texts: fc.array(fc.constantFrom("", "a", "b", "é", "c".repeat(1_100)), { minLength: 1, maxLength: 3 }),
        })
        .map((wish) => ({ ...named, type: "append", ...wish })),
    },
    { weight: 2, arbitrary: end.map((how) => ({ ...named, type: "finish", end: how })) },
  ),
);

/** Histories of calls, good and bad. */
export const captureCalls: fc.Arbitrary<readonly CaptureCall[]> = fc.array(call, {
  maxLength: 30,
  size: "max",
});

/** Sends the calls to a ledger that has no captures yet, and holds its answers and what it keeps against the model. */
export async function checkCaptures(ledger: Ledger, calls: readonly CaptureCall[]): Promise<void> {
  const model = new Map<string, ModelCapture>();
  const revisions = await startRuns(ledger);
  for (const [index, each] of calls.entries()) {
    const from = fromOf(model, each);
    const expected = answerOf(model, each, from);
    const found = await send(ledger, each, { from, expectedRevision: revisions.get(each.runId)! });
    assert.equal(found, expected, `call ${index}, ${each.type} of ${keyOf(each)}, was answered otherwise`);
  }
  for (const named of captures) await compare(ledger, named, model.get(keyOf(named)) ?? null);
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  assert.deepEqual({ verdict, findings }, { verdict: "OK", findings: [] }, "it does not verify");
}

const keyOf = ({ runId, attemptId }: Named): string => `${runId}/${attemptId}`;

/** With which number a call begins, where it appends. */
function fromOf(model: ReadonlyMap<string, ModelCapture>, each: CaptureCall): number {
  const next = (model.get(keyOf(each))?.texts.length ?? 0) + 1;
  return each.type === "append" ? Math.max(1, next + each.skip) : next;
}

/** What a call must be answered: how the capture is then, or the code of a refusal. Does in the model what is accepted. */
function answerOf(model: Map<string, ModelCapture>, each: CaptureCall, from: number): string {
  const capture = model.get(keyOf(each));
  if (each.type === "bind" && capture === undefined) {
    const bound = { texts: [], end: null };
    model.set(keyOf(each), bound);
    return sayState(bound);
  }
  if (capture === undefined) return "NOT_FOUND";
  switch (each.type) {
    case "bind":
      return sayState(capture);
    case "append":
      if (capture.end !== null) return "CAPTURE_CLOSED";
      if (from !== capture.texts.length + 1) return "SEQUENCE_GAP";
      capture.texts.push(...each.texts);
      return sayState(capture);
    case "finish":
      if (capture.end !== null && sayEnd(capture.end) !== sayEnd(each.end)) return "CAPTURE_CLOSED";
      capture.end = each.end;
      return sayState(capture);
  }
}

function sayState({ texts, end: ended }: ModelCapture): string {
  return `${ended?.status ?? "recording"} ${texts.length}`;
}

function sayEnd({ status, failure: why, open }: CaptureEnd): string {
  return JSON.stringify([status, why?.code, why?.message, open === true]);
}

/** The runs and the attempt, which nobody has claimed; answers at which revision each run stands. */
async function startRuns(ledger: Ledger): Promise<ReadonlyMap<string, number>> {
  const revisions = new Map<string, number>();
  for (const { runId, attemptId } of captures) {
    let expectedRevision = revisions.get(runId) ?? 0;
    if (expectedRevision === 0) {
      ({ revision: expectedRevision } = await ledger.runs.create({ runId }));
      ({ revision: expectedRevision } = await ledger.runs.start({ runId, expectedRevision }));
    }
    if (attemptId !== "") {
      const node = attemptId.slice(0, attemptId.lastIndexOf("."));
      ({ revision: expectedRevision } = await ledger.attempts.start({ runId, node, expectedRevision }));
    }
    revisions.set(runId, expectedRevision);
  }
  return revisions;
}

/** What a call says beside itself. */
interface Said {
  readonly from: number;
  readonly expectedRevision: number;
}

async function send(ledger: Ledger, each: CaptureCall, said: Said): Promise<string> {
  try {
    const { status, events } = await ask(ledger, each, said);
    return `${status} ${events}`;
  } catch (error) {
    if (error instanceof LedgerError) return error.code;
    throw error;
  }
}

function ask(
  ledger: Ledger,
  each: CaptureCall,
  { from, expectedRevision }: Said,
): Promise<Pick<SessionCapture, "status" | "events">> {
  const { runId, attemptId } = each;
  switch (each.type) {
    case "bind":
      return ledger.sessions.bind({ runId, attemptId, expectedRevision });
    case "append": {
      const records = each.texts.map((payload) => ({ type: "stdout", payload }));
      return ledger.sessions.appendEvents({ runId, attemptId, from, records });
    }
    case "finish":
      return ledger.sessions.finish({ runId, attemptId, ...each.end, expectedRevision });
  }
}

/** What is kept of a capture is what the model has, its records dense and in order. */
async function compare(ledger: Ledger, named: Named, expected: ModelCapture | null): Promise<void> {
  const key = keyOf(named);
  const capture = await ledger.sessions.get(named.runId, named.attemptId);
  assert.equal(capture === null, expected === null, `${key} is there`);
  if (capture === null || expected === null) return;
  const found: unknown[] = [];
  for await (const { number, content } of ledger.sessions.events(named.runId, named.attemptId))
    found.push([number, content?.text()]);
  assert.deepEqual(
    found,
    expected.texts.map((text, index) => [index + 1, text]),
    `the records of ${key} are not those that were accepted`,
  );
  const { status, events, bytes, failure: why, open } = capture;
  assert.deepEqual(
    { status, events, bytes, failure: why, open },
    {
      status: expected.end?.status ?? "recording",
      events: expected.texts.length,
      bytes: expected.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
      failure: expected.end?.failure ?? null,
      open: expected.end?.open ?? false,
    },
    `the document of ${key} does not say what it holds`,
  );
}
