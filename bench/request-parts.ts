/**
 * What single parts of the frontend add to a request of an agent and to its answer: the session's name, the chat that an
 * engine makes of other APIs, images in a prompt, watching a stream, and what is noted of a worker's health. The floor of a
 * request is reading its JSON, that of an answer is looking for the line feeds in its pieces.
 */
import { BlockHasher } from '../src/core/blocks/block-hasher.js';
import { mediaByBlock } from '../src/core/blocks/media-identity.js';
import { vllmChat } from '../src/engines/vllm/as-chat.js';
import type { Decision, Route } from '../src/fleet/router/routing.js';
import { CHAT } from '../src/frontend/apis/api.js';
import { cacheSourceOf } from '../src/frontend/gateway/cache-source.js';
import { ResponseIdWatch } from '../src/frontend/gateway/response-homes.js';
import { sessionHashOf } from '../src/frontend/gateway/session-hash.js';
import { PassedAnswer } from '../src/frontend/proxy/answers/passed-answer.js';
import { WorkerWork } from '../src/frontend/proxy/workers/worker-work.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';

const ROUNDS = IS_QUICK ? 3 : 15;
/** Characters of a prompt of about 10,000 tokens. */
const PROMPT_CHARS = 40_000;
const TURNS = 20;
const TOKENS_PER_BLOCK = 16;
const EVENTS = 1_000;

/** Microseconds of processor time of one call, as the median of the rounds. */
function measured(calls: number, call: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const start = process.cpuUsage();
    for (let at = 0; at < calls; at += 1) call();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / calls;
  });
  return median(rounds);
}

const text = 'the words of one turn of an agent '.repeat(PROMPT_CHARS / TURNS / 34);
const metadata = { user_id: 'user_1_account_2_session_3' };
const messages = Array.from({ length: TURNS }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: [{ type: 'text', text }],
}));
const input = Array.from({ length: TURNS }, () => ({
  role: 'user',
  content: [{ type: 'input_text', text }],
}));
const bodies = {
  messages: { model: 'm', max_tokens: 64, system: 'Be brief.', messages, metadata },
  responses: { model: 'm', instructions: 'Be brief.', input },
};

title(`a request of ${PROMPT_CHARS.toLocaleString('en')} characters in ${TURNS} turns`);
const json = JSON.stringify(bodies.messages);
const CALLS = IS_QUICK ? 200 : 2_000;
const parsing = measured(CALLS, () => JSON.parse(json));
ratio(
  'the session in a header',
  measured(CALLS * 10, () => sessionHashOf('header', { 'x-session-id': 's-1' }, bodies.messages)),
  parsing,
  'us',
  0.1,
);
ratio(
  'the session in the body',
  measured(CALLS * 10, () => sessionHashOf('user', {}, bodies.messages)),
  parsing,
  'us',
  0.1,
);
for (const kind of ['messages', 'responses'] as const)
  ratio(
    `the chat that vLLM makes of ${kind}`,
    measured(CALLS * 10, () => vllmChat({ kind, body: bodies[kind], isPlain: true })),
    parsing,
    'us',
    1,
  );

title('a prompt of 10,000 tokens with ten images');
const hasher = new BlockHasher();
const tokens = new Uint32Array(10_000).map((_, at) => at);
const blocks = tokens.length / TOKENS_PER_BLOCK;
const items = Array.from({ length: 10 }, (_, at) => ({
  identifier: 'a1b2c3d4'.repeat(8),
  offset: 1_000 * at,
  length: 256,
}));
const sizes = { tokensPerBlock: TOKENS_PER_BLOCK, unit: 'token', seed: hasher.seedOf('', '') } as const;
ratio(
  'hashing it, images included',
  measured(CALLS, () => {
    const media = mediaByBlock(hasher, items, {
      tokensPerBlock: TOKENS_PER_BLOCK,
      blocks,
      unit: 'token',
    });
    return hasher.hashTokens(tokens, { ...sizes, media });
  }),
  measured(CALLS, () => hasher.hashTokens(tokens, sizes)),
  'us',
  30,
);

title(`an answer of ${EVENTS.toLocaleString('en')} events`);
const piece = Buffer.from(
  `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n`,
);
const head = { status: 200, isEventStream: true, hasLength: false, isPlain: true };
const route = { prefillDone: () => undefined, progress: () => undefined } as unknown as Route;
const ANSWERS = IS_QUICK ? 20 : 100;
const looking = measured(ANSWERS, () => {
  let feeds = 0;
  for (let at = 0; at < EVENTS; at += 1)
    for (let from = piece.indexOf(10); from !== -1; from = piece.indexOf(10, from + 1)) feeds += 1;
  return feeds;
});
const watch = (seen: (answer: PassedAnswer, at: number) => void): number =>
  measured(ANSWERS, () => {
    const answer = new PassedAnswer(head, TOKENS_PER_BLOCK, CHAT);
    for (let at = 0; at < EVENTS; at += 1) {
      answer.onData(piece, route);
      seen(answer, at);
    }
    answer.onEnd(route);
  });
ratio(
  'watched: usage, whole events, progress',
  watch(() => undefined),
  looking,
  'us',
  6,
);
const work = new WorkerWork();
ratio(
  '… and the signs of work of its engine',
  watch((answer, at) => {
    if (answer.showsWork) work.worked(at);
  }),
  looking,
  'us',
  6,
);
ratio(
  'the id of a response looked for',
  measured(ANSWERS, () => {
    const ids = new ResponseIdWatch();
    for (let at = 0; at < EVENTS; at += 1) ids.add(piece);
  }),
  looking,
  'us',
  1,
);

title('once for each request');
const decision: Decision = {
  group: 'm',
  target: 'a',
  workerId: 'a',
  instanceId: 'i',
  rank: 0,
  rankCount: 1,
  epoch: 1,
  tokensPerBlock: TOKENS_PER_BLOCK,
  promptTokens: 10_000,
  promptBlocks: 625,
  cachedBlocks: 0,
  isExact: true,
  routingMode: 'exact',
  neighbour: { target: 'b', rank: 0, cachedBlocks: 600 },
};
const OFTEN = IS_QUICK ? 20_000 : 200_000;
let nowMs = 0;
figure(
  'what its worker has to compute, noted',
  1_000 *
    measured(OFTEN, () => {
      nowMs += 1;
      work.sent(decision, json.length, nowMs);
      return work.idleMs(nowMs, nowMs);
    }),
  'ns',
);
figure(
  'the neighbour that holds more, named',
  1_000 * measured(OFTEN, () => cacheSourceOf(decision, 1_024, () => 'http://10.0.0.2:8000')),
  'ns',
);
