import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coreOf } from './support/engine-core.js';
import { grpcurl } from './support/grpcurl.js';
import { probe, startKvAccord } from './support/kv-accord.js';
import { block, blockingMissing, ownAddress, unblock } from './support/own-address.js';
import { MODEL, PairFleet, PROMPT, textOf } from './support/pair-fleet.js';
import { lacks } from './support/peers.js';
import { type PrintedReport, reportThat } from './support/report.js';
import { completeOverPair, receivedTokens } from './support/vllm-pair.js';

/** Tokens of a prompt that takes an engine a while; a multiple of its blocks. */
const LONG_PROMPT = 1_600;
/** A request to one engine alone is over by then. */
const ALONE_MS = 60_000;

/** No more than three engines run at a time: each test goes on with the fleet that the one before has left. */
describe.skipIf(lacks('vllm', 'nixl', 'grpcurl'))('real pairs of vLLM engines over NIXL', () => {
  const fleet = new PairFleet();
  const channelHost = blockingMissing() === undefined ? ownAddress() : '127.0.0.1';
  let isBlocked = false;

  beforeAll(async () => {
    await Promise.all([
      fleet.startEngine('prefill-0', { developerMode: true }),
      fleet.startEngine('decode-0', { developerMode: true, dtype: 'float16' }),
    ]);
    await fleet.serveWith('prefill-0', 'decode-0');
    await fleet.startFrontend();
  });
  afterAll(async () => {
    if (isBlocked) await unblock(channelHost);
    await fleet.stop();
  });

  /** The report of this engine's sidecar, once its side channel has answered. */
  function reportOf(name: string, dtype: string): Promise<PrintedReport> {
    return reportThat(
      fleet.sidecar(name),
      `of ${dtype}, whose side channel has answered`,
      ({ transfer }) =>
        transfer?.dtype === dtype && transfer.sideChannels?.[0]?.['state'] === 'STATE_ANSWERED',
    );
  }

  it('are reported with the whole contract of a transfer, its evidence, and a hash that differs with the dtype', async () => {
    const prefill = await reportOf('prefill-0', 'bfloat16');
    const address = fleet.engine('prefill-0').sideChannel;
    expect(prefill.transfer).toEqual({
      connector: 'nixl',
      role: 'TRANSFER_ROLE_PRODUCER',
      mode: 'TRANSFER_MODE_PULL',
      engineId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      compatibilityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      tokensPerBlock: 32,
      blockLayout: 'LBHNC',
      dtype: 'bfloat16',
      kvCacheDtype: 'auto',
      attentionBackend: 'CPU_ATTN',
      sideChannels: [{ address, state: 'STATE_ANSWERED' }],
    });
    const evidence = prefill.evidence?.find(({ field }) => field === 'transfer.compatibility_hash');
    expect(evidence).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_RPC',
      origin: `NIXL side channel tcp://${address}`,
    });
    expect(prefill.conflicts ?? []).toEqual([]);
    const decode = await reportOf('decode-0', 'float16');
    expect(decode.transfer).toMatchObject({ connector: 'nixl', role: 'TRANSFER_ROLE_CONSUMER' });
    expect(decode.transfer?.compatibilityHash).toMatch(/^[0-9a-f]{64}$/);
    expect(decode.transfer?.compatibilityHash).not.toBe(prefill.transfer?.compatibilityHash);
  });

  it('of float16 beside bfloat16 are refused before any request, with the dtype named', async () => {
    const { msg } = await fleet.untilLogged('error', /can hand its KV blocks to/);
    expect(msg).toMatch(/dtype: bfloat16 \(prefill-0 .*against float16 \(decode-0 .*server_info/);
    expect((await probe(fleet.frontend, '/readyz')).status).toBe(503);
    const { status, text } = await fleet.ask({ prompt: fleet.newPrompt() });
    expect([status, text]).toEqual([503, expect.stringContaining('dtype')]);
    const wait = startKvAccord('wait', ['wait', '--workers', fleet.workers, '--timeout', '60s']);
    expect(await wait.ended).toBe(4);
    expect(wait.log).toMatch(/dtype: bfloat16/);
    for (const name of ['prefill-0', 'decode-0'])
      expect(fleet.engine(name).program.log).not.toContain('POST /v1/completions');
  });

  it('refuse each other themselves only with a request', async () => {
    const [prefill, decode] = [fleet.engine('prefill-0'), fleet.engine('decode-0')];
    const body = { model: MODEL, prompt: fleet.newPrompt(), max_tokens: 4 };
    const answers = await completeOverPair(prefill, decode, body);
    expect(answers.prefill).toMatchObject({
      status: 200,
      kv_transfer_params: { remote_port: prefill.sideChannelPort },
    });
    expect(answers.decode.status).toBe(500);
    expect(decode.program.log).toContain('NIXL compatibility hash mismatch');
  });

  it('get requests by themselves once the decode engine was restarted with bfloat16', async () => {
    await Promise.all([
      fleet.startEngine('decode-0', { developerMode: true }),
      fleet.startEngine('prefill-1', { sideChannelHost: channelHost }),
    ]);
    await fleet.untilOpen();
    const [prefill, decode] = [
      await reportOf('prefill-0', 'bfloat16'),
      await reportOf('decode-0', 'bfloat16'),
    ];
    expect(decode.transfer?.compatibilityHash).toBe(prefill.transfer?.compatibilityHash);
  });

  it("say whether a prefill engine's side channel can be reached from the decode side", async () => {
    const check = (address: string) =>
      grpcurl(
        fleet.sidecar('decode-0').grpcPort,
        `-d=${JSON.stringify({ address })}`,
        'kvaccord.v1.Capabilities/CheckSideChannel',
      );
    const { stdout } = await check(fleet.engine('prefill-0').sideChannel);
    expect(JSON.parse(stdout)).toEqual({ reachable: true });
    expect((await check('unix:/tmp/x')).stderr).toContain('address must be HOST:PORT');
  });

  it.each([
    ['/v1/completions', false],
    ['/v1/completions', true],
    ['/v1/chat/completions', false],
    ['/v1/chat/completions', true],
  ])(
    'answer %s as one engine does, move the KV blocks of its prompt, and have cached what was predicted (stream: %s)',
    async (path, stream) => {
      const decode = fleet.engine('decode-0');
      const prompt = fleet.newPrompt();
      const content = prompt.map((id) => `w${id - 16}`).join(' ');
      const isChat = path.includes('chat');
      const body = isChat ? { messages: [{ role: 'user', content }] } : { prompt };
      const before = await receivedTokens(decode);
      const streamed = { ...body, stream, stream_options: { include_usage: true } };
      const answer = await fleet.ask(stream ? streamed : body, path);
      expect([answer.status, answer.prefill, answer.decode]).toEqual([200, 'prefill-0', 'decode-0']);
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
      const longer = isChat ? body : { prompt: [...prompt, ...fleet.newPrompt()] };
      // A busy engine publishes its events late.
      await fleet.until('the next prediction to be true', async () => {
        const again = await fleet.ask(longer, path);
        expect(again.status).toBe(200);
        return again.predicted > 0 && again.usage?.prompt_tokens_details?.cached_tokens === again.predicted;
      });
    },
  );

  it('are counted with what was moved, and nothing computed again', async () => {
    await fleet.untilIdle();
    expect(await fleet.counted('kv_accord_pd_transferred_tokens_total')).toBeGreaterThanOrEqual(4 * PROMPT);
    expect(await fleet.counted('kv_accord_pd_recomputed_tokens_total')).toBe(0);
    expect(await fleet.counted('kv_accord_pd_failed_transfers_total')).toBe(0);
    for (const name of ['prefill-0', 'decode-0'])
      expect(fleet.engine(name).program.log).not.toContain('not enough values to unpack');
  });

  it.skipIf(blockingMissing() !== undefined)(
    'are set aside while the side channel is blocked, serve every request, and return by themselves',
    async () => {
      await fleet.serveWith('prefill-0', 'prefill-1', 'decode-0');
      await fleet.until('both pairs', async () => (await fleet.pairsShown()).includes('2 can pair'));
      await block(channelHost);
      isBlocked = true;
      const statuses = new Set<number>();
      await fleet.until('the pair to be set aside', async () => {
        const prompts = Array.from({ length: 6 }, () => fleet.newPrompt());
        for (const { status } of await Promise.all(prompts.map((prompt) => fleet.ask({ prompt }))))
          statuses.add(status);
        return (await fleet.pairsShown()).includes('1 set aside');
      });
      const { msg } = await fleet.untilLogged('warn', /prefill-1 .*decode-0 .*is set aside/);
      expect(msg).toMatch(/after 3 failed transfers in a row: .+\. Others go on\./);
      expect([...statuses]).toEqual([200]);
      await unblock(channelHost);
      isBlocked = false;
      await fleet.untilLogged('info', /prefill-1 .*decode-0 .*is tried again after a pause/);
      await fleet.untilUsed('prefill', ['prefill-1']);
      await fleet.until('the pair to be back', async () => (await fleet.pairsShown()).includes('2 can pair'));
      await fleet.untilIdle();
    },
  );

  it('share the requests between two prefill engines and one decode engine', async () => {
    await fleet.serveWith('prefill-0', 'prefill-1', 'decode-0');
    await fleet.untilUsed('prefill', ['prefill-0', 'prefill-1']);
  });

  it('finish what a prefill engine was killed over, and reserve nothing for it', async () => {
    const { program } = fleet.engine('prefill-1');
    // Its server takes requests, and its engine stays in the midst of them.
    process.kill(await coreOf(program), 'SIGSTOP');
    const asked = Array.from({ length: 6 }, () => fleet.ask({ prompt: fleet.newPrompt(LONG_PROMPT) }));
    let unanswered = asked.length;
    for (const each of asked) void each.then(() => (unanswered -= 1));
    await fleet.until('all but its own to be answered', async () => {
      const tokens = await fleet.counted('kv_accord_router_prefilling_tokens');
      return unanswered < asked.length && tokens > 0 && tokens === unanswered * LONG_PROMPT;
    });
    await program.kill();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    await fleet.untilIdle();
    await fleet.untilUsed('prefill', ['prefill-0']);
    expect(await fleet.counted('kv_accord_router_prefilling_tokens')).toBe(0);
  });

  it('share the requests between one prefill engine and two decode engines', async () => {
    await fleet.startEngine('decode-1');
    await fleet.serveWith('prefill-0', 'decode-0', 'decode-1');
    await fleet.untilUsed('decode', ['decode-0', 'decode-1']);
  });

  it('end the streams of a decode engine that is killed with an error, and no other ones', async () => {
    const { program } = fleet.engine('decode-1');
    const core = await coreOf(program);
    const opening = Array.from({ length: 6 }, () => fleet.openStream());
    await Promise.any(
      opening.map(async (each) => {
        expect((await each).decode).toBe('decode-1');
        // In the midst of its answer, however fast it is; streams that it has not begun are begun by the other one.
        process.kill(core, 'SIGSTOP');
      }),
    );
    await program.kill();
    const streams = await Promise.all(opening);
    const ended = new Set<string | null>();
    for (const { decode, whole } of streams) {
      const text = await whole;
      ended.add(decode);
      if (decode === 'decode-0') expect(text).toMatch(/data: \[DONE\]\s*$/);
      else expect(text).toMatch(/data: \{"error":\{[^\n]*"code":"worker_cut"[^\n]*\s*$/);
    }
    expect(ended).toEqual(new Set(['decode-0', 'decode-1']));
    await fleet.untilLogged('warn', /Worker decode-1 .*ended an answer before its end/);
    await fleet.untilIdle();
    await fleet.untilUsed('decode', ['decode-0']);
  });

  it('are refused with the reason once the last decode engine was killed in mid-stream', async () => {
    const { decode, whole } = await fleet.openStream();
    expect(decode).toBe('decode-0');
    await fleet.engine('decode-0').program.kill();
    expect(await whole).toMatch(/"code":"worker_cut"/);
    await fleet.untilIdle();
    await fleet.untilRefused(/decode: (0 of \d workers? can be used|no worker has reported)/i);
    expect((await probe(fleet.frontend, '/readyz')).status).toBe(503);
    await fleet.untilIdle();
  });
});
