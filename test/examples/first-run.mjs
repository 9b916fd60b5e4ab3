import { openLedger } from "runledger";

const ledger = await openLedger("./runs.ledger");

// Record that there is something to do, and put it on the queue.
const { runId } = await ledger.runs.create({ title: "sum up March" });
await ledger.queue.enqueue({ runId });

// Claim it: from here on the fence shows with each write that it is ours.
const { fence } = await ledger.queue.claimNext({ holder: "my laptop", runId });
await ledger.runs.start({ runId }, { fence });
const total = [5, 60, 42].reduce((sum, amount) => sum + amount);
await ledger.append("sum/march", [{ type: "sum.computed", data: { total } }], { fence });

// Complete it: the run is over, and off the queue.
await ledger.runs.finish({ runId, status: "completed" }, { fence });

const report = await ledger.verify({ level: "deep" });
console.log(`${runId}: ${(await ledger.runs.get(runId)).status}, ${report.verdict}, ${report.size} events`);
await ledger.close();
