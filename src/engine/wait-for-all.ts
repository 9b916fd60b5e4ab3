/** Waits until all have settled, so that nothing is in flight any more, and throws what the first of them in this order rejected
 *  with. */
export async function waitForAll(promises: readonly (Promise<void> | undefined)[]): Promise<void> {
  const settled = await Promise.allSettled(promises.map((promise) => Promise.resolve(promise)));
  for (const each of settled) if (each.status === "rejected") throw each.reason;
}
