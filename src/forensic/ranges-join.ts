/** Takes a proved stretch into the pass over all entries.
 *  Invariants: each thing that the stretch took for granted is compared before anything is taken from it; what it leaves is
 *  what the cheap step would leave, row by row; a stretch that does not follow changes nothing. */
import { invariant } from "../kernel/errors.js";
import { clockStepMsMax } from "../kernel/limits.js";
import { IdIndex } from "./causes.js";
import type { PassState } from "./pass.js";
import { referenceValues } from "./ranges.js";
import type { ProvedStretch } from "./ranges.js";
import { nameOf } from "./streams.js";
import type { StreamState } from "./streams.js";

const idDigits = 64;

/** Takes it, if it follows what stands before. */
export async function joinStretch(state: PassState, stretch: ProvedStretch): Promise<boolean> {
  if (!follows(state, stretch) || !typesAgree(state, stretch)) return false;
  const streams = streamsOf(state, stretch);
  if (streams === null || !(await causesAreEarlier(state, stretch))) return false;
  take(state, stretch, streams);
  return true;
}

/** Link, tx and time, as the cheap step compares them at a first row. */
function follows(state: PassState, { from, previous, firstTx, times }: ProvedStretch): boolean {
  const { tx } = state;
  const at = times[0]!;
  invariant(from === state.next, "a stretch must be joined where it starts");
  if (state.offset !== 0 || previous !== state.previous || tx === null || at < state.at) return false;
  if (state.inTx(from)) return firstTx.first === tx.first && firstTx.count === tx.count && at === tx.at;
  return firstTx.first === from && at - state.at <= clockStepMsMax;
}

function typesAgree({ parts }: PassState, { types }: ProvedStretch): boolean {
  return types.every(({ number, name }) => parts.types.numbered(number)?.name === name);
}

/** The streams of the stretch as they stand here; null when one of them stands otherwise. */
function streamsOf({ parts }: PassState, { streams }: ProvedStretch): StreamState[] | null {
  const found: StreamState[] = [];
  for (const [place, middle] of streams.middles.entries()) {
    const number = streams.numbers[place]!;
    const last = streams.lasts[place]!;
    const state = parts.streams.numbered(number);
    // Of two rows with one name the second has the state, and the number, of the first.
    if (state === undefined || state.number !== number || state.middle !== middle) return null;
    if (state.revision !== streams.revisions[place] || state.last !== (last < 0 ? null : last)) return null;
    found.push(state);
  }
  return found;
}

/** Adds the ids to those by which causes are looked up, once there are any. */
async function causesAreEarlier(state: PassState, stretch: ProvedStretch): Promise<boolean> {
  const { from, ids, causes, causesBefore } = stretch;
  if (causesBefore.length > 0) state.ids ??= await IdIndex.read(state.first, from, state.parts.reader);
  const index = state.ids;
  if (index === null) return true;
  index.addAll(from, ids);
  return causesBefore.every((before, place) => {
    const position = index.find(causes.slice(place * idDigits, (place + 1) * idDigits));
    return position !== null && position < before;
  });
}

function take(state: PassState, stretch: ProvedStretch, streams: readonly StreamState[]): void {
  const { parts } = state;
  const { from, count, places, digests, references, types, lastTx, times, ids, ahead } = stretch;
  let named = 0;
  for (let row = 0; row < count; row++) {
    const stream = streams[places[row]!]!;
    const position = from + row;
    for (; references[named * referenceValues] === row; named++) {
      const $content = digests.slice(named * idDigits, (named + 1) * idDigits);
      const n = references[named * referenceValues + 1]!;
      const bytes = references[named * referenceValues + 2]!;
      parts.contents.name({ $content, bytes, n }, { position, stream: nameOf(stream), revision: stream.revision + 1 });
    }
    parts.streams.advance(stream, stream.revision + 1, position);
  }
  for (const { number } of types) parts.types.numbered(number)!.used = true;
  state.tree?.take(stretch);
  state.causes += stretch.causesBefore.length;
  state.rows += count;
  state.tx = lastTx;
  state.previous = Buffer.from(ids.subarray(-idDigits / 2)).toString("hex");
  state.claimed = null;
  state.at = times[count - 1]!;
  state.next = from + count;
  state.ahead ??= ahead;
}
