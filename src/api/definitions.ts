/** The definitions of a ledger: what its runs follow. */
import { isDigest } from "../kernel/digest.js";
import { invalid } from "../kernel/errors.js";
import { checkMembers } from "../kernel/members.js";
import { register } from "../commands/definition.js";
import type { RegisterDefinitionInput } from "../commands/definition-input.js";
import type { DefinitionName } from "../journal/events/run.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";
import { definitions } from "../../projections/definition.js";
import type { Definition } from "../../projections/definition.js";
import { executeOne } from "./execute-one.js";

/** Which definitions to list. @public */
export interface DefinitionListOptions {
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** The definitions, as `ledger.definitions`. @public */
export class Definitions {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Stores a definition, once: an equal one is found by its digest, and nothing is written, also when its content was erased
   *  since. Nothing secret belongs in it: anybody can compute the digest of a guess. `REQUEST_CONFLICT`: it was registered
   *  by another name. */
  register(
    definition: RegisterDefinitionInput,
    options: ExecuteOptions = {},
  ): Promise<Executed & Told<DefinitionName>> {
    return executeOne(this.engine, register(definition), options);
  }

  /** One definition; null when it was not registered. `ledger.content(definition.snapshot)` reads what it is. */
  async get(digest: string): Promise<Readonly<Definition> | null> {
    if (!isDigest(digest)) throw invalid("digest", "64 lower-case hex digits", digest);
    return this.engine.projection(definitions).get(digest);
  }

  /** All definitions, the oldest first. */
  async list(
    options: DefinitionListOptions = {},
  ): Promise<{ readonly definitions: readonly Readonly<Definition>[]; readonly next: string | null }> {
    checkMembers(options, "options", ["after", "limit"]);
    const { after, limit } = options;
    const { documents, next } = await this.engine.projection(definitions).find({
      index: "created",
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    return { definitions: documents.map(({ document }) => document), next };
  }
}
