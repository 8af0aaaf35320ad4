import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe, startKvAccord } from './support/kv-accord.js';
import { MODEL, PairFleet, textOf } from './support/pair-fleet.js';
import { lacks } from './support/peers.js';
import { type PrintedReport, reportThat } from './support/report.js';
import { type Sglang, startSglang } from './support/sglang.js';
import { completeAtBoth, type SglangPairEngine, startSglangPairEngine } from './support/sglang-pair.js';
import { tinyModel } from './support/tiny-model.js';

/** Tokens in a page of the engines that go together. */
const PAGE = 32;
/** Tokens of a prompt that takes an engine a while. */
const LONG_PROMPT = 1_600;
/** A request to the engines themselves is over by then. */
const ALONE_MS = 60_000;

/** No more than three engines run at a time: each test goes on with the fleet that the one before has left. */
describe.skipIf(lacks('sglang', 'nixl', 'grpcurl'))('real pairs of SGLang engines over NIXL', () => {
  const fleet = new PairFleet();
  const model = tinyModel(MODEL);
  const prompt = fleet.newPrompt();
  const greedy = { model: MODEL, max_tokens: 6, temperature: 0 };
  let prefill: SglangPairEngine;
  let [ofFloat16, ofLongPages]: (SglangPairEngine | undefined)[] = [];
  let alone: Sglang | undefined;
  let garbled = '';

  beforeAll(async () => {
    const start = async (
      name: string,
      pageSize: number,
      dtype: 'bfloat16' | 'float16',
    ): Promise<SglangPairEngine> => {
      const role = name.startsWith('prefill') ? 'prefill' : 'decode';
      const engine = await startSglangPairEngine({ model, role, pageSize, dtype });
      fleet.adopt(name, engine);
      return engine;
    };
    [prefill, ofFloat16, ofLongPages] = await Promise.all([
      start('prefill-0', PAGE, 'bfloat16'),
      start('decode-float16', PAGE, 'float16'),
      start('decode-pages', 2 * PAGE, 'bfloat16'),
    ]);
    await fleet.serveWith('prefill-0', 'decode-pages');
    await fleet.startFrontend();
  });
  afterAll(async () => {
    await alone?.program.stop();
    await fleet.stop();
  });

  function reportOf(name: string, dtype: string): Promise<PrintedReport> {
    const sidecar = fleet.sidecar(name);
    return reportThat(sidecar, `of ${dtype}`, ({ transfer }) => transfer?.dtype === dtype);
  }

  async function expectRefused(field: RegExp, name: string): Promise<void> {
    await fleet.untilLogged('error', field);
    expect((await probe(fleet.frontend, '/readyz')).status).toBe(503);
    await fleet.untilRefused(field);
    const workers = ['prefill-0', name].map((each) => `127.0.0.1:${fleet.sidecar(each).grpcPort}`);
    const wait = startKvAccord('wait', ['wait', '--workers', workers.join(','), '--timeout', '60s']);
    expect(await wait.ended).toBe(4);
    expect(wait.log).toMatch(field);
    expect(prefill.program.log).not.toContain('POST /v1/completions');
  }

  it('with pages of two sizes are refused before any request, with both sizes named', async () => {
    await expectRefused(/tokens_per_block: 32 \(prefill-0 .*against 64 \(decode-pages/, 'decode-pages');
  });

  it('are reported with role, backend, direction and the address of the bootstrap server', async () => {
    await fleet.serveWith('prefill-0', 'decode-float16');
    const { transfer, evidence } = await reportOf('prefill-0', 'bfloat16');
    expect(transfer).toMatchObject({
      connector: 'sglang-nixl',
      role: 'TRANSFER_ROLE_PRODUCER',
      mode: 'TRANSFER_MODE_PUSH',
      tokensPerBlock: PAGE,
      kvCacheDtype: 'auto',
      attentionBackend: 'torch_native',
      sideChannels: [{ address: prefill.bootstrap, state: 'STATE_NOT_ASKED' }],
    });
    expect(evidence?.find(({ field }) => field === 'transfer.connector')).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_HTTP',
      origin: `GET ${prefill.url}/server_info`,
    });
    const decode = await reportOf('decode-float16', 'float16');
    expect(decode.transfer).toMatchObject({ connector: 'sglang-nixl', role: 'TRANSFER_ROLE_CONSUMER' });
    expect(decode.transfer?.sideChannels).toBeUndefined();
  });

  it('of two dtypes are refused before any request, with both named', async () => {
    await expectRefused(/dtype: bfloat16 \(prefill-0 .*against float16 \(decode-float16/, 'decode-float16');
  });

  it('of two dtypes do not refuse each other themselves', async () => {
    const signal = AbortSignal.timeout(ALONE_MS);
    const decode = ofFloat16 as SglangPairEngine;
    const { status, text } = await completeAtBoth(prefill, decode, { ...greedy, prompt }, signal);
    expect(status).toBe(200);
    garbled = textOf(text, false);
    await decode.program.stop();
  });

  it('with pages of two sizes end the decode engine with their first request', async () => {
    const { program } = ofLongPages as SglangPairEngine;
    const given = new AbortController();
    const asked = completeAtBoth(
      prefill,
      ofLongPages as SglangPairEngine,
      { ...greedy, prompt },
      given.signal,
    );
    const failed = expect(asked).rejects.toThrow();
    expect(await program.ended).not.toBe(0);
    expect(program.log).toContain('Page size mismatch: prefill server has page_size=32');
    // The prefill engine would wait for five minutes.
    given.abort();
    await failed;
  });

  it('wait for their decode engine, and get requests by themselves once it is there', async () => {
    await fleet.serveWith('prefill-0');
    await fleet.untilRefused(/decode: no worker/i);
    const [decode, single] = await Promise.all([
      startSglangPairEngine({ model, role: 'decode', pageSize: PAGE, dtype: 'bfloat16' }),
      startSglang({ model, pageSize: PAGE, flags: ['--dtype', 'bfloat16'] }),
    ]);
    alone = single;
    fleet.adopt('decode-0', decode);
    await fleet.serveWith('prefill-0', 'decode-0');
    await fleet.untilOpen();
    expect(await fleet.pairsShown()).toContain('1 can pair');
  });

  it.each([
    ['/v1/completions', false],
    ['/v1/completions', true],
    ['/v1/chat/completions', false],
    ['/v1/chat/completions', true],
  ])(
    'answer %s as one engine does, count what was moved, and have cached what was predicted (stream: %s)',
    async (path, stream) => {
      const fresh = fleet.newPrompt();
      const content = fresh.map((id) => `w${id - 16}`).join(' ');
      const isChat = path.includes('chat');
      const body = isChat ? { messages: [{ role: 'user', content }] } : { prompt: fresh };
      const before = await fleet.counted('kv_accord_pd_transferred_tokens_total');
      const answer = await fleet.ask({ ...body, stream }, path);
      expect([answer.status, answer.prefill, answer.decode]).toEqual([200, 'prefill-0', 'decode-0']);
      const own = await answerOf(alone as Sglang, path, body);
      expect(textOf(answer.text, stream)).toBe(textOf(own, false));
      await fleet.untilIdle();
      const transferred = (await fleet.counted('kv_accord_pd_transferred_tokens_total')) - before;
      expect(transferred).toBe(JSON.parse(own).usage.prompt_tokens);
      const longer = isChat ? body : { prompt: [...fresh, ...fleet.newPrompt()] };
      // A busy engine publishes its events late.
      await fleet.until('the next prediction to be true', async () => {
        const again = await fleet.ask(longer, path);
        expect(again.status).toBe(200);
        return again.predicted > 0 && again.usage?.prompt_tokens_details?.cached_tokens === again.predicted;
      });
    },
  );

  it('answer otherwise where one of two dtypes has taken the blocks for its own', async () => {
    const right = await fleet.ask({ prompt });
    expect(right.text).toContain('choices');
    expect(textOf(right.text, false)).not.toBe(garbled);
    expect(textOf(right.text, false)).toBe(
      textOf(await answerOf(alone as Sglang, '/v1/completions', { prompt }), false),
    );
    expect(await fleet.counted('kv_accord_pd_recomputed_tokens_total')).toBe(0);
    expect(await fleet.counted('kv_accord_pd_failed_transfers_total')).toBe(0);
  });

  it('fail with the reason what a prefill engine was killed over, and keep nothing reserved for it', async () => {
    const { program } = prefill;
    // It takes requests and answers none.
    process.kill(program.pid ?? 0, 'SIGSTOP');
    const asked = Array.from({ length: 4 }, () => fleet.ask({ prompt: fleet.newPrompt(LONG_PROMPT) }));
    await fleet.until('all to be under way', async () => {
      return (await fleet.counted('kv_accord_router_prefilling_tokens')) === asked.length * LONG_PROMPT;
    });
    await program.kill();
    for (const { status, text } of await Promise.all(asked))
      expect([status, text]).toEqual([502, expect.stringContaining('worker_closed')]);
    await fleet.untilLogged('warn', /^Prefill worker prefill-0 .*failed a request .*ECONNRESET/);
    await fleet.untilLogged('warn', /^A request failed: .*The last one was prefill-0 /);
    await fleet.untilIdle();
    expect(await fleet.counted('kv_accord_router_prefilling_tokens')).toBe(0);
    await fleet.untilRefused(/prefill: (0 of \d workers? can be used|no worker has reported)/i);
    expect((await probe(fleet.frontend, '/readyz')).status).toBe(503);
  });

  async function answerOf({ url }: Sglang, path: string, body: object): Promise<string> {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...greedy, ...body }),
      signal: AbortSignal.timeout(ALONE_MS),
    });
    return response.text();
  }
});
