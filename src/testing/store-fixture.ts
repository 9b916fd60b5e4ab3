import type { Store } from "../journal/store.js";

/** One store to test, new and empty. @public */
export interface StoreFixture {
  readonly store: Store;
  /** Opens the same journal again, as another process would; absent where a journal lives in one store object. */
  readonly reopen?: () => Promise<Store>;
  /** Removes what the fixture made. The store may be closed already. */
  readonly dispose: () => Promise<void>;
}

/** Declares one test on a new, empty store. */
export type WithStore = (title: string, body: (store: Store, fixture: StoreFixture) => Promise<void>) => void;
