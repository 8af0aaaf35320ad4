import { loadOf, memoryOptions, tightest } from '../fixes/memory.js';
import { knownEngines } from '../fixes/tuning.js';
import { percent } from '../measurements/cache-hits.js';
import { bytesText, countText } from '../report/figures.js';
import { type Asked, answered, type Check, missing, type Reply, settingText } from './check.js';

const MODEL_AND_GPUS =
  'add --model-config config.json of the model and --gpu-memory with the output of nvidia-smi (or its DCGM metrics)';

/** Whether the cache is large enough for what runs. */
export const MEMORY_CHECKS: readonly Check[] = [
  {
    id: 'model_footprint',
    asks: 'Which model is served, and how much of a GPU do its weights take?',
    answer({ measurements: { memory, evidence } }) {
      const [model] = evidence.models;
      const step = memory.flatMap(({ steps }) => steps).find(({ says }) => says.startsWith('Weights take'));
      const named = evidence.settings.find(({ name }) => name === 'model')?.value ?? model?.name;
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
      return answered(
        `${percent(Math.min(...shares))} to ${percent(Math.max(...shares))} of ${bytesText(first.totalBytes)}, over ${used.length} GPUs.`,
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
        ? missing(`The budget cannot be computed: ${MODEL_AND_GPUS}.`)
        : answered(`${bytesText(tight.budgetBytes)} on each GPU.`);
    },
  },
  { id: 'kv_capacity', asks: 'How many blocks and tokens does the cache hold?', answer: capacity },
  { id: 'real_load', asks: 'How many sequences really run, and how long are they?', answer: realLoad },
  { id: 'batch_size', asks: 'Is the largest batch too large for the cache?', answer: batch },
  {
    id: 'eviction_policy',
    asks: 'Which blocks do engines drop first, and can that be chosen?',
    answer({ measurements }) {
      const set = settingText(measurements, 'eviction_policy');
      const policies = knownEngines(measurements.seen).map(({ tuning }) => tuning.eviction);
      if (policies.length === 0)
        return missing('No engine was seen: add the log or the metrics of a worker, or the manifests.');
      return answered(
        `${policies.join('. ')}${set === undefined ? '' : `. Set here: ${set.text}`}.`,
        set?.origin,
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
    asks: 'Does the index settle at a concurrency of 1?',
    answer: () =>
      missing(
        'It has to be tried: the doctor sends nothing. The fix "Send two equal prompts" has the commands and what they show.',
      ),
  },
];

function capacity({ measurements: { memory } }: Asked): Reply {
  const tight = tightest(memory);
  if (tight?.capacityTokens === undefined)
    return missing(
      `The capacity cannot be computed: ${MODEL_AND_GPUS}, or the log or metrics of an engine, which report it.`,
    );
  const { capacityTokens, bytesPerBlock, bytesPerToken } = tight;
  const blocks =
    bytesPerBlock === undefined
      ? ''
      : `${countText((capacityTokens * bytesPerToken) / bytesPerBlock)} blocks, `;
  return answered(`${blocks}${countText(capacityTokens)} tokens.`, tight.steps.at(-1)?.origins[0]);
}

function realLoad({ measurements: { concurrency }, traffic }: Asked): Reply {
  const { sequenceTokens } = traffic;
  const parts = [
    ...(concurrency === undefined
      ? []
      : [
          `${countText(concurrency.running)} running${concurrency.waiting === undefined ? '' : ` and ${countText(concurrency.waiting)} waiting`}${concurrency.isMean ? ' on the mean' : ' when it was measured'}`,
        ]),
    ...(sequenceTokens === undefined ? [] : [`${countText(sequenceTokens.value)} tokens each on the mean`]),
  ];
  const lacking = [
    ...(concurrency === undefined ? ['how many run'] : []),
    ...(sequenceTokens === undefined ? ['how long they are'] : []),
  ];
  const how =
    'add --metrics http://FRONTEND:8000/metrics or --metrics http://ENGINE:PORT/metrics while requests come, or the log of an engine';
  if (parts.length === 0) return missing(`It was not seen ${lacking.join(' and ')}: ${how}.`);
  const rest = lacking.length === 0 ? '' : ` It was not seen ${lacking.join(' and ')}: ${how}.`;
  return answered(`${parts.join(', ')}.${rest}`, concurrency?.origin ?? sequenceTokens?.origin);
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
  const most = tight.largestBatch === undefined ? '' : `; half of the cache is free at ${tight.largestBatch}`;
  return answered(
    `${load > 0.5 ? 'Yes' : 'No'}: ${limit.text} sequences at their longest need ${Math.round(load * 100)} % of the cache${most}.`,
    limit.origin,
  );
}
