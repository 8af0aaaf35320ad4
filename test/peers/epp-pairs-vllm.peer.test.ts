import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe } from './support/kv-accord.js';
import { MODEL, PairFleet, PROMPT, textOf } from './support/pair-fleet.js';
import { lacks } from './support/peers.js';
import { receivedTokens } from './support/vllm-pair.js';

/** A request to one engine alone is over by then. */
const ALONE_MS = 60_000;
/** Requests that are answered one after the other, before a worker that was killed counts as replaced. */
const IN_A_ROW = 6;

/** No more than three engines run at a time: each test goes on with the fleet that the one before has left. */
describe.skipIf(lacks('envoy', 'vllm', 'nixl'))('real pairs of vLLM engines behind a real Envoy', () => {
  const fleet = new PairFleet();

  beforeAll(async () => {
    await Promise.all([
      fleet.startEngine('prefill-0', { developerMode: true }),
      fleet.startEngine('decode-0', { developerMode: true, dtype: 'float16' }),
    ]);
    await fleet.serveWith('prefill-0', 'decode-0');
    await fleet.startPicker('decode-0');
  });
  afterAll(() => fleet.stop());

  /** Both parts of every request have been given back. */
  async function untilIdle(): Promise<void> {
    await fleet.untilIdle();
    expect(await fleet.counted('kv_accord_epp_reserved_requests')).toBe(0);
  }

  it('are refused with 503 and the field while one computes in bfloat16 and the other in float16', async () => {
    await fleet.untilLogged('error', /can hand its KV blocks to/);
    const prompt = fleet.newPrompt();
    for (const stream of [false, true]) {
      const { status, text } = await fleet.ask({ prompt, stream });
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({
        error: {
          code: 'gate_shut',
          message: expect.stringMatching(/dtype: bfloat16 \(prefill-0.*against float16 \(decode-0/),
        },
      });
    }
    for (const name of ['prefill-0', 'decode-0'])
      expect(fleet.engine(name).program.log).not.toContain('POST /v1/completions');
  });

  it('get requests by themselves once the decode engine was restarted with bfloat16', async () => {
    await Promise.all([
      fleet.startEngine('decode-0', { developerMode: true }),
      fleet.startEngine('prefill-1', { developerMode: true }),
    ]);
    await fleet.serveWith('prefill-0', 'prefill-1', 'decode-0');
    await fleet.untilOpen();
    await fleet.until('both pairs', async () => (await fleet.pairsShown()).includes('2 can pair'));
  });

  it.each([
    ['/v1/completions', false],
    ['/v1/completions', true],
    ['/v1/chat/completions', false],
    ['/v1/chat/completions', true],
  ])(
    'answer %s as one engine does, and move the KV blocks of its prompt (stream: %s)',
    async (path, stream) => {
      const decode = fleet.engine('decode-0');
      const prompt = fleet.newPrompt();
      const content = prompt.map((id) => `w${id - 16}`).join(' ');
      const body = path.includes('chat') ? { messages: [{ role: 'user', content }] } : { prompt };
      const before = await receivedTokens(decode);
      const streamed = { ...body, stream, stream_options: { include_usage: true } };
      const answer = await fleet.ask(stream ? streamed : body, path);
      expect(answer.status).toBe(200);
      const received = (await receivedTokens(decode)) - before;
      const alone = await fetch(`${decode.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, max_tokens: 6, temperature: 0, ...body, cache_salt: 'alone' }),
        signal: AbortSignal.timeout(ALONE_MS),
      });
      const own = await alone.text();
      expect(textOf(answer.text, stream)).toBe(textOf(own, false));
      expect(received).toBe(JSON.parse(own).usage.prompt_tokens);
      await untilIdle();
    },
  );

  it('send what goes on from a prompt where that was computed', async () => {
    const prompt = fleet.newPrompt();
    expect((await fleet.ask({ prompt })).status).toBe(200);
    const { usage } = await fleet.ask({ prompt: [...prompt, ...fleet.newPrompt()] });
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(Math.floor(PROMPT / 32) * 32);
    await untilIdle();
    const { groups } = JSON.parse((await probe(fleet.frontend, '/api/v1/results')).body) as Results;
    const sum = (name: string): number =>
      groups.flatMap(({ ranks }) => ranks).reduce((all, { total }) => all + Number(total[name] ?? 0), 0);
    expect(sum('predictedTokens')).toBeGreaterThan(0);
    expect(sum('overTokens')).toBe(0);
    expect(await fleet.counted('kv_accord_pd_transferred_tokens_total')).toBeGreaterThanOrEqual(5 * PROMPT);
    expect(await fleet.counted('kv_accord_pd_recomputed_tokens_total')).toBe(0);
    expect(await fleet.counted('kv_accord_pd_failed_transfers_total')).toBe(0);
  });

  it('leave nothing reserved where clients go in the midst of their streams', async () => {
    const streams = await Promise.all(Array.from({ length: 4 }, () => fleet.openStream()));
    expect(await fleet.counted('kv_accord_epp_reserved_requests')).toBeGreaterThan(0);
    await Promise.all(streams.map((stream) => stream.leave()));
    await untilIdle();
  });

  it('are answered by the other prefill engine once one was killed', async () => {
    await fleet.engine('prefill-1').program.kill();
    const statuses: number[] = [];
    await fleet.until('requests to be answered again', async () => {
      statuses.push((await fleet.ask({ prompt: fleet.newPrompt() })).status);
      return statuses.slice(-IN_A_ROW).filter((each) => each === 200).length === IN_A_ROW;
    });
    // What its routing sidecar answers, until the pair is set aside or the engine is known to be gone.
    const failed = statuses.filter((status) => status !== 200);
    expect(failed).toEqual(Array(Math.min(failed.length, 3)).fill(502));
    await untilIdle();
    const before = await receivedTokens(fleet.engine('decode-0'));
    expect((await fleet.ask({ prompt: fleet.newPrompt() })).status).toBe(200);
    expect(await receivedTokens(fleet.engine('decode-0'))).toBeGreaterThan(before);
  });

  it('are refused with the part that is missing once the last prefill engine was killed', async () => {
    await fleet.engine('prefill-0').program.kill();
    await fleet.untilRefused(/prefill: (0 of \d workers? can be used|no worker has reported)/i);
    await untilIdle();
  });
});

interface Results {
  readonly groups: readonly {
    readonly ranks: readonly { readonly total: Readonly<Record<string, string | undefined>> }[];
  }[];
}
