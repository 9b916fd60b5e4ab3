/** Which of the ledger's own tables a call reads, as far as can be said before it is decided. The next batch brings them up,
 *  as a rule, and nobody waits: so calls are decided in the order in which they came, also those that are the first to need a
 *  table. */
import type { FenceProof } from "../kernel/claim.js";
import { kindOf } from "../kernel/names.js";
import { ownedBy } from "../../projections/owned-by.js";
import { receipts } from "../../projections/receipt.js";
import { tablesRead } from "../commands/built-in.js";
import type { PreparedCall } from "./prepare-commands.js";
import type { Catalogue } from "./projector/catalogue.js";

/** Has the tables of a call's receipt, commands and fence brought up. */
export function wantTablesOf({ id, commands, fence }: PreparedCall, catalogue: Catalogue): void {
  if (id !== null) catalogue.tableOf(receipts).wanted = true;
  for (const { definition } of commands)
    for (const area of definition.areas)
      for (const projection of tablesRead.get(area) ?? []) catalogue.tableOf(projection).wanted = true;
  wantTableOf(fence, catalogue);
}

/** Has the table brought up that holds the claim of a fence. */
export function wantTableOf(fence: FenceProof | null, catalogue: Catalogue): void {
  const projection = fence === null ? undefined : ownedBy(kindOf(fence.key));
  if (projection !== undefined) catalogue.tableOf(projection).wanted = true;
}
