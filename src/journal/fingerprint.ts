/** The fingerprint of a command, or of a list of them: by it, the same id sent again is told from the same id used twice.
 *  Invariant: it depends on the names and the redacted inputs alone, as values: not on the order of members, nor on how
 *  an equal content was stored before. Source: design section 9, rows D-68 and C-04, decision 0019. */
import { contentDigest, jsonMedia, plainHash } from "./content.js";

/** The text of one command: the canonical text of `[name, input]`, in which each content value is what `contentStandIn`
 *  says, or of `[name]` when there is no input. `input` is canonical already. */
export function commandText(name: string, input: string | null): string {
  return input === null ? `["${name}"]` : `["${name}",${input}]`;
}

/** The text of a list of commands. A list of one is not the command in it: their answers differ. */
export function listText(commands: readonly string[]): string {
  return `[${commands.join(",")}]`;
}

/** What stands for a content value in the text of an input. No input holds such an object by itself: what has a member
 *  `$content` is a whole reference, or refused. */
export function contentStandIn(media: string, bytes: Uint8Array): string {
  return `{"$content":"${plainHash(media, bytes)}"}`;
}

/** The fingerprint, under the salt that its receipt names. */
export function fingerprint(text: string, salt: Uint8Array): string {
  return contentDigest(jsonMedia, salt, Buffer.from(text));
}
