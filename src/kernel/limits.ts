/** Every limit of the format and of the engine, in one place. Units are in the names; "units" are UTF-16 code units.
 *  Source: design sections 4, 6 and 14. A limit that is not here does not exist. */

/** A name: a type, an actor, an origin label, a projection. */
export const nameUnitsMax: number = 128;
/** A key: the part of a stream behind its kind, a correlation key. */
export const keyUnitsMax: number = 512;
export const titleUnitsMax: number = 200;
/** The id of a command. With its client it is the key of a document. */
export const commandIdUnitsMax: number = 200;
export const runIdUnitsMax: number = 200;
export const taskIdUnitsMax: number = 128;
export const errorTextUnitsMax: number = 8_192;

/** One entry, in UTF-8 bytes. Fits the 16-bit length of a tlog-tiles entry bundle. */
export const entryBytesMax: number = 65_535;
/** Containers inside containers, in a value given to the engine. The value itself is level 1. */
export const depthMax: number = 128;
export const contentBytesMax: number = 64 * 1024 * 1024;
/** One canonical text. Nothing that is stored is larger than a content. */
export const canonicalUnitsMax: number = contentBytesMax;
export const mediaTypeUnitsMax: number = 127;
/** Content of at least this size is stored once a journal, unless `dedupe` is off. */
export const dedupeBytesMin: number = 1_024;
export const saltBytes: number = 32;

/** A signed note, all of it. */
export const noteBytesMax: number = 1_000_000;
export const noteSignaturesMax: number = 100;
/** The name in a line of signatures, and the first line of a checkpoint: they are shown wherever a note is spoken of. */
export const noteNameUnitsMax: number = 1_024;
/** Hashes of one proof in a file. A tree of 2^53 − 1 entries needs 54. */
export const proofHashesMax: number = 63;

/** What a command answers, of a list all together, and what a refusal says in its details: bytes of canonical JSON. */
export const resultBytesMax: number = 16 * 1024;
export const refusalMessageUnitsMax: number = 1_024;

export const metaKeysMax: number = 16;
/** All keys and values of `meta` together, in UTF-8 bytes of its canonical JSON. */
export const metaBytesMax: number = 2_048;

export const entriesPerTxMax: number = 10_000;
/** Streams that one append may require to be in some state without writing them. */
export const requirementsMax: number = 1_000;
/** Contents that one call may erase: an entry holds no more than about 900 digests. */
export const erasedPerCallMax: number = 500;
/** The input of one command in UTF-16 units of canonical JSON, without its contents. */
export const inputUnitsMax: number = 16 * 1024 * 1024;
/** Commands of one `execute` list. */
export const commandsPerListMax: number = 1_000;
/** Reads of one stage of a command. */
export const readsPerStageMax: number = 1_000;
export const commandsPerBatchMax: number = 512;
export const batchMsMax: number = 8;
export const batchBytesMax: number = 16 * 1024 * 1024;
export const queueCommandsMax: number = 10_000;
export const queueBytesMax: number = 64 * 1024 * 1024;

/** Threads that check entries in one verification. */
export const verifyWorkersMax: number = 64;

/** The tuple of an index, in bytes as they are stored. With the longest key behind it they fit a page of every store. */
export const indexBytesMax: number = 1_024;
/** Documents that a writer remembers. */
export const cacheDocumentsDefault: number = 5_000;
export const cacheDocumentsMax: number = 1_000_000;
export const listLimitDefault: number = 100;
export const listLimitMax: number = 10_000;

export const leaseMsMax: number = 24 * 60 * 60 * 1000;
export const tokenUnitsMin: number = 16;
/** Refusals of one claim key that are remembered, and recorded. */
export const refusedNamesMax: number = 32;
export const runInputBytesMax: number = 1024 * 1024;
/** What went wrong, where it is told as JSON or bytes. */
export const errorBytesMax: number = 1024 * 1024;
export const priorityMax: number = 1_000;
/** What one step of priority is worth in waiting. */
export const priorityStepMs: number = 60_000;
/** How much older an item counts for the runner that it is affine to. */
export const affinityMs: number = 600_000;
/** Runs that a claim may leave out. */
export const exclusionsMax: number = 1_000;
/** Items whose time has come, and claims that have expired, that one claim looks at. */
export const dueCandidatesMax: number = 64;
/** Of those that have expired, how many more it looks at when all of them were taken over too often. */
export const spentMax: number = 1_000;
/** Jobs that one worker has in hand at once. */
export const workerConcurrencyMax: number = 256;
export const reclaimsMaxDefault: number = 10;
export const reclaimsMaxMax: number = 1_000_000;
/** Claims of one thing. With the incarnation above it, a generation makes one number for systems outside. */
export const generationMax: number = 2 ** 32 - 1;
/** A step of the clock past the head that is larger than this is refused unless the host accepts it. */
export const clockStepMsMax: number = 366 * 24 * 60 * 60 * 1000;
/** The last moment that a `Date` can show, in ms since the epoch. */
export const timeMsMax: number = 8.64e15;
export const busyTimeoutMsDefault: number = 5_000;

/** Records of a capture in one entry, and the bytes of its data; a call with more of them becomes several entries of one tx. */
export const sessionRecordsPerEntryMax: number = 200;
export const sessionEntryBytesMax: number = 60_000;
/** Records of one call. */
export const sessionRecordsPerCallMax: number = 10_000;
/** One record: its facts and what it holds. */
export const sessionRecordBytesMax: number = 1024 * 1024;
/** All records of one call. */
export const sessionBytesPerCallMax: number = 64 * 1024 * 1024;
