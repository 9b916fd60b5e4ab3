/** `runledger/testing`: what one needs to attack this engine, a store of one's own, or a host. Every name, one by one.
 *  The arbitraries are fast-check's (a peer dependency); everything else needs no test framework. */
export { everyRefusedValue, refusedValues, tooDeepValues } from "./arbitraries-refused.js";
export type { RefusedValue } from "./arbitraries-refused.js";
export {
  acceptedValues,
  areaNames,
  eventData,
  eventTypes,
  jsonKeys,
  jsonNumbers,
  jsonObjects,
  jsonStrings,
  jsonValues,
  keys,
  labels,
  metas,
  streamNames,
} from "./arbitraries.js";
export { arrayRawReader, emptyRows } from "./array-raw-reader.js";
export type { ArrayRawReaderOptions, RawRows } from "./array-raw-reader.js";
export { asyncMemoryStore } from "./async-memory-store.js";
export type { AsyncMemoryStoreOptions } from "./async-memory-store.js";
export { describeCommands } from "./describe-commands.js";
export type { CommandsSubject } from "./describe-commands.js";
export type { CommandArea } from "./command-world.js";
export { describeProjection } from "./describe-projection.js";
export type { ProjectionSubject } from "./describe-projection.js";
export { describeStore } from "./describe-store.js";
export type { TestRunner } from "./describe-store.js";
export { canStrike, faultAt, seededFaults } from "./faults.js";
export type { Fault, FaultPlan, FaultPoint, FaultRates } from "./faults.js";
export { faultyStore } from "./faulty-store.js";
export type { FaultyStore, StruckFault } from "./faulty-store.js";
export { HiddenInputError, withoutHiddenInputs } from "./hidden-inputs.js";
export { recordHistory } from "./history.js";
export type { HistoryEvent } from "./history.js";
export { checkLaw, LawBroken } from "./laws.js";
export type { Law } from "./laws.js";
export { compareWithModel } from "./simulation/lockstep.js";
export type { LockstepOptions, LockstepReport } from "./simulation/lockstep.js";
export { simulate } from "./simulation/simulate.js";
export type { SimulateOptions } from "./simulation/simulate.js";
export { simulateWorkers } from "./simulation/simulate-workers.js";
export { sayViolations } from "./simulation/report.js";
export type { SimulationReport } from "./simulation/report.js";
export type { SimulatedStore } from "./simulation/world.js";
export type { Violation } from "./simulation/evidence.js";
export { manualClock } from "./manual-clock.js";
export type { ManualClock } from "./manual-clock.js";
export { seededBytes, seededNumbers } from "./seeded.js";
export type { StoreFixture } from "./store-fixture.js";
export { durableSteps } from "../journal/store.js";
export type { DurableStep, FaultSeam } from "../journal/store.js";
