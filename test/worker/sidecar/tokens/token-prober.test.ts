import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PROBE_PROMPTS, unpackTokenIds } from '../../../../src/core/contract/tokens/token-probes.js';
import type { HttpAnswer } from '../../../../src/edge/platform/net/http-get.js';
import { ProbeError } from '../../../../src/edge/platform/probe-error.js';
import { EngineKind, type TokenProbe } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { LearnedFacts, ProbedEngine } from '../../../../src/worker/sidecar/probing/learn-once.js';
import { TokenProber } from '../../../../src/worker/sidecar/tokens/token-prober.js';
import { FakeClock } from '../../../support/fake-clock.js';

type Body = Readonly<Record<string, unknown>>;
type Respond = (path: string, body: Body) => Partial<HttpAnswer> | Promise<Partial<HttpAnswer>>;

const ENGINE: ProbedEngine = {
  instanceId: 'i-1',
  kind: EngineKind.VLLM,
  model: 'tiny',
  httpBaseUrl: 'http://e:8000',
  known: {},
};

/** Tokens by which tests tell prompts from each other. */
const idsOf = (body: Body): number[] =>
  [...JSON.stringify(body['messages'] ?? body['prompt'])].map((c) => c.charCodeAt(0));

/** A vLLM that takes everything, and says of its prompts `text`. */
const answering =
  (text = 'no date'): Respond =>
  (path, body) =>
    path === '/detokenize'
      ? { body: JSON.stringify({ prompt: text }) }
      : { body: JSON.stringify({ count: 1, tokens: idsOf(body) }) };

class Bench {
  readonly clock = new FakeClock();
  readonly asked: { readonly path: string; readonly body: Body }[] = [];
  readonly prober: TokenProber;
  respond: Respond;

  constructor(respond: Respond) {
    this.respond = respond;
    this.prober = new TokenProber({
      clock: this.clock,
      postJson: async (url, asked, { signal }) => {
        setMaxListeners(0, signal);
        const { pathname } = new URL(url);
        const body = asked as Body;
        this.asked.push({ path: pathname, body });
        const given = await Promise.race([
          this.respond(pathname, body),
          new Promise<never>((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new ProbeError('timeout', url, 'given up'))),
          ),
        ]);
        return { status: 200, contentType: 'application/json', body: '', ...given };
      },
    });
  }

  learn(engine: Partial<ProbedEngine> = {}): Promise<LearnedFacts> {
    return this.prober.learn({ ...ENGINE, ...engine }, new AbortController().signal);
  }
}

function probesOf({ facts }: LearnedFacts): readonly TokenProbe[] {
  const [fact] = facts;
  return fact?.type === 'field' && fact.field === 'model.token_probes' ? fact.value : [];
}

describe('the probes of a tokenizer', () => {
  it('ask vLLM for every prompt under the name of the base model, and keep the tokens with their evidence', async () => {
    const bench = new Bench(answering());
    const learned = await bench.learn();
    const probes = probesOf(learned);
    expect(probes.map(({ name }) => name)).toEqual(PROBE_PROMPTS.map(({ name }) => name));
    expect([...unpackTokenIds(probes[0]?.tokenIds as Uint8Array)]).toEqual(
      idsOf(PROBE_PROMPTS[0]?.body as Body),
    );
    expect(bench.asked.every(({ body }) => body['model'] === 'tiny')).toBe(true);
    expect(bench.asked.filter(({ path }) => path === '/detokenize')).toHaveLength(1);
    expect(learned.facts[0]?.evidence.origin).toBe('POST http://e:8000/tokenize');
    expect(learned.facts[0]?.evidence.raw).toMatch(/^tokens: text \d+, /);
    expect(learned.probes).toEqual([
      {
        probe: 'token-probes',
        origin: 'POST http://e:8000/tokenize',
        answered: true,
        factCount: 1,
        error: '',
      },
    ]);
  });

  it('are asked once for each engine start', async () => {
    const bench = new Bench(answering());
    const first = await bench.learn();
    const count = bench.asked.length;
    expect(await bench.learn()).toBe(first);
    expect(bench.asked).toHaveLength(count);
    await bench.learn({ instanceId: 'i-2' });
    expect(bench.asked).toHaveLength(2 * count);
  });

  it('record what the engine refuses', async () => {
    const bench = new Bench((path, body) =>
      'tools' in body ? { status: 400, body: '{"error": "no tools"}' } : answering()(path, body),
    );
    const refused = probesOf(await bench.learn()).filter(({ isRefused }) => isRefused);
    expect(refused.map(({ name }) => name)).toEqual(['tools']);
    expect(refused[0]).toMatchObject({ tokenCount: 0, tokenIds: Buffer.alloc(0) });
  });

  it('leave out a prompt on which the engine fails', async () => {
    const bench = new Bench((path, body) => ('tools' in body ? { status: 500 } : answering()(path, body)));
    expect(probesOf(await bench.learn()).map(({ name }) => name)).not.toContain('tools');
    expect(probesOf(await bench.learn())).toHaveLength(PROBE_PROMPTS.length - 1);
  });

  it('go to the render endpoints where there is no /tokenize, and say of chats nothing that may hold a date', async () => {
    const bench = new Bench((path, body) =>
      path.endsWith('/render')
        ? {
            body: JSON.stringify(
              path.includes('chat') ? { token_ids: idsOf(body) } : [{ token_ids: idsOf(body) }],
            ),
          }
        : { status: 404, body: '{"detail": "Not Found"}' },
    );
    const learned = await bench.learn();
    expect(probesOf(learned).map(({ name }) => name)).toEqual([
      'text',
      'text_without_special_tokens',
      'special_tokens',
    ]);
    expect(learned.probes[0]?.origin).toBe('POST http://e:8000/v1/completions/render');
  });

  it('give up for good where an engine has no such endpoint, and say so', async () => {
    const bench = new Bench(() => ({ status: 404, body: 'Not Found' }));
    const learned = await bench.learn();
    expect(learned.facts).toEqual([]);
    expect(learned.probes[0]).toMatchObject({
      answered: false,
      error: 'the engine has no endpoint that returns tokens, or it is switched off',
    });
    const count = bench.asked.length;
    await bench.clock.advanceMs(3_600_000);
    await bench.learn();
    expect(bench.asked).toHaveLength(count);
  });

  it('are asked again later, a few times, where an engine does not answer in time', async () => {
    const bench = new Bench(() => new Promise(() => {}));
    const attempt = async (): Promise<LearnedFacts> => {
      const learning = bench.learn();
      await bench.clock.advanceMs(5_000);
      return learning;
    };
    expect((await attempt()).probes[0]).toMatchObject({ answered: false });
    await bench.learn();
    expect(bench.asked).toHaveLength(1);
    for (let i = 0; i < 10; i += 1) {
      await bench.clock.advanceMs(30_000);
      await attempt();
    }
    expect(bench.asked).toHaveLength(5);
    expect(bench.clock.pendingTimers).toBe(0);
  });

  it('compare the text without dates where the template writes the day', async () => {
    const on = async (date: string): Promise<readonly TokenProbe[]> =>
      probesOf(await new Bench(answering(`Current date: ${date}. Why?`)).learn());
    const year = new Date(new FakeClock().wallMs()).getUTCFullYear();
    const [one, other] = [await on(`${year}-01-03`), await on(`${year}-01-04`)];
    const chats = one.filter(({ isUndated }) => isUndated);
    expect(chats).toHaveLength(6);
    expect(chats.every(({ tokenIds }) => tokenIds.length === 0)).toBe(true);
    expect(other.map(({ sha256 }) => sha256)).toEqual(one.map(({ sha256 }) => sha256));
  });

  it('ask SGLang at its own address', async () => {
    const bench = new Bench((path, body) =>
      path === '/v1/detokenize'
        ? { body: '{"text": "no date"}' }
        : path === '/v1/tokenize'
          ? { body: JSON.stringify({ tokens: idsOf(body) }) }
          : { status: 404 },
    );
    const learned = await bench.learn({ kind: EngineKind.SGLANG });
    expect(probesOf(learned)).toHaveLength(PROBE_PROMPTS.length);
  });

  it('ask nothing of engines that are not known to tell tokens', async () => {
    const bench = new Bench(answering());
    expect(await bench.learn({ kind: EngineKind.TENSORRT_LLM })).toEqual({
      facts: [],
      probes: [],
    });
    expect(bench.asked).toEqual([]);
  });

  it.each([
    ['HTML', '<html>'],
    ['no tokens', '{"count": 3}'],
    ['tokens that are none', '{"tokens": ["a"]}'],
    ['negative tokens', '{"tokens": [-1]}'],
    ['tokens beyond 32 bits', '{"tokens": [4294967296]}'],
    ['deep nesting', '['.repeat(100_000)],
  ])('take %s for no answer', async (_what, body) => {
    const bench = new Bench(() => ({ body }));
    const learned = await bench.learn();
    expect(learned.facts).toEqual([]);
    expect(learned.probes[0]?.error).toContain('http://e:8000/tokenize');
  });

  it('keep the first 1,024 ids of a prompt and the digest of all', async () => {
    const long =
      (last: number): Respond =>
      (path) =>
        path === '/detokenize'
          ? { body: '{"prompt": ""}' }
          : { body: JSON.stringify({ tokens: [...Array.from({ length: 5_000 }, () => 7), last] }) };
    const [one, other] = await Promise.all(
      [1, 2].map(async (last) => probesOf(await new Bench(long(last)).learn())[0]),
    );
    expect(one?.tokenIds).toHaveLength(4_096);
    expect(one?.tokenCount).toBe(5_001);
    expect(one?.tokenIds).toEqual(other?.tokenIds);
    expect(one?.sha256).not.toEqual(other?.sha256);
  });
});
