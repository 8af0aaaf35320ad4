import fc from 'fast-check';
import type { AgreementEvent } from '../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import type { ContractValues } from '../../../src/core/contract/contract-values.js';
import type { CacheView } from '../../../src/core/contract/wire/cache-view.js';
import { EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';
import type { ReportSketch } from '../../support/fleet.js';
import { makeReport } from '../../support/fleet.js';

/** The workers of a made-up fleet. */
export const TARGETS: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'f'];

/** A made-up report, before it is given a worker. */
export interface MadeReport {
  readonly size: number;
  readonly model: string;
  readonly values: ContractValues;
  readonly source: EvidenceSource;
  readonly declares: number | undefined;
  readonly draining: boolean;
  readonly unusable: string | undefined;
}

/** What a worker may report. */
export const sketch: fc.Arbitrary<MadeReport> = fc.record({
  size: fc.constantFrom(16, 32, 48, 64),
  // Mostly the one that the properties look at; empty is a worker that has not named its model yet.
  model: fc.constantFrom('tiny', 'tiny', 'tiny', 'tiny', 'other', ''),
  values: fc.constantFrom(
    {},
    { hash_algorithm: 'sha256' },
    { hash_algorithm: 'xxhash' },
    { hash_unit: 'token' },
    { block_rehash: 'possible' },
    { block_rehash: 'possible', hash_unit: 'token' },
    { 'tokens.text': 'x', 'tokens.message': 'x', 'tokens.message.vllm': 'taken' },
    { 'tokens.text': 'x', 'tokens.message': 'y' },
    { 'tokens.message.vllm': 'refused' },
    { 'cache_groups[0].kind': 'sliding_window', 'cache_groups[0].window_tokens': '128' },
    { 'cache_groups[0].window_tokens': '64' },
    { 'cache_groups[1].kind': 'state' },
  ),
  source: fc.constantFrom(
    EvidenceSource.ENGINE_METRICS,
    EvidenceSource.DECLARED,
    EvidenceSource.OBSERVED_EVENT,
  ),
  declares: fc.option(fc.constantFrom(16, 32), { nil: undefined, freq: 3 }),
  draining: fc.boolean(),
  unusable: fc.option(fc.constant('the engine is starting'), { nil: undefined, freq: 6 }),
});

/** How a fleet may come to agree. */
export const options: fc.Arbitrary<Partial<AgreementOptions>> = fc.record({
  minWorkers: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant('auto' as const)),
  onMissing: fc.constantFrom('quorum' as const, 'wait' as const, 'proceed' as const),
  overrideTokensPerBlock: fc.option(fc.constantFrom(16, 32), { nil: undefined, freq: 6 }),
  onChange: fc.constantFrom('new-epoch' as const, 'wait-all' as const),
  mismatchedWorkers: fc.constantFrom('quarantine' as const, 'load-only' as const),
  blockSizePolicy: fc.constantFrom('refuse' as const, 'rehash' as const),
  frontendUses: fc.constantFrom('observed' as const, 'declared' as const),
  tokenProbes: fc.constantFrom('require' as const, 'ignore' as const),
  kvEvents: fc.constantFrom('exact' as const, 'approximate' as const),
  isStaticDiscovery: fc.boolean(),
});

/** A sketch as `TestFleet` takes it. */
export function asReport(made: MadeReport): ReportSketch {
  const { unusable, declares, ...rest } = made;
  return {
    ...rest,
    ...(unusable === undefined ? {} : { unusable }),
    // What is declared is reported only where it differs.
    ...(declares === undefined || declares === made.size ? {} : { declares }),
  };
}

/** How much an index may know of a cache. */
export const anyCacheView: fc.Arbitrary<CacheView> = fc.constantFrom(
  'exact' as const,
  'partial' as const,
  'none' as const,
);

/** Anything that may happen to a fleet, or time that passes. */
export const anyEvent = (
  targets: readonly string[],
): fc.Arbitrary<AgreementEvent | { type: 'wait'; ms: number }> => {
  const target = fc.constantFrom(...targets);
  return fc.oneof(
    {
      arbitrary: fc
        .tuple(target, sketch, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }))
        .map(([name, made, instance, revision]) => ({
          type: 'report' as const,
          target: name,
          report: makeReport(name, { ...asReport(made), instance: `${name}-${instance}`, revision }),
        })),
      weight: 6,
    },
    fc
      .tuple(
        fc.subarray([...targets]),
        fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
        fc.subarray([...targets], { maxLength: 2 }),
      )
      .map(([listed, count, unscheduled]) => ({
        type: 'listed' as const,
        members: listed.map((name) => ({
          target: name,
          draining: false,
          unscheduled: unscheduled.includes(name),
        })),
        expected: count === undefined ? undefined : { count, origin: 'Deployment w' },
      })),
    target.map((name) => ({ type: 'alive' as const, target: name })),
    fc
      .record({ name: target, instance: fc.integer({ min: 1, max: 3 }), known: anyCacheView })
      .map(({ name, instance, known }) => ({
        type: 'cache_view' as const,
        target: name,
        instanceId: `${name}-${instance}`,
        level: known,
        reason: 'a gap',
      })),
    fc
      .record({
        name: target,
        instance: fc.integer({ min: 1, max: 3 }),
        reason: fc.constantFrom('', 'wrong'),
      })
      .map(({ name, instance, reason }) => ({
        type: 'doubt' as const,
        target: name,
        instanceId: `${name}-${instance}`,
        reason,
      })),
    fc
      .record({ name: target, reason: fc.constantFrom('', 'it could not be reached') })
      .map(({ name, reason }) => ({ type: 'ejection' as const, target: name, reason })),
    fc
      .record({
        name: target,
        instance: fc.integer({ min: 1, max: 3 }),
        width: fc.constantFrom(0, 16, 32, 64),
      })
      .map(({ name, instance, width }) => ({
        type: 'mismatched_events' as const,
        target: name,
        instanceId: `${name}-${instance}`,
        tokensPerBlock: width,
        count: 3,
      })),
    target.map((name) => ({ type: 'broken' as const, target: name, reason: 'refused' })),
    target.map((name) => ({ type: 'report_refused' as const, target: name, problems: ['too long'] })),
    fc.constant({ type: 'tick' as const }),
    fc.integer({ min: 1, max: 40_000 }).map((ms) => ({ type: 'wait' as const, ms })),
  );
};
