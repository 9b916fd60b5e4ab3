/** What the store has to say beside its answers. Sizes in bytes. */
export type StoreDiagnostic =
  | {
      readonly type: "walOverCap";
      readonly bytes: number;
      readonly capBytes: number;
      readonly checkpointBlocked: boolean;
    }
  | { readonly type: "copied"; readonly location: string };

/** Hears what the store has to say. */
export type OnDiagnostic = (diagnostic: StoreDiagnostic) => void;
