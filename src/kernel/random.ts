import { randomFillSync } from "node:crypto";

/** Random bytes, injected in tests. */
export type RandomBytes = (size: number) => Uint8Array;

const drawnBytes = 4_096;
const drawn = new Uint8Array(drawnBytes);
let used = drawnBytes;

/** Random bytes of the system, drawn in larger pieces: to ask for the bytes of each call by themselves takes longer than to
 *  hash an entry. What was handed out is nowhere else. */
export const randomBytes: RandomBytes = (size) => {
  if (size > drawnBytes) return randomFillSync(new Uint8Array(size));
  if (used + size > drawnBytes) {
    randomFillSync(drawn);
    used = 0;
  }
  const bytes = drawn.slice(used, used + size);
  drawn.fill(0, used, used + size);
  used += size;
  return bytes;
};
