import { fieldOf, numberOf, sizeOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import type { LogRule } from '../diagnosis/log-rule.js';
import type { Signal } from '../diagnosis/signals.js';

/**
 * Lines of NVIDIA Dynamo: frontends, standalone routers and indexers, workers
 * and mockers, from 0.9 to 1.6. The version of a text is recognised by its form.
 */
export const DYNAMO_RULES: readonly LogRule[] = [
  // 0.9, 1.0: "Selected worker: worker_id=7 dp_rank=0, logit: 138.656, cached blocks: 0, tree size: 0, total blocks: 9";
  // 1.1 to 1.5: "Selected worker: worker_type=prefill, worker_id=7 …, effective cached blocks: 2.00, …, tree size: 5";
  // 1.6: "Selected worker router_mode="kv" request_id=… worker_id=7 worker_type=decode dp_rank=0 logit=252.375 …".
  rule('Selected worker', readSelected),
  rule('Selected pinned worker', readSelected),
  rule('route request completed', (line, tally) => {
    const cachedBlocks = numberOf(fieldOf(line.text, 'overlap_blocks'));
    // The decode worker of a pair gets its blocks from the other one, not from its cache.
    if (cachedBlocks === undefined || fieldOf(line.text, 'phase') === 'Decode') return;
    const worker = fieldOf(line.text, 'worker_id') ?? '';
    tally.addDecision('routed', line, { worker, cachedBlocks, treeSize: undefined });
    tally.addOverlap(requestIdsOf(line.text), cachedBlocks);
  }),
  rule('request completed', (line, tally) => {
    const { text } = line;
    if (text.includes('route request completed')) return;
    const firstTokenMs = numberOf(fieldOf(text, 'ttft_ms'));
    if (firstTokenMs !== undefined) tally.addFirstToken(requestIdsOf(text), firstTokenMs);
    const prompt = numberOf(fieldOf(text, 'input_tokens'));
    const cached = numberOf(fieldOf(text, 'cached_tokens'));
    if (prompt !== undefined && cached !== undefined) tally.addPrompt(prompt, cached);
  }),
  // Debug: "[ROUTING] Best: worker_7 dp_rank=0 with 17/18 blocks overlap".
  rule('[ROUTING] Best', (line, tally) => {
    const found = /worker_(\d{1,20}) .{0,40}?with (\d{1,12})\/\d{1,12} blocks overlap/.exec(line.text);
    if (found === null) return;
    const [, worker = '', cached] = found;
    tally.addDecision('best', line, { worker, cachedBlocks: numberOf(cached), treeSize: undefined });
  }),
  rule('[ROUTING_INPUT]', (line, tally) =>
    tally.addSize(line, {
      side: 'router',
      tokensPerBlock: sizeOf(fieldOf(line.text, 'block_size')),
      basis: 'in_use',
      about: 'block_size=',
    }),
  ),
  // "Formula for worker_id=7 dp_rank=0 with 2 cached blocks: 34.375 = 1.0 * prefill_blocks + …", or as
  // the documentation has it: "Formula for worker_1: 125.3 = 1.0 * 100.5 + 25.0 (cached_blocks: 15)".
  rule('Formula for ', readFormula),
  rule('Pinned formula for ', readFormula),

  signal('Failed to find parent block', 'parent_block_not_found'),
  signal('Failed to find block to remove', 'block_to_remove_not_found'),
  rule('Block not published', (line, tally) => {
    const found = /must be (\d{1,9}) tokens.{0,200}?Block size is: (\d{1,9})/.exec(line.text);
    const [, wanted, real] = found ?? [];
    const value = found === null ? undefined : `${wanted} -> ${real}`;
    tally.addSignal('block_not_published', line, { worker: workerOf(line.text), value, about: 'Block not' });
    const about = 'Block not published';
    const who = workerOf(line.text);
    const declared = sizeOf(wanted);
    // An indexer reported its own size as it started.
    if (!tally.isOfIndexer(line))
      tally.addSize(line, { side: 'worker', who, tokensPerBlock: declared, basis: 'declared', about });
    tally.addSize(line, { side: 'worker', who, tokensPerBlock: sizeOf(real), basis: 'observed', about });
  }),
  rule('Rejected incompatible workers', (line, tally) => {
    const instance = /instance=(?:Some\()?"?[^"\s)]{0,300}?([0-9a-f]{1,16})"?\)?(?:\s|$)/.exec(
      line.text,
    )?.[1];
    const checksums = ['incumbent_checksum', 'rejected_checksum'].map((name) =>
      fieldOf(line.text, name)?.slice(0, 8),
    );
    const value = checksums.every((sum) => sum !== undefined) ? checksums.join(' -> ') : undefined;
    tally.addSignal('workers_rejected', line, { worker: instance, value, about: 'Rejected' });
  }),
  // 1.1.
  signal('Checksum for new worker does not match', 'workers_rejected'),

  // 0.9 to 1.5: "Event ID gap detected for worker 7 dp_rank 0, recovering events [3, 9], gap_size: 7".
  rule('Event ID gap detected', (line, tally) => {
    const [, worker, size] = /for worker (\d{1,20}).{0,300}?gap_size: (\d{1,20})/.exec(line.text) ?? [];
    const value = size === undefined ? undefined : `gap of ${size}`;
    tally.addSignal('events_lost', line, { worker, value, about: 'gap detected' });
  }),
  rule('Gap detected: expected seq', (line, tally) => {
    // Who begins to listen late lacks what was before: the first number is no event that got lost.
    if (line.text.includes('expected seq 0,')) return;
    tally.addSignal('events_lost', line, { worker: workerOf(line.text), about: 'Gap detected' });
  }),
  signal('KV recovery failed', 'events_lost'),
  signal('KV recovery local catch-up skipped event IDs', 'events_lost'),
  signal('KV indexer rejected event queue admission', 'events_lost'),
  signal('ZMQ listener terminated unexpectedly', 'events_unreachable'),
  signal('ZMQ listener task failed unexpectedly', 'events_unreachable'),
  signal('KV-event source was not observed', 'events_unreachable'),
  signal('KV-event publishing is disabled', 'events_disabled'),
  signal('skipping KV event publishers', 'events_disabled'),
  signal('No kv_events_config required: prefix caching is disabled', 'events_disabled'),
  rule('Adding worker WorkerWithDpRank', (line, tally) =>
    tally.addSignal('worker_added', line, { worker: workerOf(line.text), about: 'Adding worker' }),
  ),
  rule('Removing worker WorkerWithDpRank', (line, tally) =>
    tally.addSignal('worker_removed', line, { worker: workerOf(line.text), about: 'Removing worker' }),
  ),

  signal('dynamo runtime configuration:', 'started'),
  rule('KV Routing initialized', (line, tally) =>
    tally.addSetting(line, 'router_mode', { side: 'frontend', value: 'kv', about: 'KV Routing' }),
  ),
  rule('Starting standalone KV cache indexer', (line, tally) => {
    tally.addIndexer(line);
    tally.addSignal('started', line, { about: 'Starting' });
    const size = /block_size=(?:Some\()?(\d{1,9})/.exec(line.text)?.[1];
    const about = 'block_size=';
    tally.addSize(line, { side: 'indexer', tokensPerBlock: sizeOf(size), basis: 'configured', about });
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
  rule('Initializing KV event publisher with block_size', (line, tally) => {
    const size = /with block_size (\d{1,9})/.exec(line.text)?.[1];
    const about = 'with block_size';
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(size), basis: 'declared', about });
  }),
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
  // Python dicts: "Cache config values: {'num_gpu_blocks': 24064}".
  rule('Cache config values', (line, tally) => {
    const blocks = /'num_gpu_blocks': (\d{1,12})/.exec(line.text)?.[1];
    tally.addSetting(line, 'total_kv_blocks', { side: 'worker', value: blocks, about: 'num_gpu_blocks' });
    const size = /'block_size': (\d{1,9})/.exec(line.text)?.[1];
    tally.addSize(line, {
      side: 'worker',
      tokensPerBlock: sizeOf(size),
      basis: 'in_use',
      about: "'block_size'",
    });
  }),
  rule('Scheduler config values', (line, tally) => {
    const sequences = /'max_num_seqs': (\d{1,9})/.exec(line.text)?.[1];
    tally.addSetting(line, 'max_num_seqs', { side: 'worker', value: sequences, about: 'max_num_seqs' });
  }),
];

function rule(needle: string, read: LogRule['read']): LogRule {
  return { needle, read };
}

/** A line that is a sign by itself. */
function signal(needle: string, sign: Signal): LogRule {
  return rule(needle, (line, tally) =>
    tally.addSignal(sign, line, { worker: workerOf(line.text), about: needle }),
  );
}

function readSelected(line: LogLine, tally: LogFindings): void {
  const { text } = line;
  const from = text.indexOf('Selected ');
  // The older form has a colon, and no mode.
  const isOlder = text.startsWith('worker: ', from + 'Selected '.length);
  const mode = isOlder ? undefined : fieldOf(text, 'router_mode', from);
  if (mode !== undefined && mode !== tally.routerMode) {
    tally.routerMode = mode;
    tally.addSetting(line, 'router_mode', { side: 'frontend', value: mode, about: 'router_mode' });
  }
  if (mode !== undefined && mode !== 'kv') return;
  const worker = fieldOf(text, 'worker_id', from);
  // kv-accord's own decisions name the worker behind the colon, and have a rule of their own.
  if (worker === undefined) return;
  const at = Math.max(from, text.indexOf('cached blocks: ', from));
  const cachedBlocks = numberBehind(text, 'cached blocks: ', at);
  const treeSize = numberBehind(text, 'tree size: ', at);
  const totalBlocks = numberBehind(text, 'total blocks: ', at);
  tally.addDecision(cachedBlocks === undefined ? 'blind' : 'selected', line, {
    worker,
    cachedBlocks,
    treeSize,
  });
  if (totalBlocks === undefined) return;
  tally.addSetting(line, 'total_kv_blocks', {
    side: 'worker',
    who: worker,
    value: totalBlocks,
    about: 'total blocks',
  });
}

function readFormula(line: LogLine, tally: LogFindings): void {
  const cached =
    /with (\d+(?:\.\d+)?) (?:effective )?cached blocks/.exec(line.text) ??
    /\(cached_blocks: (\d+(?:\.\d+)?)\)/.exec(line.text);
  if (cached === null) return;
  const weight = /= (\d+(?:\.\d+)?) \* /.exec(line.text)?.[1];
  tally.addCost(line, Number(cached[1]), weight);
}

/** The number behind a phrase. */
function numberBehind(text: string, phrase: string, from: number): number | undefined {
  const at = text.indexOf(phrase, from);
  if (at === -1) return undefined;
  const start = at + phrase.length;
  let end = start;
  while (end < text.length) {
    const code = text.charCodeAt(end);
    if ((code < 48 || code > 57) && code !== 46) break;
    end += 1;
  }
  return numberOf(text.slice(start, end));
}

/** `worker_id=7`, `worker_id="7"`, `worker_id: 7`, `for worker 7`. */
function workerOf(text: string): string | undefined {
  return (
    fieldOf(text, 'worker_id') ??
    /(?:worker_id: |for worker |worker )(\d{1,20})\b/.exec(text)?.[1] ??
    undefined
  );
}

/** A request has one id of HTTP and one of its own; lines have both, in either order. */
function requestIdsOf(text: string): readonly string[] {
  const first = text.indexOf('request_id=');
  if (first === -1) return [];
  const second = text.indexOf(' request_id=', first + 1);
  const ids = [fieldOf(text, 'request_id', first)];
  if (second !== -1) ids.push(fieldOf(text, 'request_id', second));
  return ids.filter((id) => id !== undefined && id.length >= 8 && id.length <= 128) as string[];
}
