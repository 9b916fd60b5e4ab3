import { spawn } from "node:child_process";
import { afterEach, describe, expect, test } from "vitest";
import { signalGroup } from "../../../src/cli/exec/process-group.js";
import { Signals } from "../../../src/cli/exec/signals.js";
import { Stop } from "../../../src/cli/exec/stop.js";

const interrupts = ["SIGINT", "SIGHUP", "SIGQUIT"] as const;
const others = ["SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;
const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

function listening(): { readonly stop: Stop; readonly signals: Signals } {
  const stop = new Stop();
  const signals = new Signals(stop);
  opened.push(signals);
  return { stop, signals };
}

/** As if this process had been sent one. */
function hear(signal: NodeJS.Signals): void {
  process.emit(signal, signal);
}

/** A command that says which signals it hears. */
async function hearing(): Promise<{ readonly group: number; readonly heard: () => string }> {
  const traps = [...interrupts, ...others]
    .map((signal) => signal.slice(3))
    .map((name) => `trap 'echo ${name}' ${name}`);
  const child = spawn("sh", ["-c", `${traps.join("; ")}; echo up; while :; do sleep 0.02; done`], { detached: true });
  opened.push({ close: () => void signalGroup(child.pid!, "SIGKILL") });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  await expect.poll(() => said).toBe("up\n");
  return { group: child.pid!, heard: () => said };
}

describe("a signal", () => {
  test.each(interrupts)("%s before there is a command leaves the run, as SIGTERM does", (signal) => {
    const { stop, signals } = listening();
    hear(signal);
    expect(stop.why()).toEqual({ type: "drained", signal });
    expect(signals.interrupted).toBe(true);
  });

  test.each(others)("%s before there is a command is nothing to anybody", (signal) => {
    const { stop, signals } = listening();
    hear(signal);
    expect([stop.why(), signals.interrupted]).toEqual([null, false]);
  });

  test.each([...interrupts, ...others])("%s is the command's, once there is one", async (signal) => {
    const { stop, signals } = listening();
    const { group, heard } = await hearing();
    signals.passTo({ pid: group, kill: () => expect.unreachable() });
    hear(signal);
    await expect.poll(heard).toBe(`up\n${signal.slice(3)}\n`);
    expect(stop.why()).toBeNull();
    expect(signals.interrupted).toBe(interrupts.some((each) => each === signal));
  });

  test("SIGTERM leaves the run, and kills the command when it comes again", () => {
    const { stop, signals } = listening();
    let kills = 0;
    signals.passTo({ pid: 1, kill: () => kills++ });
    hear("SIGTERM");
    expect([stop.why(), kills]).toEqual([{ type: "drained", signal: "SIGTERM" }, 0]);
    hear("SIGTERM");
    expect(kills).toBe(1);
  });

  test("is heard no more once it is closed", () => {
    const { stop, signals } = listening();
    const before = process.listenerCount("SIGUSR2");
    signals.close();
    expect(process.listenerCount("SIGUSR2")).toBe(before - 1);
    expect(stop.why()).toBeNull();
  });
});
