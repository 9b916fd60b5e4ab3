/** What FORMAT.md, section 6, says of claims and fences, said once more and as plainly as can be: for each entry, everything
 *  before it is read again. */
import type { EntryFields, FenceMark } from "../../src/journal/entry.js";

interface Story {
  readonly generation: number;
  readonly expiresAt: number;
  /** Null: nobody let go of it. */
  readonly endedIn: number | null;
}

const day = 86_400_000;

/** The position of the first entry that is not allowed; null when all are. */
export function firstIllegal(entries: readonly EntryFields[]): number | null {
  return entries.find((_, position) => position > 0 && !isLegal(entries, position))?.seq ?? null;
}

function isLegal(entries: readonly EntryFields[], position: number): boolean {
  const entry = entries[position]!;
  const { tx, stream, type, fence } = entry;
  const tells = type.startsWith("journal.") || type.startsWith("area.") || type === "receipt.recorded";
  if (tells) {
    const before = entries[position - 1]!;
    if (before.type === "fence.refused" && before.tx[0] === tx[0] && !isRefusal(entry)) return false;
    return fence === undefined;
  }
  if (stream.startsWith("fence/") || type === "fence.refused") return isLegalRefusal(entries, position);
  const mates = entries.slice(tx[0], position).filter((each) => isCallers(each));
  if (mates.some((mate) => JSON.stringify(mate.fence) !== JSON.stringify(fence))) return false;
  if (entries[position - 1]!.type === "fence.refused" && entries[position - 1]!.tx[0] === tx[0]) return false;
  const now = Math.max(...entries.slice(0, position + 1).map(({ at }) => at));
  const own = fence !== undefined && fence[0] === stream;
  const isFact = whatItDoes(type) !== undefined;
  if (fence !== undefined && !isGood(entries, position, fence, now, own && isFact, whatItDoes(type) === "let go"))
    return false;
  return !isFact || isLegalFact(entries, position, now, own);
}

function isGood(
  entries: readonly EntryFields[],
  position: number,
  [key, incarnation, generation]: FenceMark,
  now: number,
  ownFact: boolean,
  late: boolean,
): boolean {
  const story = storyOf(entries, position, key);
  const restores = entries.slice(0, position).filter(({ type }) => type === "journal.restored");
  if (incarnation !== (restores.at(-1)?.data["incarnation"] ?? 1)) return false;
  if (story === null || generation !== story.generation) return false;
  const sameTx = story.endedIn === entries[position]!.tx[0];
  if (story.endedIn !== null && (ownFact || !sameTx)) return false;
  return now < story.expiresAt || (ownFact && late);
}

function isLegalFact(entries: readonly EntryFields[], position: number, now: number, own: boolean): boolean {
  const { stream, type, at, data } = entries[position]!;
  const story = storyOf(entries, position, stream);
  const standing = story !== null && story.endedIn === null ? story : null;
  const isLive = standing !== null && now < standing.expiresAt;
  switch (whatItDoes(type)) {
    case "begin":
      if (standing !== null) return false;
      return data["claim"] === undefined || isLegalClaim(data["claim"], story, null, at);
    case "take":
      return !isLive && isLegalClaim(data["claim"], story, standing, at);
    case "renew": {
      const expiresAt = data["expiresAt"] as number;
      return own && standing !== null && expiresAt > standing.expiresAt && expiresAt <= at + day;
    }
    case "end":
    case "let go":
      return own;
    case "die":
      return own || (standing !== null && !isLive);
    default:
      return true;
  }
}

function isLegalClaim(value: unknown, story: Story | null, standing: Story | null, at: number): boolean {
  const { generation, superseded, expiresAt } = value as { generation: number; superseded: unknown; expiresAt: number };
  if (generation !== (story?.generation ?? 0) + 1 || superseded !== (standing?.generation ?? null)) return false;
  return expiresAt > at && expiresAt <= at + day;
}

function isLegalRefusal(entries: readonly EntryFields[], position: number): boolean {
  const { stream, type, seq, tx, fence, data } = entries[position]!;
  if (type !== "fence.refused" || fence !== undefined || seq !== tx[0] || tx[1] > 2) return false;
  const { key, generation, command, reason } = data as {
    key: string;
    generation: number;
    command: string;
    reason: string;
  };
  if (stream !== `fence/${key}` || generation < 1) return false;
  const story = storyOf(entries, position, key);
  if (story === null || generation > story.generation) return false;
  if (reason === "generation" && generation === story.generation) return false;
  if (reason !== "generation" && reason !== "incarnation" && generation < story.generation) return false;
  const before = entries.slice(0, position).filter((each) => each.stream === stream);
  if (before.length >= 32) return false;
  return !before.some((each) => each.data["generation"] === generation && each.data["command"] === command);
}

/** What the entries before a position leave of the claim of a key; null: nobody ever claimed it. */
function storyOf(entries: readonly EntryFields[], position: number, key: string): Story | null {
  let story = null as Story | null;
  let now = 0;
  for (const { stream, type, at, tx, data } of entries.slice(0, position)) {
    now = Math.max(now, at);
    if (stream !== key) continue;
    const claim = data["claim"] as { generation: number; expiresAt: number } | undefined;
    const does = whatItDoes(type);
    const isLive = story !== null && now < story.expiresAt;
    if (claim !== undefined) story = { generation: claim.generation, expiresAt: claim.expiresAt, endedIn: null };
    else if (story === null || story.endedIn !== null) continue;
    else if (does === "renew") story = { ...story, expiresAt: data["expiresAt"] as number };
    else if (does !== undefined && (does !== "cancel" || !isLive)) story = { ...story, endedIn: tx[0] };
  }
  return story;
}

function whatItDoes(type: string): "begin" | "take" | "renew" | "end" | "let go" | "die" | "cancel" | undefined {
  switch (type) {
    case "queue.enqueued":
      return "begin";
    case "queue.claimed":
      return "take";
    case "queue.renewed":
      return "renew";
    case "queue.completed":
    case "queue.requeued":
      return "end";
    case "queue.parked":
    case "queue.released":
      return "let go";
    case "queue.died":
      return "die";
    case "queue.cancelRequested":
      return "cancel";
    default:
      return undefined;
  }
}

function isCallers({ type }: EntryFields): boolean {
  return !/^(journal|area|receipt|fence)\./.test(type);
}

function isRefusal({ type, data }: EntryFields): boolean {
  return type === "receipt.recorded" && (data["refusal"] as { code?: unknown } | undefined)?.code === "FENCED";
}
