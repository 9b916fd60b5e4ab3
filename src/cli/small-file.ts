/** Checkpoints, proofs, keys and entries: files that are read as a whole, and are small or none. */
import { createReadStream } from "node:fs";
import { LedgerError } from "../index.js";
import { noteBytesMax } from "../kernel/limits.js";

/** The bytes of a file, or of standard input for `-`. `NOT_FOUND` when it cannot be read, `LIMIT_EXCEEDED` when it is
 *  larger than what can be in it. */
export async function readSmallFile(file: string, stdin: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Neither has an encoding set, but the type of a stream does not say what it hands out.
  const stream: AsyncIterable<string | Buffer> = file === "-" ? stdin : createReadStream(file);
  try {
    for await (const chunk of stream) {
      chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
      bytes += chunks.at(-1)?.length ?? 0;
      if (bytes > noteBytesMax) break;
    }
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException; // what streams fail with
    throw new LedgerError("NOT_FOUND", `${JSON.stringify(file)} must be readable, found ${code ?? message}`, {
      details: { file, found: code ?? message },
      cause,
    });
  }
  if (bytes <= noteBytesMax) return Buffer.concat(chunks);
  throw new LedgerError(
    "LIMIT_EXCEEDED",
    `${JSON.stringify(file)} may have at most ${noteBytesMax} bytes, found more`,
    {
      details: { file, limit: "bytes", max: noteBytesMax },
    },
  );
}
