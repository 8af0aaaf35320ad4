import { fieldOf, sizeBehind } from '../../../engines/diagnosis/log-fields.js';
import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { errorValue } from './error-value.js';

/** Packages whose lines name the file that wrote them. */
const CALLERS =
  /^(?:kvevents|kvcache|kvblock|prefix|tokenization|tokenizer|preciseprefixcache|approximateprefix|scorer|scheduling|requestcontrol|handlers)\/[\w-]+\.go:\d+$/;

/**
 * Lines of llm-d's endpoint picker (inference scheduler, router) with its index
 * of KV blocks, as JSON and as text of zap: 0.2 to 0.10.
 */
export const PICKER_RULES: readonly LogRule[] = [
  failure('Failed to get request key for parent block', 'picker_parent_unknown'),
  failure('Parent block not in index, using empty', 'picker_parent_unknown'),
  rule('Failed to add event to index', (line, found) => {
    const about = 'Failed to add event to index';
    const isWithoutTokens = /"Tokens":\[\]|"TokenIds":\[\]/.test(eventText(line));
    const value = isWithoutTokens ? 'an event without tokens' : errorOf(line);
    found.addSignal('events_unreadable', line, { worker: podOf(line), value, about });
    // An event with less tokens than a block of the index has none to add.
    const tokensPerBlock = sizeBehind(eventText(line), '"BlockSize":');
    if (isWithoutTokens || !/no keys or entries/.test(value ?? '')) return;
    found.addSize(line, { side: 'worker', who: podOf(line), tokensPerBlock, basis: 'observed', about });
  }),
  failure('Failed to unmarshal event batch', 'events_unreadable'),
  failure('Failed to unmarshal tagged union', 'events_unreadable'),
  failure('Malformed tagged union', 'events_unreadable'),
  // An engine whose messages lack the number, or have more parts: three are read.
  rule('Malformed event frame', (line, found) => {
    const about = 'Malformed event frame';
    const count =
      line.fields?.['frameCount'] ?? sizeBehind(line.text.replaceAll('": ', '":'), '"frameCount":');
    const value = count === undefined ? 'another number of parts' : `${count} parts`;
    found.addSignal('events_unreadable', line, { worker: podOf(line), value, about });
  }),
  failure('Failed to unmarshal event value', 'events_unreadable'),
  failure('Failed to parse extra keys', 'events_unreadable'),
  rule('Unexpected frame count', (line, found) => {
    const count = line.fields?.['got'] ?? /"got":\s?(\d{1,6})/.exec(line.text)?.[1];
    if (count === undefined) return;
    found.addSignal('events_unreadable', line, { value: `${count} parts`, about: 'Unexpected frame count' });
  }),
  rule('Sequence frame too short', (line, found) =>
    found.addSignal('events_unreadable', line, {
      value: 'a sequence number that is too short',
      about: 'Sequence frame too short',
    }),
  ),
  // Whatever else the reader of KV events says at this level.
  rule('"caller":"kvevents/', (line, found) => {
    const { level, msg, error } = line.fields ?? {};
    if (level !== 'error' || typeof msg !== 'string' || OF_OTHER_EVENTS.test(msg)) return;
    if (typeof error === 'string' && /context canceled/.test(error)) return;
    const value = errorValue(`${msg}${errorOf(line) === undefined ? '' : `: ${errorOf(line)}`}`);
    found.addSignal('events_unreadable', line, { worker: podOf(line), value, about: msg });
  }),
  // The part of an index that Redis or Valkey holds.
  rule('failed to get pods for key', (line, found) => {
    const value = `the index cannot be read: ${errorOf(line) ?? 'no error is given'}`;
    found.addSignal('picker_scores_failed', line, { value, about: 'failed to get pods for key' });
  }),
  rule('PrefixCacheMatchInfo has unexpected type', unlikeScores),
  rule('wrong type of prefix cache match info', unlikeScores),
  failure('Failed to convert block hash for', 'events_unreadable'),
  failure('Failed to convert parent block hash', 'events_unreadable'),
  failure('Failed to extract identifiers from topic', 'events_unreadable'),
  failure('Failed to generate request keys', 'events_unreadable'),
  rule('Failed to parse message', (line, found) => {
    if (!String(line.fields?.['caller'] ?? line.text).includes('kvevents/')) return;
    const about = 'Failed to parse message';
    found.addSignal('events_unreadable', line, { worker: podOf(line), value: errorOf(line), about });
  }),
  failure('Replay response is incomplete', 'events_lost'),
  failure('Failed to create subscriber socket', 'events_unreachable'),
  failure('Failed to bind subscriber socket', 'events_unreachable'),
  failure('Failed to connect subscriber socket', 'events_unreachable'),
  failure('Failed to subscribe to topic filter', 'events_unreachable'),
  failure('Failed to poll zmq subscriber', 'events_unreachable'),
  failure('Failed to receive message from zmq subscriber', 'events_unreachable'),
  failure('Failed to ensure KV-events subscriber', 'events_unreachable'),
  failure('Failed to get pod scores', 'picker_scores_failed'),
  failure('Failed to get endpoint scores', 'picker_scores_failed'),
  failure('failed to read prefix plugin state', 'picker_scores_failed'),
  failure('unable to read prefix state', 'picker_scores_failed'),
  failure('failed to create kvcache.Indexer', 'picker_scores_failed'),
  failure('KVCache scorer creation failed', 'picker_scores_failed'),
  withoutTokens('Failed to get tokenizer key'),
  withoutTokens('Failed to get hf tokenizer'),
  withoutTokens('failed to initialize UDS tokenizer'),
  withoutTokens('failed to initialize vLLM HTTP renderer'),
  withoutTokens('vLLM render returned status'),
  withoutTokens('tokenization failed: '),
  // Of kv-cache-manager: "tokenizer initialization failed after 5 attempts: dial unix /tmp/tokenizer/…: no such file or directory".
  rule('tokenizer initialization failed', (line, found) => {
    const rest = line.text.slice(line.text.indexOf('tokenizer initialization failed'));
    const value = errorValue(`no tokenizer: ${rest}`);
    found.addSignal('picker_scores_failed', line, { value, about: 'tokenizer initialization failed' });
  }),
  // The producers of what scorers need: tokens of the prompt, and what is cached of them.
  failure('failed to prepare per request data', 'picker_scores_failed'),
  failure('failed to compute block keys', 'picker_scores_failed'),
  failure('failed to lookup block keys', 'picker_scores_failed'),
  failure('failed to score block keys', 'picker_scores_failed'),
  failure('unable to read prefix cache state', 'picker_scores_failed'),
  // Without the one that reads KV events; of the one that guesses it is the same before the first prompt.
  rule('PrefixCacheMatchInfo not found for endpoint', (line, found) => {
    const key = line.fields?.['key'] ?? line.text;
    if (typeof key !== 'string' || !key.includes('precise-prefix-cache')) return;
    const about = 'PrefixCacheMatchInfo not found for endpoint';
    const value = 'no match info from precise-prefix-cache-producer';
    found.addSignal('picker_scores_failed', line, { value, about });
  }),
  // 0.1: "Environment variable not set, using default value" with "key":"PREFIX_SCORER_BLOCK_SIZE","defaultValue":256, in characters; "value" where it is set.
  rule('PREFIX_SCORER_BLOCK_SIZE', (line, found) => {
    const { fields } = line;
    const value = Number(fields?.['value'] ?? fields?.['defaultValue']);
    if (!Number.isSafeInteger(value)) return;
    const about = 'PREFIX_SCORER_BLOCK_SIZE';
    const isDefault = fields?.['value'] === undefined;
    found.addSetting(line, 'guess_block_size', { side: 'router', value, isDefault, about });
  }),
  // "NewKVCacheIndexer config" with "blockSize":64.
  rule('NewKVCacheIndexer config', (line, found) => {
    const about = 'NewKVCacheIndexer config';
    const tokensPerBlock =
      sizeBehind(line.text, 'blockSize=') ?? sizeBehind(line.text.replaceAll('": ', '":'), '"blockSize":');
    found.addSize(line, { side: 'router', tokensPerBlock, basis: 'in_use', about });
  }),
  // Debug: "Got pod scores" or "Got endpoint scores" with "scores":{"10.0.0.7":12}.
  rule('Got pod scores', readScores),
  rule('Got endpoint scores', readScores),
];

/** What the reader of events says of sockets, of parents and of lost events has rules of its own; blocks that were gone already are no fault. */
const OF_OTHER_EVENTS =
  /parent block|subscri|socket|zmq|[Rr]eplay|evict|clear pod|device-tier|Failed to (?:add|unmarshal|convert|extract|generate|parse)|[Mm]alformed|frame/;

/** A plugin gives another form of scores than the one that asks for them. */
function unlikeScores(line: LogLine, found: LogFindings): void {
  const value = 'match info of another type: two plugins that do not belong together';
  found.addSignal('picker_scores_failed', line, { value, about: 'refix' });
}

/** Whether a line of JSON is of the picker: its packages name the files that write. */
export function isPickerRecord({ caller, msg }: Readonly<Record<string, unknown>>): boolean {
  return typeof msg === 'string' && typeof caller === 'string' && CALLERS.test(caller);
}

function failure(needle: string, name: Signal): LogRule {
  return rule(needle, (line, found) =>
    found.addSignal(name, line, { worker: podOf(line), value: errorOf(line), about: needle }),
  );
}

/** The tokens of a prompt cannot be made, or the tokenizer for it not be had. */
function withoutTokens(needle: string): LogRule {
  return rule(needle, (line, found) => {
    // What an answer is made of, as a gateway says it: "Detokenization failed: …".
    if (line.text.includes('Detokenization')) return;
    const error = errorOf(line) ?? '';
    const value = /token/i.test(error) ? error : `no tokenizer${error === '' ? '' : `: ${error}`}`;
    found.addSignal('picker_scores_failed', line, { worker: podOf(line), value, about: needle });
  });
}

function readScores(line: LogLine, found: LogFindings): void {
  const scores = line.record?.object('scores') ?? scoresOf(line);
  if (scores === undefined) return;
  const pairs = typeof scores === 'object' && scores !== null ? Object.entries(scores) : [];
  const numbers = pairs.filter((pair): pair is [string, number] => typeof pair[1] === 'number');
  const [worker, cachedBlocks] = numbers.reduce((best, pair) => (pair[1] > best[1] ? pair : best), ['', 0]);
  found.addDecision('selected', line, { worker, cachedBlocks, treeSize: undefined });
}

/** Null is what an index without any of the blocks answers. */
function scoresOf({ fields, text }: LogLine): unknown {
  return fields !== undefined && 'scores' in fields ? fields['scores'] : parsedScores(text);
}

/** `"scores": {"10.0.0.7": 12}` behind a line of text; null where there are none. */
function parsedScores(text: string): unknown {
  const written = /"scores":\s*(\{[^{}]{0,20000}\}|null)/.exec(text)?.[1];
  if (written === undefined) return undefined;
  try {
    return JSON.parse(written);
  } catch {
    // A line that was cut has no scores that can be counted.
    return undefined;
  }
}

/** The event of a line, as JSON. */
function eventText({ text, fields }: LogLine): string {
  const event = fields?.['event'];
  return typeof event === 'object' && event !== null ? JSON.stringify(event) : text.replaceAll('": ', '":');
}

function errorOf({ text, fields }: LogLine): string | undefined {
  const error = fields?.['error'] ?? /"error":\s*"((?:[^"\\]|\\.){1,500})"/.exec(text)?.[1];
  // Keys differ from line to line, and say nothing.
  return typeof error === 'string' ? errorValue(error.replace(/\d{6,}/g, 'N')) : undefined;
}

function podOf({ text, fields }: LogLine): string | undefined {
  const pod = fields?.['podIdentifier'] ?? fieldOf(text, 'podIdentifier');
  const written = /"podIdentifier":\s*"([^"]{1,253})"/.exec(text)?.[1];
  return typeof pod === 'string' ? pod : written;
}
