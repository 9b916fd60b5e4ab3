/** What runs follow, on `definition/<digest>`: each is stored once, and found by what it is.
 *  Source: decision 0026; rows U-01, U-05. */
import { isDigest } from "../../kernel/digest.js";
import { invalid } from "../../kernel/errors.js";
import { parseName } from "../../kernel/names.js";
import type { ContentReference } from "../content.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";
import { factsOf } from "../facts.js";

export const definitionKind = "definition";

/** There is such a definition. */
export interface DefinitionRegistered {
  readonly name: string;
  /** SHA-256 of the canonical JSON of the snapshot, 64 hex digits: anybody can compute it, and guess by it. */
  readonly digest: string;
  readonly snapshot: ContentReference;
}

/** Closed: written by the commands of definitions alone. */
export const definitionEvents: EventDefinitions = defineEvents(
  definitionKind,
  { open: false },
  {
    "definition.registered": {
      content: ["/snapshot"],
      parse: factsOf("definition.registered", { name: parseName, digest: checkDigest, snapshot: (value) => value }),
    },
  },
);

function checkDigest(value: unknown, path: string): void {
  if (!isDigest(value)) throw invalid(path, "64 lower-case hex digits", value);
}

/** The stream of a definition. */
export function definitionStream(digest: string): string {
  return `${definitionKind}/${digest}`;
}

/** The digest of such a stream. */
export function digestOfStream(stream: string): string {
  return stream.slice(definitionKind.length + 1);
}
