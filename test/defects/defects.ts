/** Defects as somebody might write them, each in one place of the built library, and who must see it: a law or checker of
 *  `runledger/testing`, or a code of `verify`. What is found stands exactly once in its file; when a change of the code takes it
 *  away, the test says so, and the row is to be brought along. */
export interface Defect {
  readonly id: string;
  /** What it does wrong. */
  readonly says: string;
  /** In `dist/`. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** The checker that must see it. */
  readonly killedBy: string;
}

export const defects: readonly Defect[] = [
  {
    id: "D01",
    says: "a fence whose claim has expired is accepted",
    file: "src/kernel/claim.js",
    find: "if (refused !== null || isLive(owned.claim, at))",
    put: "if (refused !== null || owned.claim !== null)",
    killedBy: "verify: E_FENCE",
  },
  {
    id: "D02",
    says: "a claim is live at the very moment at which it expires: `>=` for `>`",
    file: "src/kernel/claim.js",
    find: "return claim !== null && claim.expiresAt > at;",
    put: "return claim !== null && claim.expiresAt >= at;",
    killedBy: "lockstep: every call goes as the reference model says",
  },
  {
    id: "D03",
    says: "a generation is issued again behind a release",
    file: "src/kernel/claim.js",
    find: "const generation = owned.generation + 1;",
    put: "const generation = (previous?.generation ?? 0) + 1;",
    killedBy: "verify: E_CLAIM",
  },
  {
    id: "D04",
    says: "a takeover forgets what it superseded",
    file: "src/kernel/claim.js",
    find: "superseded: previous?.generation ?? null,",
    put: "superseded: null,",
    killedBy: "verify: E_CLAIM",
  },
  {
    id: "D05",
    says: "the second command of a batch does not see what the first one did: an index is asked before it is written",
    file: "src/engine/projector/table-tx.js",
    find: "await this.batch.flush(table);",
    put: "",
    killedBy: "commands: a batch leaves the same bytes and answers as its commands one by one",
  },
  {
    id: "D06",
    says: "a document is left by a transaction that was rolled back: a document without its entry",
    file: "src/store/memory/transaction.js",
    find: "this.host.end(committed ? this.reach() : before);",
    put: "this.host.end(committed ? this.reach() : { ...before, documents: this.documentState });",
    killedBy: "memory: documents, mark and entries of one transaction are there together",
  },
];
