import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';

/** Where to look whether a router's number is right. */
export function sizeChecks(tokensPerBlock: number): readonly string[] {
  return [
    `curl -s http://FRONTEND:8000/metrics | grep dynamo_frontend_model_kv_cache_block_size    # should be ${tokensPerBlock}`,
    'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)|parent_block_not_found"    # the sum should grow with follow-up turns, parent_block_not_found should stand still',
    `kv-accord status    # every worker should be listed with ${tokensPerBlock}`,
  ];
}

/** Whether stores arrive and are applied. */
export const STORE_CHECKS: readonly string[] = [
  'curl -s http://FRONTEND:8000/metrics | grep \'kv_cache_events_applied{.*event_type="stored",.*status="ok"\'    # should grow with each new prompt',
  'kubectl logs FRONTEND --since=1m | grep -c "Failed to find parent block"    # should be 0',
];

/** Whether the router finds what engines have. */
export const HIT_CHECKS: readonly string[] = [
  'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)"    # sum by count should come near the share of follow-up turns',
];

/** Where the two numbers stand, when only one of them was seen or neither. */
export function findingNumbers(): ProposedFix {
  return {
    says: 'Find out which block size the workers registered and which their engines use',
    why: 'The router cannot see what engines have, but not both of the block sizes were seen: with both, the doctor can say which to change. It changes nothing.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'curl -s http://FRONTEND:8000/metrics | grep dynamo_frontend_model_kv_cache_block_size    # what the router took from the cards',
      'curl -s http://ENGINE:8000/metrics | grep -E "cache_config_info|page_size|tokens_per_block"    # what the engine uses',
      'kubectl logs WORKER | grep -m3 "Block not published"    # both numbers, three times after the start of a worker and never again',
      'curl -s http://WORKER:9090/metrics | grep empty_store_blocks    # above 0: the worker drops what its engine stores',
    ],
    verify: [
      'kv-accord doctor --logs frontend.log --logs worker.log --metrics http://FRONTEND:8000/metrics --metrics http://ENGINE:8000/metrics    # with both numbers the verdict is certain',
    ],
  };
}

const LONG_PROMPT = '$(yes "The same long prefix for both requests." | head -n 200 | tr "\\n" " ")';

/**
 * Two equal prompts, one after the other and nothing beside them: under no
 * memory pressure the second must be found. Tells a router that cannot see
 * from a cache that is too small.
 */
export function confirmingTest({ evidence }: Pick<Measurements, 'evidence'>): ProposedFix {
  const model =
    evidence.settings.find(({ name, value }) => name === 'model' && isPlain(value))?.value ?? 'MODEL';
  return {
    says: 'Confirm with two equal prompts at a concurrency of 1',
    why: 'Without load there is no eviction: if the second of two equal prompts is still not found, the router and the engines do not speak of the same blocks; if it is found, the cache is too small for the load. It changes nothing.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `prompt=${LONG_PROMPT}`,
      `ask() { curl -s http://FRONTEND:8000/v1/chat/completions -H 'content-type: application/json' -d "{\\"model\\":\\"${model}\\",\\"max_tokens\\":2,\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":\\"$prompt\\"}],\\"nvext\\":{\\"extra_fields\\":[\\"worker_id\\",\\"timing\\"]}}"; echo; }`,
      'ask; sleep 2; ask',
    ],
    verify: [
      'The second answer: usage.prompt_tokens_details.cached_tokens above 0 says that the engine had it; nvext.timing.kv_hit_rate above 0 says that the router knew.',
      'cached_tokens above 0 and kv_hit_rate 0: the router does not see what is there (block size, card, namespace). Both 0: the engine kept nothing.',
    ],
  };
}

/** What can stand within quotes in a shell. */
function isPlain(value: string): boolean {
  return /^[\w./:@-]{1,200}$/.test(value);
}
