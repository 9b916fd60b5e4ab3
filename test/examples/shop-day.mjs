import { openLedger } from "runledger";
import { orders, pay, place, shopEvents } from "./shop.mjs";

const area = { events: [shopEvents], projections: [orders], commands: [place, pay] };
const ledger = await openLedger("./shop.ledger", area);

const placed = await ledger.execute(place({ order: "7", total: 42 }));
const paid = await ledger.execute(pay({ order: "7" }), { id: "request 12", client: "web" });
const again = await ledger.execute(pay({ order: "7" }), { id: "request 12", client: "web" });
console.log(paid.result.total, again.result.total, again.adopted); // 42 42 true: it was paid once
try {
  await ledger.execute(pay({ order: "7" }));
} catch (error) {
  console.log(error.code); // ALREADY_PAID
}
await ledger.execute([place({ order: "8", total: 5 }), place({ order: "9", total: 60 })]); // both or neither

const large = await ledger.projection(orders).find({ index: "unpaid", range: { gte: 10 } });
console.log(large.documents); // [{ key: "9", document: { total: 60, paid: false } }]
const then = await ledger.at(placed.position); // or a Date
console.log(await then.projection(orders).get("7")); // { total: 42, paid: false }

const report = await ledger.verify({ level: "deep" });
console.log(report.verdict, report.checked.documents); // OK 4: three orders, and where the receipt is
await ledger.close();
