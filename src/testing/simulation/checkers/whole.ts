/** What must hold of a run as a whole. */
import type { Checker } from "../evidence.js";

/** Engine time never falls, and the entries of one tx have one time. */
export const time: Checker = {
  name: "time",
  check({ entries }, report) {
    for (const [index, { seq, at, tx }] of entries.entries()) {
      const previous = entries[index - 1];
      if (previous === undefined) continue;
      if (at < previous.at) report(`#${seq} must not be before ${previous.at}, found ${at}`);
      if (tx[0] === previous.tx[0] && at !== previous.at) report(`#${seq} must have the time of its tx, found ${at}`);
    }
  },
};

/** Whoever verifies the ledger finds nothing: bytes, chain, tree, claims, receipts, and documents that are the fold. */
export const verified: Checker = {
  name: "verified",
  check({ verified: { verdict, findings } }, report) {
    if (verdict !== "OK" || findings.length > 0)
      report(`must verify, found ${verdict} ${JSON.stringify(findings).slice(0, 2_000)}`);
  },
};

/** The world waited for everything: steps did run, all of them ended, and nothing came afterwards. */
export const settled: Checker = {
  name: "settled",
  check({ begun, ended, late, attempts }, report) {
    if (begun === 0 || ended !== begun) report(`steps must be begun and end, found ${begun} begun and ${ended} ended`);
    if (late > 0) report(`nothing must be written when all has ended, found ${late} entries`);
    const unanswered = attempts.filter(({ told }) => told === null);
    if (unanswered.length > 0) report(`every call must be answered, found none for ${unanswered[0]?.mark}`);
  },
};
