import { digitsBehind, fieldOf, sizeBehind, sizeOf } from '../diagnosis/log-fields.js';
import { addWorkerSize, type LogRule, rule, workerSetting } from '../diagnosis/log-rule.js';
import { DECISION_RULES } from './decision-lines.js';
import { EVENT_RULES } from './event-lines.js';
import { sign, workerOf } from './named-worker.js';

/** What dynamo.router reports as it starts, by its names. */
const ROUTER_FIELDS = [
  ['use_kv_events', 'router_uses_events'],
  ['router_replica_sync', 'router_replica_sync'],
] as const;

/** What programs say as they start: their numbers and how they are configured. */
const START_RULES: readonly LogRule[] = [
  sign('dynamo runtime configuration:', 'started'),
  // 0.1 and 0.2: "[Processor:2] Running Processor with args=['--engine_args', 'config.yaml', '--router', 'round-robin']".
  rule('Running Processor with args=', (line, tally) => {
    const value = /'--router', '([\w-]{1,40})'/.exec(line.text)?.[1];
    tally.addSetting(line, 'router_mode', { side: 'frontend', value, about: '--router' });
  }),
  rule('Error adding model from discovery', (line, tally) => {
    const { fields, text } = line;
    const value = [fields?.['error'], fieldOf(text, 'error')].find((error) => typeof error === 'string');
    tally.addSignal('model_not_added', line, {
      worker: fieldOf(text, 'model_name') ?? '',
      value: typeof value === 'string' ? value : undefined,
      about: 'Error adding model from discovery',
    });
  }),
  // What ended a program that names the option it wants: "Application shutdown with error: out=vllm requires --model-path to be an HF repo".
  rule('Application shutdown with error: ', (line, tally) => {
    const value = /with error: (.{0,120} --[a-z].{1,120})/.exec(line.text)?.[1];
    if (value !== undefined)
      tally.addSignal('settings_refused', line, { value, about: 'Application shutdown' });
  }),
  rule('KV Routing initialized', (line, tally) =>
    tally.addSetting(line, 'router_mode', { side: 'frontend', value: 'kv', about: 'KV Routing' }),
  ),
  rule('Starting standalone KV cache indexer', (line, tally) => {
    tally.addIndexer(line);
    tally.addSignal('started', line, { about: 'Starting' });
    const about = 'block_size=';
    const tokensPerBlock = sizeBehind(line.text, about);
    tally.addSize(line, { side: 'indexer', tokensPerBlock, basis: 'configured', about });
  }),
  rule('Creating new indexer', (line, tally) => {
    tally.addIndexer(line);
    tally.addSize(line, {
      side: 'indexer',
      who: fieldOf(line.text, 'model_name'),
      tokensPerBlock: sizeOf(fieldOf(line.text, 'block_size')),
      basis: 'in_use',
      about: 'block_size=',
    });
  }),
  // The mocker's publisher and its engine.
  rule('Initializing KV event publisher with block_size', (line, tally) =>
    addWorkerSize(line, tally, 'with block_size ', 'declared'),
  ),
  rule('KvManager initialized', (line, tally) =>
    tally.addSize(line, {
      side: 'worker',
      tokensPerBlock: sizeOf(fieldOf(line.text, 'block_size')),
      basis: 'in_use',
      about: 'block_size=',
    }),
  ),
  rule('Initializing KvEventPublisher for worker', (line, tally) => {
    const who = workerOf(line.text);
    if (who !== undefined) tally.ownWorker = who;
    tally.addSetting(line, 'publishes_kv_events', {
      side: 'worker',
      who,
      value: 'true',
      about: 'Initializing',
    });
  }),
  // "Registered base model 'tiny' MDC", of the bindings of each worker.
  rule('Registered base model ', (line, tally) => {
    const value = /Registered base model '([^']{1,200})'/.exec(line.text)?.[1];
    tally.addSetting(line, 'served_model', { side: 'worker', value, about: 'Registered base model' });
  }),
  // Python dicts: "Cache config values: {'num_gpu_blocks': 24064}".
  rule('Cache config values', (line, tally) => {
    const blocks = digitsBehind(line.text, "'num_gpu_blocks': ");
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value: blocks, about: 'num_gpu_blocks' });
    addWorkerSize(line, tally, "'block_size': ", 'in_use');
  }),
  rule('Scheduler config values', (line, tally) => {
    const sequences = digitsBehind(line.text, "'max_num_seqs': ");
    tally.addSetting(line, 'max_num_seqs', { side: 'worker', value: sequences, about: 'max_num_seqs' });
  }),
  // dynamo.sglang: "Got total KV blocks from scheduler: 128 (max_total_tokens=8192, page_size=64)".
  rule('Got total KV blocks from scheduler', (line, tally) => {
    addWorkerSize(line, tally, 'page_size=', 'in_use');
    const value = digitsBehind(line.text, 'from scheduler: ');
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value, about: 'from scheduler' });
  }),
  rule('paged KV-event block size', (line, tally) =>
    addWorkerSize(line, tally, 'KV-event block size ', 'declared'),
  ),
  // dynamo.trtllm.
  rule('TRT-LLM KV-cache capacity', (line, tally) => {
    addWorkerSize(line, tally, 'kv_cache_block_size=', 'in_use');
    const value = digitsBehind(line.text, 'total_kv_blocks=');
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value, about: 'total_kv_blocks' });
  }),
  rule('ZMQ KV event publisher initialized', (line, tally) => {
    addWorkerSize(line, tally, 'kv_block_size=', 'declared');
    tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value: 'true', about: 'initialized' });
  }),
  // Workers that publish. dynamo.vllm reports its whole configuration: "… over zmq: KVEventsConfig(enable_kv_cache_events=True, …) (use_kv_events=True)", without one "… over zmq: None (use_kv_events=False)".
  workerSetting('Worker reading KV events for dp_rank', 'publishes_kv_events', 'true'),
  workerSetting('Setting up ZMQ kv event', 'publishes_kv_events', 'true'),
  workerSetting('Creating Dynamo default kv_events_config', 'publishes_kv_events', 'true'),
  rule('kv_events_config for publishing', (line, tally) => {
    const value =
      /\benable_kv_cache_events=(True|False)/.exec(line.text)?.[1] ??
      /\(use_kv_events=(True|False)\)/.exec(line.text)?.[1];
    const about = 'kv_events_config for publishing';
    tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value: value?.toLowerCase(), about });
  }),
  // dynamo.sglang.
  rule('Derived use_kv_events=', (line, tally) => {
    const value = /Derived use_kv_events=(True|False)/.exec(line.text)?.[1]?.toLowerCase();
    const about = 'Derived use_kv_events';
    tally.addSetting(line, 'publishes_kv_events', { side: 'worker', value, about });
  }),
  rule('Skipping KV event subscription', (line, tally) => {
    // Where another process has the index, it reads the events.
    if (line.text.includes('remote indexer')) return;
    tally.addSetting(line, 'router_uses_events', {
      side: 'frontend',
      value: 'false',
      about: 'Skipping KV event',
    });
  }),
  // dynamo.router: "Configuration: endpoint=…, router_block_size=64, …, use_kv_events=True, router_replica_sync=False, …"; block_size= before 1.0.
  rule('Configuration: endpoint=', (line, tally) => {
    const { text } = line;
    const about = 'block_size=';
    tally.addSize(line, { side: 'router', tokensPerBlock: sizeBehind(text, about), basis: 'in_use', about });
    for (const [name, setting] of ROUTER_FIELDS) {
      const value = fieldOf(text, name)?.toLowerCase();
      tally.addSetting(line, setting, { side: 'router', value, about: name });
    }
  }),
  // Up to 1.3: "Pruning: tree size (1048577) exceeded max tree size (1048576), scheduling pruning".
  rule('exceeded max tree size (', (line, tally) => {
    const value = digitsBehind(line.text, 'max tree size (');
    tally.addSetting(line, 'router_max_tree_size', { side: 'frontend', value, about: 'max tree size' });
  }),
];

/**
 * Lines of NVIDIA Dynamo: frontends, standalone routers and indexers, workers
 * and mockers, from 0.4 to 1.6. The version of a text is recognised by its form.
 */
export const DYNAMO_RULES: readonly LogRule[] = [...DECISION_RULES, ...EVENT_RULES, ...START_RULES];
