import type { Store, StoreSnapshot } from "../journal/store.js";

/** Reads at one position, and gives the snapshot back whatever happens. */
export async function withSnapshot<Result>(
  store: Store,
  read: (snapshot: StoreSnapshot) => Promise<Result>,
): Promise<Result> {
  const snapshot = await store.snapshot();
  try {
    return await read(snapshot);
  } finally {
    await snapshot.release();
  }
}
