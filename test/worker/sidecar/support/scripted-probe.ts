import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import type { ObservedSize } from '../../../../src/core/contract/evidence/observed-size.js';
import { type Clock, sleep } from '../../../../src/edge/platform/clock.js';
import type { Random } from '../../../../src/edge/platform/random.js';
import {
  type EngineProbe,
  type ProbeAnswer,
  ProbeError,
  type ProbeErrorCode,
  type ProbeModules,
} from '../../../../src/engines/probing/probe.js';
import {
  BlockSizeKind,
  EngineKind,
  type EngineState,
  EvidenceSource,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';

/** What a scripted source does when it is asked. */
export type Behaviour =
  | { readonly does: 'answer'; readonly facts: readonly Fact[]; readonly warnings?: readonly string[] }
  | { readonly does: 'fail'; readonly code: ProbeErrorCode; readonly message?: string }
  | { readonly does: 'hang' }
  | { readonly does: 'throw'; readonly error: unknown }
  | { readonly does: 'answer late'; readonly afterMs: number; readonly facts: readonly Fact[] };

/** A source that does what the test says, and counts how often it was asked. */
export class ScriptedProbe implements EngineProbe {
  readonly name: string;
  readonly engineKind: EngineKind | undefined = EngineKind.VLLM;
  behaviour: Behaviour;
  timesAsked = 0;

  constructor(name: string, behaviour: Behaviour) {
    this.name = name;
    this.behaviour = behaviour;
  }

  origin({ httpBaseUrl }: { readonly httpBaseUrl?: string }): string | undefined {
    return httpBaseUrl === undefined ? undefined : `GET ${httpBaseUrl}/${this.name}`;
  }

  async probe(
    target: { readonly httpBaseUrl?: string },
    modules: ProbeModules,
    signal: AbortSignal,
  ): Promise<ProbeAnswer> {
    this.timesAsked += 1;
    const origin = this.origin(target) ?? '';
    const { behaviour } = this;
    switch (behaviour.does) {
      case 'answer':
        return { facts: behaviour.facts, ...(behaviour.warnings && { warnings: behaviour.warnings }) };
      case 'fail':
        throw new ProbeError(behaviour.code, origin, behaviour.message ?? behaviour.code);
      case 'throw':
        throw behaviour.error;
      case 'hang':
        // As a probe with a fault would: it does not even look at its signal.
        return new Promise(() => {});
      case 'answer late':
        await sleep(modules.clock, behaviour.afterMs, signal);
        return { facts: behaviour.facts };
    }
  }
}

/** Modules for probes that need nothing but time. */
export function bareModules(clock: Clock): ProbeModules {
  const refuse = (): Promise<never> => Promise.reject(new Error('this test asks nothing real'));
  return { clock, engines: [], httpGet: refuse, rpc: { call: refuse }, readFile: refuse, listFiles: refuse };
}

/** Randomness without chance: the middle of every interval, and ids that count up. */
export function countingRandom(): Random {
  let drawn = 0;
  return {
    fraction: () => 0.5,
    uniqueId: () => {
      drawn += 1;
      return `random-${drawn}`;
    },
  };
}

const evidence = (origin: string, raw: string): Fact['evidence'] => ({
  source: EvidenceSource.ENGINE_METRICS,
  origin,
  raw,
  observedAtMs: 0,
});

/** The effective block size, as metrics tell it. */
export function blockSize(sizeTokens: number, origin = 'GET metrics'): Fact {
  return {
    type: 'block_size',
    size: { kind: BlockSizeKind.EFFECTIVE_ATTENTION, sizeTokens },
    forContract: true,
    evidence: evidence(origin, `effective_attention_block_size="${sizeTokens}"`),
  };
}

/** A served model. */
export function servedModel(name = 'tiny'): Fact {
  return fieldFact('model.served_names', [name], evidence('GET models', name));
}

/** A start marker of one source. */
export function startMarker(marker: string, origin = 'GET metrics'): Fact {
  return fieldFact('engine.start_marker', marker, evidence(origin, marker));
}

/** What an engine says of its own state. */
export function statedState(state: EngineState): Fact {
  return fieldFact('engine.state', state, evidence('GET health', String(state)));
}

/** The same facts as the operator would declare them. */
export function declared(fact: Fact): Fact {
  return { ...fact, evidence: { ...fact.evidence, source: EvidenceSource.DECLARED } };
}

/** A block size as an event of the engine shows it. */
export function observedSize(tokensPerBlock: number, rank = 0): ObservedSize {
  return {
    tokensPerBlock,
    unit: 'token',
    rank,
    origin: `KV events of tcp://e:${5557 + rank}`,
    raw: `block_size=${tokensPerBlock}`,
    observedAtMs: 0,
  };
}
