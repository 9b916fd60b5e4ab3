import { describe, expect, test } from "vitest";
import { endingOf } from "../../../src/cli/exec/work.js";
import type { StopReason } from "../../../src/cli/exec/stop.js";

const drained: StopReason = { type: "drained", signal: "SIGTERM" };
const cancelled: StopReason = { type: "cancelled", reason: "enough" };
const [done, failed, killed] = [{ code: 0 }, { code: 1 }, { signal: "SIGTERM" }];

describe("what an attempt ends in", () => {
  test.each([
    // exit, what ended its command, what was asked for by then, the last try?
    [done, null, null, true, { type: "completed", exit: done }],
    [failed, null, null, true, { type: "failed", exit: failed }],
    [failed, null, null, false, { type: "tryAgain", exit: failed }],
    [killed, null, null, false, { type: "tryAgain", exit: killed }],
    // It was ended: what it says to that does not count.
    [done, drained, drained, true, { type: "drained" }],
    [killed, drained, drained, false, { type: "drained" }],
    [done, cancelled, cancelled, true, { type: "cancelled", reason: "enough" }],
    [killed, cancelled, cancelled, false, { type: "cancelled", reason: "enough" }],
    // It had ended by itself when it was asked: what is done is done.
    [done, null, drained, true, { type: "completed", exit: done }],
    [done, null, cancelled, true, { type: "completed", exit: done }],
    // What failed may have heard of it first.
    [killed, null, drained, true, { type: "drained" }],
    [failed, null, drained, false, { type: "drained" }],
    [failed, null, cancelled, true, { type: "cancelled", reason: "enough" }],
  ] as const)("%j, stopped: %j, asked: %j, last try: %s", (exit, stopped, asked, isLastTry, ending) => {
    expect(endingOf(exit, stopped, asked, isLastTry)).toEqual(ending);
  });
});
