import { groupBy } from '../../../../core/data/group-by.js';
import type { Fleet } from '../facts/fleet.js';
import { onlyHandsOver } from '../facts/pair-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, hasHashSeed, variableOf } from '../launches/settings.js';
import { gatewayHashes } from './gateway-hashes.js';
import { gatewaySeeds } from './gateway-seeds.js';

const seedRule: Rule = {
  id: 'hash-seed-differs',
  severity: 'warning',
  summary: 'vLLM workers of one model have different hash seeds.',
  explanation:
    "vLLM mixes PYTHONHASHSEED into its block hashes. Anyone who compares hashes of two workers, such as a shared KV store or an index that uses the engines' own hashes, finds that they have nothing in common. Dynamo's router and kv-accord hash tokens themselves and are not concerned.",
};

/** `PYTHONHASHSEED` of engines that others compare. */
export const hashSeedDiffers: LintRule = {
  rule: seedRule,
  check: (fleet) => [...workerSeeds(fleet), ...gatewaySeeds(seedRule, fleet)],
};

function workerSeeds(fleet: Fleet): readonly Finding[] {
  return byModel(fleet).flatMap((members) => {
    const seeds = members.map((worker) => ({ worker, seed: variableOf(worker.launch, 'PYTHONHASHSEED') }));
    const first = seeds.find(({ seed }) => seed?.value !== undefined);
    const differs = seeds.filter(
      ({ worker, seed }) =>
        seed?.value !== first?.seed?.value &&
        (seed === undefined ? showsHashes(worker) : seed.value !== undefined),
    );
    return first?.seed === undefined
      ? []
      : differs.map(({ worker, seed }) => seedFinding(worker, seed, first.worker, first.seed));
  });
}

/** Whether the hashes of a worker that has no seed are seen by others: in events, or in a store that it shares. */
function showsHashes({ launch }: WorkerFacts): boolean {
  const publishes = flagOf(launch, '--kv-events-config') !== undefined;
  const stores = flagOf(launch, '--kv-transfer-config') !== undefined && !onlyHandsOver(launch);
  return (publishes || stores) && !launch.hasUnseenEnv;
}

function seedFinding(
  worker: WorkerFacts,
  seed: SettingValue | undefined,
  first: WorkerFacts,
  firstSeed: SettingValue | undefined,
): Finding {
  const { launch } = worker;
  const value = firstSeed?.value ?? '';
  return findingAt(seedRule, seed?.span ?? launch.at, {
    message: `${nameOf(launch)} has ${seed === undefined ? 'no PYTHONHASHSEED' : `PYTHONHASHSEED=${seed.value}`}, and ${nameOf(first.launch)}, which serves the same model, ${value}`,
    advice: `Give all of them the same value (${value}).`,
    related: firstSeed === undefined ? [] : [{ span: firstSeed.span, says: `PYTHONHASHSEED is ${value}` }],
  });
}

const algorithmRule: Rule = {
  id: 'hash-algorithm-differs',
  severity: 'warning',
  summary: 'vLLM workers of one model hash their blocks in different ways.',
  explanation:
    "The same tokens have another hash on each of them. A shared KV store, or an index that uses the engines' own hashes, never finds a block of one in the other.",
};

/** `--prefix-caching-hash-algo` of engines that others compare. */
export const hashAlgorithmDiffers: LintRule = {
  rule: algorithmRule,
  check: (fleet) => [
    ...gatewayHashes(algorithmRule, fleet),
    ...byModel(fleet).flatMap((members) => {
      const all = members.map((worker) => ({
        worker,
        setting: flagOf(worker.launch, '--prefix-caching-hash-algo'),
      }));
      const first = all.find(({ setting }) => setting?.value !== undefined);
      return all.flatMap(({ worker, setting }) =>
        first?.setting?.value === undefined ||
        setting?.value === undefined ||
        setting.value === first.setting.value
          ? []
          : [
              findingAt(algorithmRule, setting.span, {
                message: `${nameOf(worker.launch)} hashes by ${setting.value}, and ${nameOf(first.worker.launch)}, which serves the same model, by ${first.setting.value}`,
                advice: 'Give all of them the same --prefix-caching-hash-algo.',
                related: [
                  { span: first.setting.span, says: `${first.setting.name} is ${first.setting.value}` },
                ],
              }),
            ],
      );
    }),
  ],
};

/** vLLM engines without a wrapper that hashes again, by their model. */
function byModel({ workers }: Fleet): readonly (readonly WorkerFacts[])[] {
  const own = workers.filter(
    ({ launch, model }) => hasHashSeed(launch) && !launch.isDynamo && model !== undefined,
  );
  return [...groupBy(own, ({ model }) => model).values()];
}
