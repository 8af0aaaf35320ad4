import { describe, expect, it, onTestFinished } from 'vitest';
import { API_PATHS } from '../../src/core/contract/wire/api-paths.js';
import { groupOf, tokenizerFolder } from '../frontend/tokens/support/tokenizers.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { AGENT_BODIES, cachedOf } from './support/agent-bodies.js';
import { prefill, words } from './support/completions.js';
import { type ExactFleet, startExactFleet } from './support/exact-fleet.js';
import { forThisTest } from './support/for-this-test.js';
import { probe } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { reportThat } from './support/report.js';
import { type Sglang, startSglang } from './support/sglang.js';
import { tokenRequests } from './support/token-requests.js';
import { compareTokens, tokenSource, truthsOf } from './support/token-truth.js';
import { modelWithTokenizer } from './support/tokenizer-model.js';
import { until } from './support/until.js';

const WIDTH = 32;
/** Exchanges of each API's conversation. */
const TURNS = 3;

/** The paths of `API_PATHS` that an engine answers. */
async function answeredPaths({ url }: Sglang): Promise<string[]> {
  const answered: string[] = [];
  for (const path of API_PATHS) {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // Nothing is computed: no API takes an empty request.
      body: '{}',
      signal: AbortSignal.timeout(60_000),
    });
    await answer.text();
    if (answer.status !== 404) answered.push(path);
  }
  return answered;
}

/** Sends a conversation of each API through a fleet of one engine; returns what was predicted otherwise than it came. */
async function wrongPredictions(fleet: ExactFleet, model: string): Promise<object[]> {
  const completion = (name: string, turns: number): readonly [string, object] => [
    '/v1/completions',
    {
      max_tokens: 1,
      prompt: `You are ${name}. ${'The weather of the day after tomorrow. '.repeat(9 * turns)}`,
    },
  ];
  const wrong: object[] = [];
  for (const makeBody of [...AGENT_BODIES, completion])
    for (let turns = 1; turns <= TURNS; turns += 1) {
      const [path, body] = makeBody('an agent', turns);
      const response = await fetch(`${fleet.frontend.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...body }),
        signal: AbortSignal.timeout(60_000),
      });
      const answer = (await response.json()) as { usage: Record<string, never> };
      expect(response.status, JSON.stringify(answer)).toBe(200);
      const predicted = Number(response.headers.get('x-kv-accord-cached-blocks')) * WIDTH;
      const mode = response.headers.get('x-kv-accord-routing-mode');
      const cached = cachedOf(answer.usage);
      if (predicted !== cached || mode !== 'exact' || (turns > 2 && cached === 0))
        wrong.push({ path, turns, predicted, cached, mode });
      await fleet.settled();
    }
  return wrong;
}

describe.skipIf(lacks('sglang'))('the tokens of a real SGLang', () => {
  it.each(['chatml', 'llama3'] as const)('with the tokenizer %s are had of it exactly', async (name) => {
    const engine = forThisTest(await startSglang({ model: modelWithTokenizer(name), pageSize: WIDTH }));
    const model = `tiny-${name}`;
    const truths = await truthsOf(engine.url, model, tokenRequests(name));
    const answered = [...truths.values()].filter((truth) => truth !== 'refused');
    expect(answered.length).toBeGreaterThan(truths.size * 0.6);
    const group = groupOf(engine.url);
    expect(await compareTokens(await tokenSource('engine'), group, model, truths)).toEqual([]);

    // It joins the parts of a message with a blank and gives templates more of a tool than vLLM, so it differs.
    const logger = new RecordingLogger();
    const local = await tokenSource({ folder: tokenizerFolder(name) }, logger);
    const hello = { kind: 'completion', body: { prompt: 'hello' } } as const;
    await local.tokensOf(hello, model, group, AbortSignal.timeout(9_000));
    await expect.poll(() => logger.messages('warn').join(), { timeout: 20_000 }).toContain('differ');
    expect(await compareTokens(local, group, model, truths)).toEqual([]);

    if (name !== 'chatml' || lacks('grpcurl')) return;
    // On each path that it serves, and on none that it does not.
    const fleet = await startExactFleet([engine]);
    onTestFinished(() => fleet.stopOwn());
    const [sidecar] = fleet.sidecars;
    const report = await reportThat(
      sidecar as NonNullable<typeof sidecar>,
      'that says what its engine serves',
      ({ engine: of }) => (of?.apis ?? []).length > 0,
    );
    expect(report.engine?.apis).toEqual(await answeredPaths(engine));
    await until(
      'the frontend to be ready',
      async () => (await probe(fleet.frontend, '/readyz')).status === 200,
    );
    // Of an engine that has published nothing it is not known whether its cache is empty.
    await prefill(engine, { tokens: words(100), adapter: model });
    await fleet.settled();
    expect(await wrongPredictions(fleet, model)).toEqual([]);
    const { body } = await probe(fleet.frontend, '/metrics');
    expect(body).not.toMatch(/^kv_accord_frontend_requests_without_tokens_total\{.*\} [1-9]/m);
  });
});
