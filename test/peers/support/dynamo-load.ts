import type { DynamoFrontend } from './dynamo.js';

/** What Dynamo's frontend says of one request. */
interface RoutedChat {
  readonly promptTokens: number;
  /** Tokens that the worker's engine had in its cache. */
  readonly cachedTokens: number;
  /** Share of the prompt that the router believed to be cached. */
  readonly believedShare: number;
  /** The worker's instance id in decimal: it has 64 bits, more than a number of JSON can hold. */
  readonly worker: string;
  /** Until the first token, by Dynamo's own clock. */
  readonly firstTokenMs: number;
}

/** What became of conversations whose turns each repeat all before. */
export interface LoadFigures {
  /** Mean share of the prompt that the router believed to be cached, of all turns but the first. */
  readonly hitRateOfRepeats: number;
  /** The same, of all turns, by the frontend's own counter. */
  readonly hitRateCounted: number;
  /** Tokens that engines had in their caches. */
  readonly cachedTokens: number;
  readonly promptTokens: number;
  /** Turns that another worker got than the turn before. */
  readonly moves: number;
  readonly repeats: number;
  readonly workers: ReadonlySet<string>;
  /** Mean time to the first token of first turns, and of the others. */
  readonly firstMs: number;
  readonly repeatMs: number;
}

/** How many conversations, turns of each, and words that all turns of one begin with. */
interface LoadOptions {
  readonly conversations: number;
  readonly turns: number;
  readonly words: number;
  /** Different numbers make different conversations. */
  readonly seed: number;
}

/** The body of a request for the words `w0`, `w5`, … of the tiny model. */
export function chatBody(words: readonly number[], maxTokens = 2): Record<string, unknown> {
  return {
    model: 'tiny',
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: words.map((word) => `w${word}`).join(' ') }],
    nvext: { extra_fields: ['worker_id', 'timing'] },
  };
}

/** Sends one prompt, and reads what the frontend says of where it went. */
export async function chat({ url }: DynamoFrontend, words: readonly number[]): Promise<RoutedChat> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(words)),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${text.slice(0, 500)}`);
  const { usage, nvext } = JSON.parse(text) as {
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
    nvext: { timing: { kv_hit_rate: number; ttft_ms: number } };
  };
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    believedShare: nvext.timing.kv_hit_rate,
    firstTokenMs: nvext.timing.ttft_ms,
    worker: /"decode_worker_id":(\d+)/.exec(text)?.[1] ?? '',
  };
}

/** The sum of all samples of a family whose labels have all these texts in them; 0 when there is none. */
export async function counterOf(
  { url }: { readonly url: string },
  family: string,
  ...labels: readonly string[]
): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${family}{`) && labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** The sizes that the router of a frontend goes by, for each model one. */
export function routerBlockSize(frontend: DynamoFrontend): Promise<number> {
  return counterOf(frontend, 'dynamo_frontend_model_kv_cache_block_size');
}

/** Has conversations in turn, one request at a time. */
export async function converse(frontend: DynamoFrontend, options: LoadOptions): Promise<LoadFigures> {
  const { conversations, turns, words, seed } = options;
  const hitRate = async (part: 'sum' | 'count'): Promise<number> =>
    counterOf(frontend, `dynamo_component_router_kv_hit_rate_${part}`);
  const before = { sum: await hitRate('sum'), count: await hitRate('count') };
  const last = new Map<number, string>();
  const firsts: RoutedChat[] = [];
  const repeats: RoutedChat[] = [];
  let moves = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    for (let conversation = 0; conversation < conversations; conversation += 1) {
      const prefix = Array.from({ length: words }, (_, i) => wordOf(seed + conversation, i));
      const question = Array.from({ length: 40 }, (_, i) => wordOf(seed + turn + 1_000, i));
      const routed = await chat(frontend, [...prefix, ...question]);
      (turn === 0 ? firsts : repeats).push(routed);
      if ((last.get(conversation) ?? routed.worker) !== routed.worker) moves += 1;
      last.set(conversation, routed.worker);
    }
  }
  const all = [...firsts, ...repeats];
  const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
  const counted = (await hitRate('count')) - before.count;
  if (counted !== all.length) throw new Error(`the frontend counted ${counted} of ${all.length} requests`);
  return {
    hitRateOfRepeats: sumOf(repeats.map(({ believedShare }) => believedShare)) / repeats.length,
    hitRateCounted: ((await hitRate('sum')) - before.sum) / counted,
    cachedTokens: sumOf(all.map(({ cachedTokens }) => cachedTokens)),
    promptTokens: sumOf(all.map(({ promptTokens }) => promptTokens)),
    moves,
    repeats: repeats.length,
    workers: new Set(all.map(({ worker }) => worker)),
    firstMs: sumOf(firsts.map(({ firstTokenMs }) => firstTokenMs)) / firsts.length,
    repeatMs: sumOf(repeats.map(({ firstTokenMs }) => firstTokenMs)) / repeats.length,
  };
}

/**
 * Has conversations until each of so many workers was used. First turns cost
 * the same everywhere, and Dynamo breaks such ties by chance: six of them all
 * go to one of two workers once in 32 runs. The figures are those of the last
 * conversations, with the workers of all.
 */
export async function converseWithAll(
  frontend: DynamoFrontend,
  options: LoadOptions,
  workers: number,
): Promise<LoadFigures> {
  const used = new Set<string>();
  for (let round = 0; ; round += 1) {
    const seed = options.seed + round * options.conversations;
    const figures = await converse(frontend, { ...options, seed });
    for (const worker of figures.workers) used.add(worker);
    if (used.size === workers || round === 5) return { ...figures, workers: used };
  }
}

/** One line for anyone who reads the run. */
export function describeLoad(what: string, figures: LoadFigures): string {
  const { hitRateOfRepeats, hitRateCounted, cachedTokens, promptTokens, moves, repeats } = figures;
  return (
    `${what}: router hit rate ${hitRateOfRepeats.toFixed(3)} of repeats, ${hitRateCounted.toFixed(3)} of all; ` +
    `engines reused ${cachedTokens} of ${promptTokens} tokens; ${moves} of ${repeats} repeats moved; ` +
    `first token ${figures.firstMs.toFixed(1)} ms, of repeats ${figures.repeatMs.toFixed(1)} ms; ` +
    `${figures.workers.size} workers used`
  );
}

/** Word `i` of a text that no other text begins with. */
function wordOf(text: number, i: number): number {
  return (text * 797 + i * 1_031 + ((text * i) % 61)) % 2_032;
}
