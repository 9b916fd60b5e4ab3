/** The laws of projections, as tests of one. Independent of a test runner. */
import fc from "fast-check";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { EventDefinitions } from "../journal/define-events.js";
import type { TestRunner } from "./describe-store.js";
import { recordHistory } from "./history.js";
import type { HistoryEvent } from "./history.js";
import { checkLaw } from "./laws.js";
import { projectionLaws } from "./projection-laws.js";
import { rememberPrototypes } from "./prototypes.js";

/** What `describeProjection` tries. @public */
export interface ProjectionSubject {
  readonly projection: AnyProjection;
  /** The definitions of the areas whose events it folds. */
  readonly events: readonly EventDefinitions[];
  /** Histories that can happen, as their writers give them: the laws are as good as these. */
  readonly histories: fc.Arbitrary<readonly HistoryEvent[]>;
  /** How many histories each law is tried on. Default: fast-check's, 100 unless configured. */
  readonly numRuns?: number;
}

/** Declares the laws of projections for one: that it is pure and total, that the drivers agree, that a rebuild in parts is a
 *  rebuild. A law that is broken says by which history, and how to try that again (see `checkLaw`). @public */
export function describeProjection(name: string, subject: ProjectionSubject, { describe, test }: TestRunner): void {
  const { projection, events, histories, numRuns } = subject;
  describe(`${name} keeps the laws of projections`, () => {
    for (const { title, check } of projectionLaws) {
      const property = (): fc.IRawProperty<unknown> =>
        fc.property(histories, fc.nat(), (history, cut) => {
          const recorded = recordHistory(history, events);
          const putBack = rememberPrototypes();
          try {
            check(projection, recorded, cut);
          } finally {
            putBack();
          }
        });
      test(title, () => checkLaw({ title: `${name}: ${title}`, property }, numRuns));
    }
  });
}
