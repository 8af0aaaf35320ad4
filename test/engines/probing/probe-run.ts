import type { Fact, FactField, FactFields } from '../../../src/core/contract/evidence/facts.js';
import { blockSizeKindName, evidenceSourceName } from '../../../src/core/contract/wire/names.js';
import { createHttpGet, type HttpGetOptions } from '../../../src/edge/platform/net/http-get.js';
import { ENGINES } from '../../../src/engines/catalogue/engines.js';
import {
  type EngineProbe,
  type ProbeAnswer,
  ProbeError,
  type ProbeModules,
  type ProbeTarget,
} from '../../../src/engines/probing/probe.js';
import { FakeClock } from '../../support/fake-clock.js';

/** Modules with the real HTTP client and a clock that stands still; files and gRPC answer "not here". */
export function probeModules(
  changes: Partial<ProbeModules> = {},
  httpOptions: HttpGetOptions = {},
): ProbeModules & { readonly clock: FakeClock } {
  const clock = new FakeClock();
  const absent = (what: string) => async (): Promise<never> => {
    throw new ProbeError('not_here', what, 'this test has none');
  };
  return {
    engines: ENGINES,
    httpGet: createHttpGet(httpOptions, { clock }),
    rpc: { call: absent('gRPC') },
    readFile: absent('file'),
    listFiles: absent('folder'),
    ...changes,
    clock,
  };
}

/** Runs one probe once. */
export function runProbe(
  probe: EngineProbe,
  target: ProbeTarget,
  modules: ProbeModules = probeModules(),
): Promise<ProbeAnswer> {
  return probe.probe(target, modules, new AbortController().signal);
}

/** The `ProbeError` that a probe rejects with; fails when it gives an answer. */
export async function probeFailure(
  probe: EngineProbe,
  target: ProbeTarget,
  modules: ProbeModules = probeModules(),
): Promise<ProbeError> {
  const outcome = await runProbe(probe, target, modules).catch((cause: unknown) => cause);
  if (outcome instanceof ProbeError) return outcome;
  throw new Error(`expected a ProbeError, got ${JSON.stringify(outcome) ?? String(outcome)}`, {
    cause: outcome,
  });
}

/** The block sizes as lines: `effective_attention 32 engine_metrics contract`. */
export function sizeLines(facts: readonly Fact[]): readonly string[] {
  return facts.flatMap((fact) => {
    if (fact.type !== 'block_size') return [];
    const kind = blockSizeKindName(fact.size.kind);
    const source = evidenceSourceName(fact.evidence.source);
    return [`${kind} ${fact.size.sizeTokens} ${source}${fact.forContract ? ' contract' : ''}`];
  });
}

/** The values that were stated for one field, in order. */
export function fieldValues<F extends FactField>(facts: readonly Fact[], field: F): readonly FactFields[F][] {
  return facts.flatMap((fact) =>
    fact.type === 'field' && fact.field === field ? [fact.value as FactFields[F]] : [],
  );
}

/** The raw evidence of one field, in order. */
export function fieldRaw(facts: readonly Fact[], field: FactField): readonly string[] {
  return facts.flatMap((fact) => (fact.type === 'field' && fact.field === field ? [fact.evidence.raw] : []));
}
