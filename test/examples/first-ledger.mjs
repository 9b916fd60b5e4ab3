import { content, openLedger } from "runledger";

const ledger = await openLedger("./state.ledger");
const order = { type: "order.placed", data: { total: 42, note: content("ring twice") } };
const placed = await ledger.append("order/7", [order], { expected: "none" });
await ledger.append("order/7", [{ type: "order.paid", data: { by: "card" } }], { expected: placed.revision });

for await (const event of ledger.readStream("order/7")) {
  console.log(`#${event.position} ${event.type} ${event.stream}@${event.revision} ${event.id.slice(0, 12)}`);
}

const report = await ledger.verify();
console.log(`${report.verdict}: ${report.size} events, head ${report.head?.id.slice(0, 12)}`);
await ledger.close();
