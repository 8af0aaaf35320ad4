import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { CatalogueGroup } from '../../src/frontend/catalogue.js';
import type { TokenSource } from '../../src/frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../src/frontend/tokens/token-source.js';
import { systemClock } from '../../src/platform/clock.js';
import { bundledThread } from '../frontend/tokens/support/thread-url.js';
import {
  groupOf,
  plain,
  type TokenizerName,
  tokenizerFolder,
} from '../frontend/tokens/support/tokenizers.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { forThisTest } from './support/for-this-test.js';
import { lacks } from './support/peers.js';
import { tokenRequests } from './support/token-requests.js';
import { modelWithTokenizer } from './support/tokenizer-model.js';
import { startVllm, type Vllm } from './support/vllm.js';

type Request = Readonly<Record<string, unknown>>;

const TOOLS = ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'];

let threadUrl: URL;
beforeAll(async () => {
  threadUrl = await bundledThread();
});

async function sourceOf(
  tokenizer: 'engine' | { readonly folder: string },
  logger = new RecordingLogger(),
): Promise<TokenSource> {
  const source = await createTokenSource({ tokenizer }, { clock: systemClock, logger, threadUrl });
  onTestFinished(() => source.close());
  return source;
}

/** What vLLM itself says that it has computed for a request; its status where it refused. */
async function truthOf({ url }: Vllm, model: string, request: Request): Promise<number[] | number> {
  const isChat = 'messages' in request;
  const answer = await fetch(`${url}/v1/${isChat ? 'chat/' : ''}completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, model, max_tokens: 1, return_token_ids: true }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await answer.json()) as {
    usage: { prompt_tokens: number };
    prompt_token_ids?: number[];
    choices: { prompt_token_ids?: number[] }[];
  };
  if (!answer.ok) return answer.status;
  const tokens = body.prompt_token_ids ?? body.choices[0]?.prompt_token_ids ?? [];
  expect(tokens).toHaveLength(body.usage.prompt_tokens);
  return tokens;
}

/** Asks one source for all that an engine was asked; returns the requests for which it had none, with the reasons. */
async function compare(
  source: TokenSource,
  group: CatalogueGroup,
  model: string,
  truths: ReadonlyMap<Request, number[] | number>,
): Promise<[Request, string][]> {
  const missing: [Request, string][] = [];
  for (const [body, truth] of truths) {
    const kind = 'messages' in body ? 'chat' : 'completion';
    const made = plain(await source.tokensOf({ kind, body }, model, group, AbortSignal.timeout(30_000)));
    if (typeof truth === 'number') continue;
    if (typeof made === 'string') missing.push([body, made]);
    else expect({ body, made }).toEqual({ body, made: truth });
  }
  return missing;
}

describe.skipIf(lacks('vllm'))('the tokens of a real vLLM', () => {
  const cases: readonly [TokenizerName, readonly string[]][] = [
    ['chatml', TOOLS],
    ['llama3', ['--enable-scale-out', ...TOOLS]],
    ['pieces', TOOLS],
  ];
  it.each(cases)('with the tokenizer %s are had of it, and made here, exactly', async (name, flags) => {
    const folder = modelWithTokenizer(name);
    const engine = forThisTest(await startVllm({ model: folder, blockSize: 32, flags }));
    const model = `tiny-${name}`;
    const truths = new Map<Request, number[] | number>();
    for (const request of tokenRequests(name)) truths.set(request, await truthOf(engine, model, request));
    const refused = [...truths.values()].filter((truth) => typeof truth === 'number').length;
    expect(refused).toBeLessThan(truths.size / 3);

    expect(await compare(await sourceOf('engine'), groupOf(engine.url), model, truths)).toEqual([]);

    const logger = new RecordingLogger();
    const local = await sourceOf({ folder: tokenizerFolder(name) }, logger);
    const group = groupOf(engine.url);
    await local.tokensOf(
      { kind: 'completion', body: { prompt: 'hello' } },
      model,
      group,
      AbortSignal.timeout(9_000),
    );
    await expect.poll(() => logger.messages('info').join(), { timeout: 20_000 }).toContain('are the same');
    expect(await compare(local, group, model, truths)).toEqual([]);
    // Where the engine cannot be asked, what is not sure is left without tokens, and nothing has wrong ones.
    const unsure = await compare(local, groupOf({}), model, truths);
    expect(unsure.filter(([, reason]) => reason !== 'no_tokenizer')).toEqual([]);
    expect(unsure.length).toBeLessThanOrEqual(4);
  });

  it('are told to differ from those of another tokenizer, and are used then', async () => {
    const engine = forThisTest(await startVllm({ model: modelWithTokenizer('chatml'), blockSize: 32 }));
    const logger = new RecordingLogger();
    const source = await sourceOf({ folder: tokenizerFolder('llama3') }, logger);
    const group = groupOf(engine.url);
    const body = { messages: [{ role: 'user', content: 'hello' }] };
    const ask = async (): Promise<unknown> =>
      plain(await source.tokensOf({ kind: 'chat', body }, 'tiny-chatml', group, AbortSignal.timeout(9_000)));
    const truth = await truthOf(engine, 'tiny-chatml', body);
    expect(await ask()).toEqual(truth);
    await expect.poll(() => logger.messages('warn').join(), { timeout: 20_000 }).toContain('differ');
    expect(logger.lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({
      group: 'tiny',
      probe: expect.any(String),
      position: expect.any(Number),
    });
    expect(await ask()).toEqual(truth);
  });
});
