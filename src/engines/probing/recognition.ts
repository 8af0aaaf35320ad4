import type { JsonObject } from '../../edge/platform/data/json-object.js';
import type { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';

/** A path that is harmless on every engine, and how its answer shows this engine. */
export interface RecognisingPath {
  /** `/version`; asked once, whichever engines look at its answer. */
  readonly path: string;
  /** What of the answer shows this engine, for people: `has vllm_config`. Undefined when it shows another one. */
  recognise(answer: JsonObject, status: number): string | undefined;
}

/** How an engine is recognised behind an HTTP address. */
export interface Recognition {
  /** `owned_by` of its model list: `vllm`. */
  readonly owners: readonly string[];
  /** Paths that are asked, in this order, when the model list names no known owner. */
  readonly paths: readonly RecognisingPath[];
  /**
   * A family on `/metrics` that this engine alone has: it shows the engine behind a server that renames everything
   * else. Only asked of a server with a model list and without `/version` (see `identify-engine.ts`).
   */
  readonly metricFamily?: { readonly name: string; readonly words: string };
  /** True where `root` of its model list repeats the served name, and is not the model's own. */
  readonly repeatsServedName?: true;
  /** Owners that are no worker: what the reason says of them. They are identified as another engine. */
  readonly foreignOwners?: Readonly<Record<string, string>>;
}

/** An engine that can be recognised; every descriptor is one. */
export interface RecognisableEngine {
  readonly kind: EngineKind;
  readonly recognition: Recognition;
}
