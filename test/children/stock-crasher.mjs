/** Keeps the stock of the example, with commands alone, together, in lists, with ids and without, and kills itself at the k-th
 *  call of the fault seam; says what it was answered. With k = 0 it ends by itself and prints every step that it passed.
 *  usage: stock-crasher.mjs PATH K ROUND */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";
import { area, receive, reserve } from "../examples/stock.mjs";

const [path, killAt, round] = process.argv.slice(2);
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);
let calls = 0;
const faults = (step, moment) => {
  calls++;
  if (killAt === "0") say({ step: `${step} ${moment}` });
  if (calls === Number(killAt)) process.kill(process.pid, "SIGKILL");
};

const ledger = await openLedger(path, { ...area, testing: { faults } });
let number = 0;
const send = async (kind, input) => {
  const id = `${round}.${++number}`;
  const wish = kind === "receive" ? receive(input) : reserve(input);
  let answer;
  try {
    const { result, position, ids } = await ledger.execute(wish, { id });
    answer = { result, position, ids };
  } catch ({ code, details }) {
    answer = { code, details };
  }
  say({ id, kind, input, answer });
};
const order = (name) => `${round} ${name}`;

await send("receive", { item: "pen", count: 5 });
await Promise.all([
  send("reserve", { item: "pen", count: 2, order: order("a") }),
  send("receive", { item: "ink", count: 3 }),
  send("reserve", { item: "nothing", count: 1, order: order("b") }),
]);
const listed = await ledger.execute([
  receive({ item: "pen", count: 1 }),
  reserve({ item: "pen", count: 1, order: order("c") }),
  reserve({ item: "ink", count: 1, order: order("c") }),
]);
say({ ids: listed.ids });
const { ids } = await ledger.append("note/1", [{ type: "note.taken", data: { round } }]);
say({ ids });
await send("reserve", { item: "ink", count: 1, order: order("d") });
await ledger.close();
say({ closed: true });
