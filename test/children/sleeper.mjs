/** Stands still in the middle of a batch: its command stops the process when it is decided, with the lock of the journal held. Says
 *  what it was told of that, and then asks for the same without a stop. usage: sleeper.mjs URL */
import { writeSync } from "node:fs";
import { accept, defineCommand, defineEvents, openLedger } from "../../dist/src/index.js";

const [url] = process.argv.slice(2);
const events = defineEvents("note", { open: true }, { "note.written": {} });
const note = defineCommand("note.write", {
  decide: (_, { by, stops }) => {
    if (stops) {
      writeSync(1, "deciding\n");
      process.kill(process.pid, "SIGSTOP");
    }
    return accept([{ stream: "note/1", type: "note.written", data: { by } }]);
  },
});
const ledger = await openLedger(url, { events: [events], commands: [note], busyTimeoutMs: 60_000 });
for (const input of [
  { by: "the sleeper", stops: true },
  { by: "the sleeper, awake", stops: false },
]) {
  let told = "done";
  try {
    await ledger.execute(note(input));
  } catch (error) {
    told = error.code;
  }
  writeSync(1, `${told}\n`);
}
await ledger.close();
