/** Sends commands with ids, each twice, and says what it was answered; kills itself at the k-th call of the fault seam behind
 *  the first line, unless k is 0. usage: sender.mjs PATH COUNT K [STEPS], with STEPS to print each step that is passed */
import { writeSync } from "node:fs";
import { accept, content, defineCommand, defineEvents, openLedger, refuse } from "../../dist/src/index.js";

const [path, count, killAt, steps] = process.argv.slice(2);
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);
let calls = 0;
let counting = false;
const faults = (step, moment) => {
  if (!counting) return;
  calls++;
  if (steps !== undefined) say({ step: `${step} ${moment}` });
  if (calls === Number(killAt)) process.kill(process.pid, "SIGKILL");
};

const events = [defineEvents("order", { open: false }, { "order.placed": {} })];
const place = defineCommand("order.place", {
  decide: (_, { order }, context) =>
    order % 5 === 4
      ? refuse("SOLD_OUT", { order })
      : accept([{ stream: `order/${order}`, type: "order.placed", data: { order, note: content(`note ${order}`) } }], {
          number: context.newId(),
        }),
});

const ledger = await openLedger(path, { events, commands: [place], busyTimeoutMs: 60_000, testing: { faults } });
say({ open: true });
counting = true;
const send = async (order) => {
  try {
    const { result, position, at, adopted } = await ledger.execute(place({ order }), {
      id: `c${order}`,
      client: "sender",
    });
    return { order, result, position, at, adopted };
  } catch ({ code, message, details, adopted }) {
    return { order, code, message, details, adopted };
  }
};
for (let order = 0; order < Number(count); order++)
  for (const answer of await Promise.all([send(order), send(order)])) say(answer);
await ledger.close();
