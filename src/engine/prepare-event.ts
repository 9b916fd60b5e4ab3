/** Turns one event that a caller, or a command, gave into text that is complete but for its place. */
import { types } from "node:util";
import { canonicalize, writeCanonical } from "../kernel/canonical.js";
import { invalid, invariant } from "../kernel/errors.js";
import { dedupeBytesMin, entryBytesMax, saltBytes } from "../kernel/limits.js";
import { parseType } from "../kernel/names.js";
import {
  contentDigest,
  ContentValue,
  isContentReference,
  isContentValue,
  plainHash,
  toContent,
} from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { entryTemplate } from "../journal/entry.js";
import type { EntryLabels, EntryTemplate } from "../journal/entry.js";
import { journalStream } from "../journal/events/journal.js";
import type { RandomBytes } from "../kernel/random.js";
import type { Areas } from "./areas.js";
import { redactData } from "./redact.js";
import type { Redact } from "./redact.js";
import type { NewEvent } from "./types.js";

/** A content on its way, with the salt that it will have unless an equal one is stored already. */
export interface PendingContent {
  /** As it was marked. */
  readonly value: ContentValue;
  readonly media: string;
  readonly bytes: Uint8Array;
  readonly salt: Uint8Array;
  readonly digest: string;
  readonly plain: string | null;
}

/** An event whose text is complete but for its place and the numbers of its contents. */
export interface PreparedEvent {
  readonly stream: string;
  readonly type: string;
  /** Schema version of its data. */
  readonly version: number;
  readonly labels: EntryLabels;
  /** How messages name it. */
  readonly path: string;
  readonly template: EntryTemplate;
  /** The data in segments; between two of them stands the reference to a content. */
  readonly segments: readonly string[];
  readonly contents: readonly PendingContent[];
  /** References to contents that must be in the journal already. */
  readonly references: readonly ContentReference[];
}

/** With what events are prepared. */
export interface Preparing {
  readonly areas: Areas;
  readonly randomBytes: RandomBytes;
  readonly dedupe: boolean;
  readonly redact: Redact | undefined;
  /** Refuses an event that may not be written here. */
  readonly allow: (stream: string, type: string, path: string) => void;
}

/** Checks and encodes an event, whose members are checked, or throws what is wrong with it. */
export function prepareEvent(
  stream: string,
  event: NewEvent,
  path: string,
  labels: EntryLabels,
  preparing: Preparing,
): PreparedEvent {
  const type = parseType(event.type, `${path}.type`);
  preparing.allow(stream, type, path);
  const definition = preparing.areas.definitionOf(type);
  const place = { path: `${path}.data`, stream, type };
  const given = event.data === undefined ? {} : redactData(preparing.redact, event.data, place);
  const data = parseData(definition === undefined ? given : definition.parse(given), `${path}.data`);
  const contents: PendingContent[] = [];
  const references: ContentReference[] = [];
  const segments = writeCanonical(data, {
    path: `${path}.data`,
    unitsMax: entryBytesMax,
    ...(definition?.pointers === undefined ? {} : { pointers: definition.pointers }),
    take: (value, at) => {
      const named = isContentValue(value);
      if (!named && (definition?.pointers === undefined || isClassInstance(value))) return false;
      if (isReferenceShaped(value)) return false;
      contents.push(pend(toContent(value, at), preparing));
      return true;
    },
    reference: (value, at) => {
      if (!isContentReference(value))
        throw invalid(at, 'a content reference {"$content", "bytes", "n"}: "$content" names nothing else', value);
      references.push({ ...value });
    },
  });
  const version = definition?.version ?? 1;
  const template = entryTemplate(stream, type, version, labels);
  return { stream, type, version, labels, path, template, segments, contents, references };
}

/** An event of the engine's own, as a rule on the journal's own stream. */
export function ownEvent(
  type: string,
  data: object,
  labels: EntryLabels,
  stream: string = journalStream,
): PreparedEvent {
  return {
    stream,
    type,
    version: 1,
    labels,
    path: "entry",
    template: entryTemplate(stream, type, 1, labels),
    segments: [canonicalize(data)],
    contents: [],
    references: [],
  };
}

/** Canonical text with the reference to each content in its place. */
export function fillSegments(segments: readonly string[], references: readonly ContentReference[]): string {
  let text = segments[0] ?? "";
  references.forEach(({ $content, bytes, n }, index) => {
    text += `{"$content":"${$content}","bytes":${bytes},"n":${n}}${segments[index + 1] ?? ""}`;
  });
  return text;
}

/** What an event weighs in the queue, in bytes or more. */
export function weigh(event: PreparedEvent): number {
  let weight = 400;
  for (const segment of event.segments) weight += segment.length;
  for (const content of event.contents) weight += content.bytes.length + 200;
  return weight;
}

function pend(value: ContentValue, { randomBytes, dedupe }: Preparing): PendingContent {
  const { media } = value;
  const bytes = ContentValue.bytesOf(value);
  invariant(bytes !== undefined, "a content value has bytes");
  const salt = randomBytes(saltBytes);
  const plain = dedupe && bytes.length >= dedupeBytesMin ? plainHash(media, bytes) : null;
  return { value, media, bytes, salt, digest: contentDigest(media, salt, bytes), plain };
}

function parseData(data: unknown, path: string): object {
  if (types.isProxy(data)) throw invalid(path, "a plain object", data);
  if (typeof data !== "object" || data === null || Array.isArray(data) || isClassInstance(data))
    throw invalid(path, "a plain object", data);
  return data;
}

function isClassInstance(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null && !types.isUint8Array(value);
}

function isReferenceShaped(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$content");
}
