/** Defects as somebody might write them, each in one place of the built library, and who must see it: a law or checker of
 *  `runledger/testing`, or a code of `verify`. What is to be found stands exactly once in its file; when a change of the code takes
 *  it away, the test says so, and the row is to be brought along. */
export interface Defect {
  readonly id: string;
  /** What goes wrong. */
  readonly says: string;
  /** In `dist/`. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** Its family, and its name. */
  readonly killedBy: string;
}

const captures =
  "captures: every call goes as a naive model of captures says, and what is read back is what was accepted";
const runs = "runs: every call goes as a naive model of runs says, and what is kept is what was accepted";
const lockstep = "lockstep: every call goes as the reference model says";

/** Claims and fences. */
const ofClaims: readonly Omit<Defect, "id">[] = [
  {
    says: "a fence whose claim has expired is accepted",
    file: "src/kernel/claim.js",
    find: "if (refused !== null || isLive(owned.claim, at))",
    put: "if (refused !== null || owned.claim !== null)",
    killedBy: "simulation: fenced",
  },
  {
    says: "a claim is live at the very moment at which it expires: `>=` for `>`",
    file: "src/kernel/claim.js",
    find: "return claim !== null && claim.expiresAt > at;",
    put: "return claim !== null && claim.expiresAt >= at;",
    killedBy: lockstep,
  },
  {
    says: "a generation is issued again when nobody has the claim",
    file: "src/kernel/claim.js",
    find: "const generation = owned.generation + 1;",
    put: "const generation = (previous?.generation ?? 0) + 1;",
    killedBy: "simulation: generations",
  },
  {
    says: "a generation is issued again in the second life of a run that was released",
    file: "projections/queue.js",
    find: "generation: before?.generation ?? 0,",
    put: "generation: 0,",
    killedBy: lockstep,
  },
  {
    says: "a takeover forgets what it superseded",
    file: "src/kernel/claim.js",
    find: "superseded: previous?.generation ?? null,",
    put: "superseded: null,",
    killedBy: "simulation: owner",
  },
  {
    says: "a fence of an earlier generation is taken for one of another token",
    file: "src/kernel/claim.js",
    find: "if (fence.generation !== owned.generation)",
    put: "if (fence.generation > owned.generation)",
    killedBy: "verify: E_FENCE",
  },
  {
    says: "a fence with another token is accepted",
    file: "src/kernel/claim.js",
    find: "if (owned.claim.tokenHash !== fence.tokenHash)",
    put: "if (false)",
    killedBy: lockstep,
  },
  {
    says: "a fence of another incarnation is accepted",
    file: "src/kernel/claim.js",
    find: "if (fence.incarnation !== owned.incarnation)",
    put: "if (fence.incarnation < owned.incarnation)",
    killedBy: lockstep,
  },
  {
    says: "renewing with a short lease shortens the claim",
    file: "src/kernel/claim.js",
    find: "expiresAt: Math.max(claim.expiresAt, leaseEnd(at, leaseMs))",
    put: "expiresAt: leaseEnd(at, leaseMs)",
    killedBy: "verify: E_CLAIM",
  },
  {
    says: "a fence of another thing is accepted",
    file: "src/commands/guard.js",
    find: "if (fence.key !== owned.key)",
    put: "if (false)",
    killedBy: lockstep,
  },
  {
    says: "a run is completed without a fence",
    file: "src/commands/queue.js",
    find: 'return refuseHolder(item, runId, context) ?? accept([on(runId, "queue.completed", {})], null);',
    put: 'return accept([on(runId, "queue.completed", {})], null);',
    killedBy: "verify: E_CLAIM",
  },
  {
    says: "whoever has lost may write late, and not only let go",
    file: "src/engine/fences.js",
    find: "late ? checkHolder(owned, fence)",
    put: "true ? checkHolder(owned, fence)",
    killedBy: "simulation: fenced",
  },
  {
    says: "the last holder may not let go late",
    file: "src/engine/fences.js",
    find: "late ? checkHolder(owned, fence)",
    put: "false ? checkHolder(owned, fence)",
    killedBy: lockstep,
  },
  {
    says: "the fence of an append is not looked at",
    file: "src/engine/queued-append.js",
    find: "if (fence !== null)",
    put: "if (false)",
    killedBy: "simulation: fenced",
  },
  {
    says: "the same refusal of a fence is recorded again",
    file: "projections/owned.js",
    find: "&& !refused.includes(refusedName(offered, command))",
    put: "",
    killedBy: "simulation: refusals",
  },
  {
    says: "the refusal of a fence that was never issued is recorded",
    file: "projections/owned.js",
    find: "return offered <= generation && ",
    put: "return ",
    killedBy: "simulation: refusals",
  },
];

/** The run queue. */
const ofTheQueue: readonly Omit<Defect, "id">[] = [
  {
    says: "a parent gets a second continuation",
    file: "src/commands/queue.js",
    find: "const taken = slot?.documents[0];",
    put: "const taken = undefined;",
    killedBy: lockstep,
  },
  {
    says: "a run that is done is enqueued again",
    file: "src/commands/queue.js",
    find: 'if (item !== null && item.status !== "released")',
    put: 'if (item !== null && item.status !== "released" && item.status !== "done")',
    killedBy: "simulation: completed",
  },
  {
    says: "an item is taken over once more than it may be",
    file: "src/commands/queue-order.js",
    find: "reclaims >= reclaimsMax",
    put: "reclaims > reclaimsMax",
    killedBy: "simulation: order",
  },
  {
    says: "takeovers are not counted",
    file: "projections/queue.js",
    find: "if (claim.superseded !== null)",
    put: "if (false)",
    killedBy: "simulation: listed",
  },
  {
    says: "what expired is never taken over",
    file: "src/commands/queue.js",
    find: "? itemsOf([ready, affine, due, expired, further])",
    put: "? itemsOf([ready, affine, due])",
    killedBy: "simulation: starved",
  },
  {
    says: "the last comes first",
    file: "src/commands/queue-order.js",
    find: ": ranks < 0;",
    put: ": ranks > 0;",
    killedBy: "simulation: order",
  },
  {
    says: "a runner is given what it excludes",
    file: "src/commands/queue.js",
    find: "if (left.has(item.runId))",
    put: "if (left.has(item.runId) && !exclude.includes(item.runId))",
    killedBy: "simulation: order",
  },
  {
    says: "affinity counts for nothing",
    file: "src/commands/queue-order.js",
    find: "rank - affinityMs : rank",
    put: "rank : rank",
    killedBy: lockstep,
  },
  {
    says: "an item is not there at the very moment at which it comes: `<` for `<=`",
    file: "src/commands/queue.js",
    find: 'index: "later", range: { lte: at }',
    put: 'index: "later", range: { lt: at }',
    killedBy: lockstep,
  },
  {
    says: "a time that was asked for during a claim is lost when its holder parks",
    file: "projections/queue.js",
    find: 'letGo(there, "parked", earliest(availableAt, there.wantedAt), at)',
    put: 'letGo(there, "parked", availableAt, at)',
    killedBy: lockstep,
  },
  {
    says: "a reducer reads the clock",
    file: "projections/queue.js",
    find: "createdAt: at,",
    put: "createdAt: Date.now(),",
    killedBy: "projection: no clock, randomness or environment is read",
  },
  {
    says: "a worker completes what no handler had",
    file: "src/api/running-job.js",
    find: "if (this.cancel !== null)",
    put: "if (true)",
    killedBy: "workers: handled",
  },
  {
    says: "a worker never renews",
    file: "src/api/worker-claim.js",
    find: "this.renewAfter(leaseMs / 2);",
    put: "",
    killedBy: "workers: renewed",
  },
];

/** The engine. */
const ofTheEngine: readonly Omit<Defect, "id">[] = [
  {
    says: "the second command of a batch does not find what the first one did",
    file: "src/engine/projector/table-batch.js",
    find: "const moves = this.reads.ranges.has(table) ? this.moveInRanges(table, key, held.document) : null;",
    put: "const moves = null;",
    killedBy: "commands: a batch leaves the same bytes and answers as its commands one by one",
  },
  {
    says: "a place that is remembered of an index stays when its document leaves it",
    file: "src/engine/projector/ranges.js",
    find: "this.places.splice(this.countBelow(before), 1);",
    put: "",
    killedBy: lockstep,
  },
  {
    says: "a document that comes into a range of an index that is remembered is not found there",
    file: "src/engine/projector/ranges.js",
    find: "this.places.splice(this.countBelow(at), 0, { at, key });",
    put: "",
    killedBy: lockstep,
  },
  {
    says: "the second command of a batch reads what was there before the first",
    file: "src/engine/projector/table-batch.js",
    find: "return this.changed.get(table, key) ?? this.reads.get(table, key);",
    put: "return this.reads.get(table, key) ?? this.changed.get(table, key);",
    killedBy: "simulation: receipts",
  },
  {
    says: "the second command of a list does not see the first",
    file: "src/engine/projector/table-tx.js",
    find: "const held = this.peek(table, key);",
    put: "const held = this.batch.peek(table, key);",
    killedBy: lockstep,
  },
  {
    says: "the fence is looked at before the first command of a list alone",
    file: "src/engine/queued-commands.js",
    find: "const fenced = fence === null ? null",
    put: "const fenced = fence === null || index > 0 ? null",
    killedBy: lockstep,
  },
  {
    says: "a refused list leaves a mark: its documents are kept before it is decided",
    file: "src/engine/projector/table-tx.js",
    find: "this.changes.set(table, key, { document: after, seq: event.position });",
    put: "{ this.changes.set(table, key, { document: after, seq: event.position }); this.batch.keep(this.changes, this.stops); }",
    killedBy: "verify: E_PROJECTION",
  },
  {
    says: "of several events of one command the first alone is folded",
    file: "src/engine/projector/table-tx.js",
    find: "for (const event of events)",
    put: "for (const event of events.slice(0, 1))",
    killedBy: "verify: E_PROJECTION",
  },
  {
    says: "the mark says that tables are folded further than they are",
    file: "src/engine/projector/table-batch.js",
    find: "this.mark = { position: last.seq, entryId: last.id,",
    put: "this.mark = { position: last.seq + 1, entryId: last.id,",
    killedBy: "verify: E_PROJECTION",
  },
  {
    says: "a receipt is written beside the tx of what it says",
    file: "src/engine/queued-commands.js",
    find: "return onceKnown(this.record(batch, tx, this.receipt, outcome), () => ({",
    put: "const first = this.accept(batch, tx, outcome); const own = batch.open(); return onceKnown(this.record(batch, own, this.receipt, outcome), () => (own.seal(), { staged: first })); onceKnown(null, () => ({",
    killedBy: "simulation: receipts",
  },
  {
    says: "nobody looks for a receipt: what is sent again happens again",
    file: "src/engine/call-receipt.js",
    find: "if (place === null)",
    put: "if (true)",
    killedBy: "verify: E_COMMAND_CONFLICT",
  },
  {
    says: "an id is answered whatever it asks this time",
    file: "src/engine/receipts.js",
    find: 'if (salt === "erased" || fingerprint(text, salt) === receipt.fingerprint)',
    put: "if (true)",
    killedBy: "simulation: model",
  },
  {
    says: "a refusal for the moment is kept for good",
    file: "src/engine/queued-commands.js",
    find: "this.receipt === null || refused.transient ? undefined",
    put: "this.receipt === null ? undefined",
    killedBy: lockstep,
  },
  {
    says: "a receipt is written under the fence of its call",
    file: "src/engine/call-receipt.js",
    find: "const labels = { ...this.call.labels, fence: undefined };",
    put: "const labels = { ...this.call.labels };",
    killedBy: "verify: E_FENCE",
  },
  {
    says: "decided again, a command mints other ids and salts",
    file: "src/engine/queued-commands.js",
    find: "const mint = new Mint(this.call.seed, index);\n        const reading",
    put: "const mint = new Mint(Buffer.from(String(process.hrtime.bigint())), index);\n        const reading",
    killedBy: "commands: decided again after a conflict it leaves the same bytes and answers",
  },
  {
    says: "who was refused for what its batch had staged is told so, though the commit failed",
    file: "src/engine/writer.js",
    find: "return staged < 0 || index < staged ? outcome",
    put: "return true ? outcome",
    killedBy: "simulation: model",
  },
  {
    says: "a commit whose answer was lost is looked up by its first entry, with which others may begin too",
    file: "src/engine/writer.js",
    find: "const last = batch?.entries.at(-1);",
    put: "const last = batch?.entries[0];",
    killedBy: "simulation: acknowledged",
  },
  {
    says: "a commit whose answer was lost is taken for one that happened",
    file: "src/engine/writer.js",
    find: "if (stored?.id !== last.id)",
    put: "if (false)",
    killedBy: "simulation: acknowledged",
  },
  {
    says: "callers are told before the commit",
    file: "src/engine/writer.js",
    find: "outcomes.push({ queued, ...(deciding instanceof Promise ? await deciding : deciding) });",
    put: 'const known = await deciding; outcomes.push({ queued, ...known }); if ("staged" in known) known.staged.answer();',
    killedBy: "simulation: acknowledged",
  },
  {
    says: "a commit whose answer was lost is made again",
    file: "src/engine/writer.js",
    find: "if (stored?.id !== last.id)",
    put: "if (true)",
    killedBy: "simulation: refused",
  },
  {
    says: "engine time goes back with the clock",
    file: "src/engine/time.js",
    find: "const at = Math.max(clock, going);",
    put: "const at = clock;",
    killedBy: "simulation: time",
  },
  {
    says: "engine time stands still while a clock is behind",
    file: "src/engine/time.js",
    find: "const going = previous.at + elapsed;",
    put: "const going = previous.at;",
    killedBy: lockstep,
  },
  {
    says: "the time of what another process wrote is not looked at",
    file: "src/engine/remembered.js",
    find: "if (head.id !== this.seen.of) {",
    put: "if (this.seen.of === null) {",
    killedBy: "simulation: time",
  },
];

/** Captures. */
const ofCaptures: readonly Omit<Defect, "id">[] = [
  {
    says: "records behind a gap are accepted",
    file: "src/commands/session.js",
    find: "if (from !== expected)",
    put: "if (from < expected)",
    killedBy: captures,
  },
  {
    says: "records behind the end of a capture are accepted",
    file: "src/commands/session.js",
    find: 'return closedCapture(capture, "to go on");',
    put: ";",
    killedBy: captures,
  },
  {
    says: "another end than the first one is taken for the same",
    file: "src/commands/session.js",
    find: "return isSame",
    put: "return capture.status === status",
    killedBy: captures,
  },
  {
    says: "records are not counted",
    file: "projections/session-capture.js",
    find: "there.events += records.length;",
    put: "there.events += 1;",
    killedBy: captures,
  },
  {
    says: "a reading begins behind the record that it was asked for",
    file: "src/api/session-records.js",
    find: "if (next > after + 1)",
    put: "if (from > after + 1)",
    killedBy: captures,
  },
];

/** Runs and attempts. */
const ofRuns: readonly Omit<Defect, "id">[] = [
  {
    says: "whoever has seen the revision of a run writes to it beside its live claim",
    file: "src/commands/guard.js",
    find: "if (refused !== null)",
    put: "if (refused !== null && expectedRevision === undefined)",
    killedBy: runs,
  },
  {
    says: "under a fence another revision than that of the run is taken",
    file: "src/commands/guard.js",
    find: "return expectedRevision === revision ?",
    put: "return expectedRevision === revision || context.fence !== null ?",
    killedBy: runs,
  },
  {
    says: "a run that ends leaves its queue item",
    file: "src/commands/run.js",
    find: "...endItem(runId, item, at, reason),",
    put: "",
    killedBy: runs,
  },
  {
    says: "a run that is taken over keeps its open attempt",
    file: "src/commands/run.js",
    find: '...endAttempt(run, "abandoned"),',
    put: "",
    killedBy: runs,
  },
  {
    says: "the number of an attempt is given again behind one that ended",
    file: "src/commands/attempt.js",
    find: "(last.documents[0]?.document.number ?? 0) + 1",
    put: "run.attempts === 0 ? 1 : last.documents[0]?.document.number ?? 1",
    killedBy: runs,
  },
  {
    says: "a second attempt is started beside an open one",
    file: "src/commands/attempt.js",
    find: 'if (open.status !== "interrupted")',
    put: 'if (open.status === "waiting")',
    killedBy: runs,
  },
  {
    says: "a run that ended otherwise is said to have ended so",
    file: "src/commands/run.js",
    find: "if (run.status !== status ||",
    put: "if (",
    killedBy: runs,
  },
  {
    says: "an item of which somebody has a live claim is closed beside it",
    file: "src/commands/run.js",
    find: "if (item !== null && isLive(item.claim, context.at))",
    put: "if (false)",
    killedBy: runs,
  },
];

/** The stores. */
const ofStores: readonly Omit<Defect, "id">[] = [
  {
    says: "a transaction that was rolled back leaves its documents, without their entries",
    file: "src/store/memory/transaction.js",
    find: "this.host.end(committed ? this.reach() : before);",
    put: "this.host.end(committed ? this.reach() : { ...before, documents: this.documentState });",
    killedBy: "memory: documents, mark and entries of one transaction are there together",
  },
  {
    says: "a transaction that was rolled back leaves its entries",
    file: "src/store/memory/transaction.js",
    find: "rows.cut(before);",
    put: ";",
    killedBy: "memory: what was rolled back never was: entries, streams, types and contents",
  },
  {
    says: "a document stays in an index where it no longer belongs, in memory",
    file: "src/store/memory/documents.js",
    find: "const left = from === null ? map : without(map, from);",
    put: "const left = map;",
    killedBy: "memory: a document is in the indexes that it says, and stays where nothing is said",
  },
  {
    says: "the column of an index that a document leaves is not updated, in a file",
    file: "src/store/sqlite/documents.js",
    find: "if (value === undefined)",
    put: "if (value === undefined || (value === null && indexes.includes(undefined)))",
    killedBy: "sqlite: a document is in the indexes that it says, and stays where nothing is said",
  },
  {
    says: "the mark in a file is further than the documents",
    file: "src/store/sqlite/transaction.js",
    find: "putFolded.run(position, entryId,",
    put: "putFolded.run(position + 1, entryId,",
    killedBy: "sqlite: the mark of what is folded is one, and belongs to its transaction",
  },
  {
    says: "the write lock is not taken in PostgreSQL",
    file: "src/store/postgres/statements.js",
    find: "WHERE one = 1 FOR UPDATE",
    put: "WHERE one = 1",
    killedBy: "postgres: of two openings of the journal one writes at a time, and the next one sees what it wrote",
  },
  {
    says: "what is known of streams is believed in PostgreSQL though another one wrote",
    file: "src/store/postgres/writer.js",
    find: "if (!isMine)",
    put: "if (ground.head === null)",
    killedBy: "postgres: another opening of the journal sees what was committed, and both write in turn",
  },
  {
    says: "what is held back is not sent before it is read in PostgreSQL",
    file: "src/store/postgres/transaction.js",
    find: "return this.flush();",
    put: "return this.outbox.unopened ? this.flush() : undefined;",
    killedBy: "postgres: a transaction reads what it wrote, before anybody else does",
  },
  {
    says: "a COMMIT without an answer is believed in PostgreSQL",
    file: "src/store/postgres/transaction.js",
    find: "const tag = await committing;",
    put: 'const tag = await committing.catch(() => "COMMIT");',
    killedBy: "postgres: a commit whose connection is lost before it is done is told, and is not there",
  },
  {
    says: "the clock of the host is taken for that of the database",
    file: "src/store/postgres/clock.js",
    find: "this.said = Math.min(Math.max(this.exact(), now), latest);",
    put: "this.said = Date.now();",
    killedBy: "postgres: time is the database's, whatever the clock of the host says",
  },
  {
    says: "what was assumed is not compared in PostgreSQL",
    file: "src/store/postgres/statements.js",
    find: "WHEN (SELECT max(seq) FROM $s.entries) = $1 AND",
    put: "WHEN $1::bigint >= 0 OR $2::text IS NULL OR",
    killedBy: "postgres: what was assumed and is not so writes nothing, and what is behind it neither",
  },
  {
    says: "a stream is taken for new in PostgreSQL, and nobody looks",
    file: "src/store/postgres/statements.js",
    find: "THEN -1 ELSE 1 END",
    put: "THEN 1 ELSE 1 END",
    killedBy: "postgres: a stream that is there and was not known is never taken for new",
  },
];

/** All of them; the letter of an id says where. */
export const defects: readonly Defect[] = [
  ...numbered("C", ofClaims),
  ...numbered("Q", ofTheQueue),
  ...numbered("E", ofTheEngine),
  ...numbered("R", ofCaptures),
  ...numbered("A", ofRuns),
  ...numbered("S", ofStores),
];

function numbered(letter: string, some: readonly Omit<Defect, "id">[]): readonly Defect[] {
  return some.map((defect, index) => ({ id: `D${letter}${String(index + 1).padStart(2, "0")}`, ...defect }));
}
