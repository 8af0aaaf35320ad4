import { readLmcacheFile } from '../config/lmcache-file.js';
import type { Fleet } from '../facts/fleet.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { numberOf, variableOf } from '../launches/settings.js';
import { sameFleet } from './same-model.js';

const controllerRule: Rule = {
  id: 'kvaware-without-lmcache',
  severity: 'error',
  summary: "A router asks LMCache's controller what workers hold, and a worker reports nothing to it.",
  explanation:
    'The controller answers for the workers that report to it. The router finds nothing of the others, and sends their requests by its fallback; nothing reports it.',
};

/** Models of production-stack without a controller behind `routingLogic: kvaware`. */
export const kvawareWithoutLmcache: LintRule = {
  rule: controllerRule,
  check: ({ gateways, workers }) => {
    const router = gateways.find(({ gateway }) => gateway?.kind === 'lmcache');
    return workers.flatMap(({ launch }) =>
      router === undefined || launch.reportsToLmcache !== false
        ? []
        : [
            findingAt(controllerRule, launch.at, {
              message: `${nameOf(launch)} does not report to LMCache's controller, and ${router.program} asks it (routingLogic: kvaware)`,
              advice: 'Set lmcacheConfig.enabled and lmcacheConfig.enableController of this model to true.',
              related: [{ span: router.at, says: 'routingLogic is kvaware' }],
            }),
          ],
    );
  },
};

/** The smallest block size that vLLM takes without `--block-size` (see its default sizes). */
const VLLM_LEAST_TOKENS = 16;

const chunkRule: Rule = {
  id: 'lmcache-chunk-size',
  severity: 'warning',
  summary: 'The chunk size of LMCache differs between workers of one model, or does not hold whole blocks.',
  explanation:
    'LMCache stores and finds tokens in chunks. Chunks of another size have other keys: what one worker stores the other never finds.',
};

/** `LMCACHE_CHUNK_SIZE`, or `chunk_size` of the file, of workers that share a store. */
export const lmcacheChunkSize: LintRule = {
  rule: chunkRule,
  check: (fleet: Fleet) => [
    ...fleet.workers.flatMap((worker) => wholeBlocks(worker)),
    ...sameFleet(fleet.workers.filter((worker) => chunkOf(worker) !== undefined && sharesStore(worker)))
      .filter(({ isKnown }) => isKnown)
      .flatMap(({ members }) => oneChunk(members)),
  ],
};

/** Of the file that `LMCACHE_CONFIG_FILE` names, unless a variable says otherwise: LMCache reads the file first, then its variables. */
function chunkOf({ launch }: WorkerFacts): SettingValue | undefined {
  const setting = variableOf(launch, 'LMCACHE_CHUNK_SIZE') ?? readLmcacheFile(launch)?.get('chunk_size');
  return numberOf(setting) === undefined ? undefined : setting;
}

/** Whether others read what a worker stores, or LMCache's controller compares it. */
function sharesStore({ launch }: WorkerFacts): boolean {
  if (launch.reportsToLmcache === true) return true;
  const config = readLmcacheFile(launch);
  const inFile = ['remote_url', 'controller_url', 'controller_pull_url', 'enable_p2p'].some((key) => {
    const value = config?.get(key)?.value;
    return value !== undefined && !/^(?:|null|~|false)$/i.test(value);
  });
  return (
    inFile ||
    variableOf(launch, 'LMCACHE_REMOTE_URL', 'LMCACHE_CONTROLLER_URL', 'LMCACHE_ENABLE_P2P') !== undefined
  );
}

function wholeBlocks(worker: WorkerFacts): readonly Finding[] {
  const { launch, size } = worker;
  const setting = chunkOf(worker);
  const chunk = numberOf(setting);
  // A size that vLLM chooses by itself is a multiple of its smallest one.
  const isChosen = size === undefined && launch.backend === 'vllm' && !launch.hasUnseenArgs;
  const tokens = size?.tokens ?? (isChosen ? VLLM_LEAST_TOKENS : undefined);
  if (setting === undefined || chunk === undefined || tokens === undefined || chunk % tokens === 0) return [];
  return [
    findingAt(chunkRule, setting.span, {
      message: `${nameOf(launch)} has LMCache chunks of ${chunk} tokens, and blocks of ${size === undefined ? `a multiple of ${tokens}, as vLLM chooses it` : tokens}`,
      consequence:
        'A chunk that is not made of whole blocks is refused by LMCache when the engine starts, or costs the blocks at its end.',
      advice: `Set ${setting.name} to a multiple of ${tokens}.`,
    }),
  ];
}

function oneChunk(workers: readonly WorkerFacts[]): readonly Finding[] {
  const [first, ...others] = workers;
  const known = first === undefined ? undefined : chunkOf(first);
  const other = others.find((worker) => chunkOf(worker)?.value !== known?.value);
  const setting = other === undefined ? undefined : chunkOf(other);
  return first === undefined || known === undefined || other === undefined || setting === undefined
    ? []
    : [
        findingAt(chunkRule, setting.span, {
          message: `${nameOf(other.launch)} has LMCache chunks of ${setting.value} tokens, and ${nameOf(first.launch)}, which serves the same model, ${known.value}`,
          advice: `Give all of them the same ${setting.name}.`,
          related: [{ span: known.span, says: `${known.name} is ${known.value}` }],
        }),
      ];
}
