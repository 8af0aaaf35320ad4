import { digitsBehind, fieldOf, fieldOfLine, numberOf, sizeOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import { type LogRule, rule } from '../diagnosis/log-rule.js';

/** What Dynamo's routers say of their decisions, from 0.3 to 1.6. */
export const DECISION_RULES: readonly LogRule[] = [
  // 0.3 to 0.5: "Selected worker: 7, logit: 0.562, cached blocks: 0, total blocks: 1302";
  // 0.6: "Selected worker: worker_id=7 dp_rank=0, logit: 0.562, cached blocks: 0";
  // 0.9, 1.0: "Selected worker: worker_id=7 dp_rank=0, logit: 138.656, cached blocks: 0, tree size: 0, total blocks: 9";
  // 1.1 to 1.4: "Selected worker: worker_type=prefill, worker_id=7 …, effective cached blocks: 2.00, …, tree size: 5";
  // from 1.5: "Selected worker router_mode="kv" request_id=… worker_id=7 worker_type=decode dp_rank=0 logit=252.375 …",
  // with effective_cached_blocks=2.0 and total_kv_blocks=Some(9) where all tiers are weighed alike.
  rule('Selected worker', readSelected),
  rule('Selected pinned worker', readSelected),
  rule('route request completed', (line, tally) => {
    const cachedBlocks = numberOf(fieldOfLine(line, 'overlap_blocks'));
    // The decode worker of a pair gets its blocks from the other one, not from its cache.
    if (cachedBlocks === undefined || fieldOfLine(line, 'phase') === 'Decode') return;
    const worker = fieldOfLine(line, 'worker_id') ?? '';
    const model = fieldOfLine(line, 'model');
    tally.addDecision('routed', line, { worker, cachedBlocks, treeSize: undefined, model });
    tally.addOverlap(requestIdsOf(line.text), cachedBlocks);
  }),
  rule('request completed', (line, tally) => {
    const { text } = line;
    if (text.includes('route request completed')) return;
    const firstTokenMs = numberOf(fieldOf(text, 'ttft_ms'));
    if (firstTokenMs !== undefined) tally.addFirstToken(requestIdsOf(text), firstTokenMs);
    const prompt = numberOf(fieldOf(text, 'input_tokens'));
    const cached = numberOf(fieldOf(text, 'cached_tokens'));
    if (prompt !== undefined && cached !== undefined)
      tally.addPrompt(line, prompt, cached, fieldOf(text, 'model'));
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
];

/** The messages of decisions from 1.5 on, whole where the line is JSON. */
const SELECTED = ['Selected worker', 'Selected pinned worker'];

function readSelected(line: LogLine, tally: LogFindings): void {
  const { record } = line;
  if (record !== undefined && SELECTED.includes(record.message)) {
    readNewer(line, tally, (name) => record.field(name));
    return;
  }
  const { text } = line;
  const from = text.indexOf('Selected ');
  // The older form has a colon, and no mode.
  const isOlder =
    text.startsWith('worker: ', from + 'Selected '.length) ||
    text.startsWith('pinned worker: ', from + 'Selected '.length);
  if (isOlder) readOlder(line, tally, from);
  else readNewer(line, tally, (name) => fieldOf(text, name, from));
}

function readNewer(
  line: LogLine,
  tally: LogFindings,
  fieldNamed: (name: string) => string | undefined,
): void {
  const mode = fieldNamed('router_mode');
  if (mode !== undefined && mode !== tally.routerMode) {
    tally.routerMode = mode;
    tally.addSetting(line, 'router_mode', { side: 'frontend', value: mode, about: 'router_mode' });
  }
  if (mode !== undefined && mode !== 'kv') return;
  const worker = fieldNamed('worker_id');
  if (worker === undefined) return;
  const cachedBlocks = numberOf(fieldNamed('effective_cached_blocks'));
  const loadBlocks = numberOf(fieldNamed('logit'));
  const decision = { worker, cachedBlocks, treeSize: undefined, loadBlocks };
  tally.addDecision(cachedBlocks === undefined ? 'blind' : 'selected', line, decision);
  const totalBlocks = fieldNamed('total_kv_blocks');
  if (totalBlocks !== undefined) addTotalBlocks(line, tally, worker, numberOf(digitsBehind(totalBlocks, '')));
}

function readOlder(line: LogLine, tally: LogFindings, from: number): void {
  const { text } = line;
  const worker = fieldOf(text, 'worker_id', from) ?? oldestWorkerOf(text, from);
  // kv-accord's own decisions name the worker behind the colon as well, and have a rule of their own.
  if (worker === undefined) return;
  const at = Math.max(from, text.indexOf('cached blocks: ', from));
  const cachedBlocks = numberBehind(text, 'cached blocks: ', at);
  const treeSize = numberBehind(text, 'tree size: ', at);
  tally.addDecision(cachedBlocks === undefined ? 'blind' : 'selected', line, {
    worker,
    cachedBlocks,
    treeSize,
    loadBlocks: numberBehind(text, 'logit: ', from),
  });
  addTotalBlocks(line, tally, worker, numberBehind(text, 'total blocks: ', at));
}

function addTotalBlocks(line: LogLine, tally: LogFindings, who: string, value: number | undefined): void {
  if (value === undefined) return;
  tally.addSetting(line, 'total_kv_blocks', { side: 'worker', who, value, about: 'total blocks' });
}

/** `Selected worker: 1718573674787700186, logit: …`. */
function oldestWorkerOf(text: string, from: number): string | undefined {
  const worker = digitsBehind(text, 'worker: ', from);
  return worker !== undefined &&
    text.startsWith(', logit: ', text.indexOf('worker: ', from) + 8 + worker.length)
    ? worker
    : undefined;
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
  return end === start + 1 ? digitAt(text, start) : numberOf(text.slice(start, end));
}

function digitAt(text: string, at: number): number | undefined {
  const digit = text.charCodeAt(at) - 48;
  return digit >= 0 ? digit : undefined;
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
