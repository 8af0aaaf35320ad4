import type { ProposedFix } from '../diagnosis.js';
import { enginesNumber, routersOwnNumber } from '../measurements/known-sizes.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Seen } from '../measurements/seen.js';
import { statusCommand } from './status-command.js';

/** Where to look whether a router's number is right. */
export function sizeChecks({ seen }: Pick<Measurements, 'seen'>, tokensPerBlock: number): readonly string[] {
  return [
    ...(seen.dynamo
      ? [
          `curl -s http://FRONTEND:8000/metrics | grep dynamo_frontend_model_kv_cache_block_size    # should be ${tokensPerBlock}`,
          'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)|parent_block_not_found"    # the sum should grow with follow-up turns, parent_block_not_found should stand still',
        ]
      : []),
    ...(seen.kvAccord
      ? [`${statusCommand(seen)}    # every worker should be listed with ${tokensPerBlock}`]
      : []),
    ...(seen.dynamo || seen.kvAccord ? [] : [askAgain('no mismatch should be named any more')]),
  ];
}

/** Whether stores arrive and are applied. */
export function storeChecks(seen: Seen): readonly string[] {
  if (seen.dynamo)
    return [
      'curl -s http://FRONTEND:8000/metrics | grep \'kv_cache_events_applied{.*event_type="stored",.*status="ok"\'    # should grow with each new prompt',
      'kubectl logs FRONTEND --since=1m | grep -c "Failed to find parent block"    # should be 0',
    ];
  return seen.kvAccord
    ? [`${statusCommand(seen)}    # KV events of every worker should arrive`]
    : [askAgain('the cause should be gone')];
}

/** Whether the router finds what engines have. */
export function hitChecks(seen: Seen): readonly string[] {
  if (seen.dynamo)
    return [
      'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)"    # sum by count should come near the share of follow-up turns',
    ];
  return seen.kvAccord
    ? [`${statusCommand(seen, '--routing')}    # what was predicted should come near what engines reported`]
    : [askAgain("the router's hit rate should come near that of the engines")];
}

/** The same question once more, on what was written since. */
function askAgain(expected: string): string {
  return `kv-accord doctor --logs ROUTER.log --metrics http://ENGINE:PORT/metrics    # ${expected}`;
}

/** Where the two numbers stand, when only one of them was seen or neither. */
export function findingNumbers(measurements: Pick<Measurements, 'seen' | 'evidence' | 'sizes'>): ProposedFix {
  const { seen, evidence } = measurements;
  const [unseen] = evidence.findings.flatMap(({ unseenFile }) => unseenFile ?? []);
  const config = unseen === undefined ? '' : ` --engine-config ${isPlainPath(unseen) ? unseen : 'FILE'}`;
  return {
    says: `${missingPages(measurements)}${unseen === undefined ? '' : ", or the engine's own file"}`,
    why: `${unseen === undefined ? '' : `The engines take their block size from ${unseen}, which was not given. `}The router cannot see what engines have, but not both of the block sizes were seen: with both, the doctor can say which to change. It changes nothing.`,
    disturbs: 'nothing',
    files: [],
    commands: [
      ...(seen.dynamo
        ? [
            'curl -s http://FRONTEND:8000/metrics | grep dynamo_frontend_model_kv_cache_block_size    # what the router took from the cards',
          ]
        : []),
      `curl -s http://ENGINE:PORT/metrics | grep -E "${sizeMetrics(seen)}"    # what the engine uses`,
      ...(seen.dynamo
        ? [
            'kubectl logs WORKER | grep -m3 "Block not published"    # both numbers, three times after the start of a worker and never again',
            'curl -s http://WORKER:9090/metrics | grep empty_store_blocks    # above 0: the worker drops what its engine stores',
          ]
        : []),
    ],
    verify: [
      `kv-accord doctor --logs frontend.log --logs worker.log --metrics http://FRONTEND:8000/metrics --metrics http://ENGINE:PORT/metrics${config}    # with both numbers the verdict is certain`,
    ],
  };
}

/** What to add for the number that is not known yet. */
function missingPages(measurements: Pick<Measurements, 'sizes'>): string {
  const [router, engines] = [routersOwnNumber(measurements), enginesNumber(measurements)];
  const [ofRouter, ofEngines] = [
    '--metrics http://FRONTEND:8000/metrics',
    '--metrics http://ENGINE:PORT/metrics',
  ];
  if (router === undefined && engines !== undefined)
    return `Run the doctor again with the router's number in reach: add ${ofRouter}; it has to be the ${engines} of the engines`;
  if (router !== undefined && engines === undefined)
    return `Run the doctor again with the engines' number in reach: add ${ofEngines}, or the log of a worker from its start; it has to be the ${router} of the router`;
  return `Run the doctor again with both numbers in reach: add ${ofRouter} and ${ofEngines}`;
}

/** By what an engine's page says its block size: of those that were seen, else of all. */
function sizeMetrics({ engines }: Seen): string {
  const known = [...SIZE_METRICS].filter(([word]) => engines.some((engine) => engine.word === word));
  return (known.length === 0 ? [...SIZE_METRICS] : known).map(([, metric]) => metric).join('|');
}

const SIZE_METRICS: ReadonlyMap<string, string> = new Map([
  ['vllm', 'cache_config_info'],
  ['sglang', 'page_size'],
  ['trtllm', 'tokens_per_block'],
]);

/** Whether a path of a manifest may stand in a command as it is. */
function isPlainPath(path: string): boolean {
  return /^[\w./-]{1,200}$/.test(path) && !path.startsWith('-');
}

const LONG_PROMPT = '$(yes "The same long prefix for both requests." | head -n 200 | tr "\\n" " ")';

/**
 * Two equal prompts, one after the other and nothing beside them: under no
 * memory pressure the second must be found. Distinguishes a router that cannot see
 * from a cache that is too small.
 */
export function confirmingTest({ evidence, seen }: Pick<Measurements, 'evidence' | 'seen'>): ProposedFix {
  const model =
    evidence.settings.find(({ name, value }) => name === 'model' && isPlain(value))?.value ?? 'MODEL';
  const base = seen.router ? 'http://FRONTEND:8000' : 'http://ENGINE:PORT';
  const extra = seen.dynamo ? ',\\"nvext\\":{\\"extra_fields\\":[\\"worker_id\\",\\"timing\\"]}' : '';
  return {
    says: `Send two equal prompts, one after the other and nothing beside them, to ${base}`,
    why: seen.router
      ? 'At a concurrency of 1 there is no eviction: if the second of two equal prompts is still not found, the router and the engines do not speak of the same blocks; if it is found, the cache is too small for the load. It changes nothing.'
      : 'At a concurrency of 1 there is no eviction: if the second of two equal prompts is found, the cache is too small for the load; if not, the engine keeps nothing. It changes nothing.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `prompt=${LONG_PROMPT}`,
      `ask() { curl -s ${base}/v1/chat/completions -H 'content-type: application/json' -d "{\\"model\\":\\"${model}\\",\\"max_tokens\\":2,\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":\\"$prompt\\"}]${extra}}"; echo; }`,
      'ask; sleep 2; ask',
    ],
    verify: [
      `The second answer: usage.prompt_tokens_details.cached_tokens above 0 says that the engine had it${seen.dynamo ? '; nvext.timing.kv_hit_rate above 0 says that the router knew' : ''}.`,
    ],
  };
}

/** What can stand within quotes in a shell. */
function isPlain(value: string): boolean {
  return /^[\w./:@-]{1,200}$/.test(value);
}
