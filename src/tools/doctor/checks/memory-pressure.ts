import { countOf } from '../../../core/text/lists.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import { loadOf, memoryOptions, tightest } from '../fixes/memory.js';
import { knownEngines } from '../fixes/tuning.js';
import { percent } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { bytesText, countText } from '../report/figures.js';
import { type Asked, answered, type Check, missing, type Reply, settingText } from './check.js';
import { answerLowConcurrency, answerRealLoad, loadText } from './real-load.js';

const MODEL_AND_GPUS =
  'add --model-config config.json of the model and --gpu-memory with the output of nvidia-smi (or its DCGM metrics)';

/** What decides about eviction beside the engine's own policy, and how it is named in a sentence. */
const EVICTION_SETTINGS: readonly (readonly [SettingName, string])[] = [
  ['eviction_policy', 'policy'],
  ['host_cache_bytes', 'host cache in bytes'],
  ['offload_min_priority', 'lowest priority that the host cache takes'],
];

/** Whether the cache is large enough for what runs. */
export const MEMORY_CHECKS: readonly Check[] = [
  {
    id: 'model_footprint',
    asks: 'Which model is served, and how much of a GPU do its weights take?',
    answer({ measurements: { memory, evidence, settings } }) {
      const [model] = evidence.models;
      const step = memory.flatMap(({ steps }) => steps).find(({ says }) => says.startsWith('Weights take'));
      const named = evidence.settings.find(({ name }) => name === 'model')?.value ?? model?.name;
      // What the engine says that it loaded, where the arithmetic needed none of it.
      const loaded = settings('weight_bytes').find(({ value }) => Number(value) > 0);
      if (step === undefined && loaded !== undefined)
        return answered(
          `${named ?? 'The model'}: ${bytesText(Number(loaded.value))} on each GPU, as the engine says.`,
          loaded.origin,
        );
      if (step === undefined && model?.weightBytes !== undefined) {
        const widths = new Set(settings('tensor_parallel_size').map(({ value }) => Number(value)));
        const [gpus = 1] = widths;
        const isEven = memory.every(({ capacityUnknown }) => capacityUnknown === undefined);
        const each =
          widths.size === 1 && gpus > 1 && isEven
            ? `, ${bytesText(model.weightBytes / gpus)} on each of ${gpus} GPUs`
            : '';
        return answered(
          `${named ?? 'The model'}: ${bytesText(model.weightBytes)} in all${each}, as published.`,
          model.weightOrigin ?? model.origin,
        );
      }
      if (step === undefined)
        return missing(
          `${named === undefined ? 'No model was seen' : `${named} is served; its size was not seen`}: ${MODEL_AND_GPUS}.`,
        );
      return answered(`${named ?? 'The model'}: ${bytesText(step.value)} on each GPU.`, step.origins[0]);
    },
  },
  {
    id: 'gpu_memory',
    asks: 'How much of its memory does each GPU use?',
    answer({ measurements: { evidence } }) {
      const used = evidence.gpus.filter(({ usedBytes }) => usedBytes !== undefined);
      const [first] = used;
      if (first === undefined)
        return missing(
          'No GPU was seen: add --gpu-memory with the output of nvidia-smi from a worker, or DCGM metrics.',
        );
      const shares = used.map(({ usedBytes = 0, totalBytes }) => usedBytes / totalBytes);
      const [least, most] = [percent(Math.min(...shares)), percent(Math.max(...shares))];
      return answered(
        `${least === most ? least : `${least} to ${most}`} of ${bytesText(first.totalBytes)}, over ${countOf(used.length, 'GPU')}.`,
        first.origin,
      );
    },
  },
  {
    id: 'kv_budget',
    asks: 'What is left of a GPU for KV blocks?',
    answer({ measurements: { memory } }) {
      const tight = tightest(memory);
      return tight?.budgetBytes === undefined
        ? missing(`The budget cannot be computed: ${tight?.capacityUnknown ?? MODEL_AND_GPUS}.`)
        : answered(`${bytesText(tight.budgetBytes)} on each GPU.`);
    },
  },
  { id: 'kv_capacity', asks: 'How many blocks and tokens does the cache hold?', answer: capacity },
  { id: 'real_load', asks: 'How many sequences really run, and how long are they?', answer: answerRealLoad },
  { id: 'batch_size', asks: 'Is the largest batch too large for the cache?', answer: batch },
  {
    id: 'eviction_policy',
    asks: 'Which blocks do engines drop first, and can that be chosen?',
    answer({ measurements }) {
      const set = EVICTION_SETTINGS.flatMap(([name, words]) => {
        const found = settingText(measurements, name);
        return found === undefined ? [] : [{ text: `${words} ${found.text}`, origin: found.origin }];
      });
      const policies = knownEngines(measurements.seen).map(({ tuning }) => tuning.eviction);
      if (policies.length === 0)
        return missing('No engine was seen: add the log or the metrics of a worker, or the manifests.');
      return answered(
        `${policies.join('. ')}. ${set.length === 0 ? 'Nothing of it was seen to be set' : `Set here: ${set.map(({ text }) => text).join(', ')}`}.`,
        set[0]?.origin,
      );
    },
  },
  {
    id: 'memory_options',
    asks: 'What would leave more of the cache to prefixes?',
    answer({ measurements }) {
      const options = memoryOptions(measurements).map(({ says }, at) => `${at + 1}) ${says}`);
      return options.length === 0
        ? missing('No engine was seen: add the log or the metrics of a worker, or the manifests.')
        : answered(`${options.join('; ')}.`);
    },
  },
  {
    id: 'low_concurrency_test',
    asks: 'Does the index settle at a concurrency of 1 or 2?',
    answer: answerLowConcurrency,
  },
];

/** What an engine reports by itself. The number of blocks is that of the smallest worker. */
function reportedCapacity({ runtimeSettings, sizes }: Measurements): Reply | undefined {
  const [tokens] = runtimeSettings('kv_cache_tokens');
  if (tokens !== undefined) return answered(`${countText(Number(tokens.value))} tokens.`, tokens.origin);
  const blocks = runtimeSettings('total_kv_blocks').filter(({ value }) => Number(value) > 0);
  const [least] = [...blocks].sort((one, other) => Number(one.value) - Number(other.value));
  const engines = new Set(
    sizes.rows.filter(({ side }) => side === 'worker').map(({ tokensPerBlock }) => tokensPerBlock),
  );
  const [size] = engines;
  if (least === undefined) return undefined;
  const count = Number(least.value);
  return answered(
    engines.size === 1 && size !== undefined
      ? `${countText(count)} blocks of ${size} tokens, ${countText(count * size)} tokens where all layers keep them alike.`
      : `${countText(count)} blocks.`,
    least.origin,
  );
}

function capacity({ measurements }: Asked): Reply {
  const { memory } = measurements;
  const tight = tightest(memory);
  if (tight?.capacityTokens === undefined)
    return (
      reportedCapacity(measurements) ??
      missing(
        `The capacity cannot be computed: ${MODEL_AND_GPUS}, or the log or metrics of an engine, which report it.`,
      )
    );
  const { capacityTokens, bytesPerBlock, bytesPerToken } = tight;
  const blocks =
    bytesPerBlock === undefined || bytesPerToken === undefined
      ? ''
      : `${countText((capacityTokens * bytesPerToken) / bytesPerBlock)} blocks, `;
  return answered(`${blocks}${countText(capacityTokens)} tokens.`, tight.steps.at(-1)?.origins[0]);
}

function batch({ measurements }: Asked): Reply {
  const tight = tightest(measurements.memory);
  const limit = settingText(measurements, 'max_batch_size') ?? settingText(measurements, 'max_num_seqs');
  if (limit === undefined)
    return missing(
      'The largest batch was not seen: add the manifests, --engine-config, or the log of a worker.',
    );
  const load = tight === undefined ? 0 : loadOf(tight);
  if (tight === undefined || load === 0)
    return missing(
      `The largest batch is ${limit.text}; what it needs cannot be computed: ${MODEL_AND_GPUS}.`,
    );
  const routed = load > 0.5 ? loadText(measurements) : undefined;
  const most = tight.largestBatch === undefined ? '' : `; half of the cache is free at ${tight.largestBatch}`;
  return answered(
    `${load > 0.5 ? 'Yes' : 'No'}: ${limit.text} sequences at their longest need ${Math.round(load * 100)} % of the cache${most}.${routed === undefined ? '' : ` So much was not routed: ${routed.text}.`}`,
    limit.origin,
  );
}
