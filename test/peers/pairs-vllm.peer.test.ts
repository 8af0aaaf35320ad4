import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { words } from './support/completions.js';
import {
  addressesOf,
  type LogLine,
  logLines,
  probe,
  type Served,
  type ServedFrontend,
  startFrontendWith,
  startKvAccord,
  startSidecar,
} from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { type PairEngine, receivedTokens, startPairEngine } from './support/vllm-pair.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Five engines at a time want more than two processors: it runs by hand alone. */
const IS_WANTED = process.env['KV_ACCORD_REAL_PAIRS'] === '1';
const MODEL = 'tiny';
const WIDTH = 32;
/** Tokens of a prompt that is worth a transfer. */
const PROMPT = 400;
/** A request that fails somewhere is over by then: longer than the 5 s that vLLM waits for a side channel, on a busy machine. */
const BOUND_MS = 120_000;

/** An answer, as far as it is looked at. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly prefill: string | null;
  readonly decode: string | null;
  readonly predicted: number;
  readonly usage:
    | {
        readonly prompt_tokens: number;
        readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
      }
    | undefined;
}

describe.skipIf(!IS_WANTED || lacks('vllm', 'nixl'))('real pairs of vLLM engines behind a frontend', () => {
  const engines = new Map<string, PairEngine>();
  const sidecars = new Map<string, Served>();
  const fleetFile = join(scratchFolder(), 'pairs.yaml');
  let frontend: ServedFrontend;
  let prompts = 0;

  beforeAll(async () => {
    const model = tinyModel(MODEL);
    const start = async (name: string, dtype: 'bfloat16' | 'float16'): Promise<void> => {
      const role = name.startsWith('prefill') ? 'prefill' : 'decode';
      engines.set(name, await startPairEngine({ model, role, dtype, developerMode: true }));
    };
    await Promise.all([
      ...['prefill-0', 'prefill-1', 'decode-0', 'decode-1'].map((name) => start(name, 'bfloat16')),
      start('decode-half', 'float16'),
    ]);
    await serveWith('prefill-0', 'decode-half');
    frontend = await startFrontendWith('frontend', [
      ...['--workers-file', fleetFile, '--decision-headers', '--tokenize-timeout', '30s'],
    ]);
  });
  afterAll(async () => {
    const all = [frontend, ...sidecars.values(), ...engines.values()];
    await Promise.all(all.map((served) => served?.program.stop()));
  });

  /** Makes a fleet of these engines, with a sidecar beside each. */
  async function serveWith(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const { url, sideChannel } = engineOf(name);
      if (!sidecars.has(name))
        sidecars.set(name, await startSidecar(name, '--engine', url, '--side-channel', sideChannel));
    }
    const list = names.map((name) => `- 127.0.0.1:${sidecars.get(name)?.grpcPort}\n`);
    writeFileSync(fleetFile, list.join(''));
  }

  const engineOf = (name: string): PairEngine => {
    const engine = engines.get(name);
    if (engine === undefined) throw new Error(`${name} was never started`);
    return engine;
  };

  /** Token ids that no engine has seen. */
  function newPrompt(count = PROMPT): readonly number[] {
    prompts += 1;
    return [...words(WIDTH, prompts * 37, prompts + 2), ...words(count - WIDTH, prompts)];
  }

  async function ask(body: object, path = '/v1/completions'): Promise<Answer> {
    const response = await fetch(`${frontend.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, max_tokens: 6, temperature: 0, ...body }),
      signal: AbortSignal.timeout(BOUND_MS),
    });
    const text = await response.text();
    const { headers } = response;
    return {
      status: response.status,
      text,
      prefill: headers.get('x-kv-accord-prefill-worker'),
      decode: headers.get('x-kv-accord-worker'),
      predicted: Number(headers.get('x-kv-accord-cached-blocks')) * WIDTH,
      usage: text.startsWith('{') ? (JSON.parse(text) as Pick<Answer, 'usage'>).usage : undefined,
    };
  }

  /** Begins a long stream, and comes back once its first bytes are here. */
  async function openStream(): Promise<{
    readonly decode: string | null;
    readonly rest: () => Promise<string>;
  }> {
    const body = { prompt: newPrompt(), stream: true, max_tokens: 900, ignore_eos: true, temperature: 0 };
    const response = await fetch(`${frontend.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
      signal: AbortSignal.timeout(BOUND_MS),
    });
    const decode = response.headers.get('x-kv-accord-worker');
    if (response.body === null) throw new Error(`status ${response.status} with no body`);
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await pieces.read()).value ?? '';
    const rest = async (): Promise<string> => {
      for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) text += piece.value;
      return text;
    };
    return { decode, rest };
  }

  /** The sum of a metric of the frontend over its labels. */
  async function counted(name: string): Promise<number> {
    const { body } = await probe(frontend, '/metrics');
    const values = [...body.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** Everything that was counted as active has been released. */
  async function untilIdle(): Promise<void> {
    for (const what of ['requests', 'blocks'])
      await until(
        `no ${what} to be active`,
        async () => (await counted(`kv_accord_router_active_${what}`)) === 0,
        { needs: [frontend.program], timeoutMs: 30_000 },
      );
  }

  const untilLogged = (level: string, message: RegExp): Promise<LogLine> =>
    until(
      `the log to say ${message}`,
      () => logLines(frontend.program).find((line) => line.level === level && message.test(line.msg)),
      { needs: [frontend.program], timeoutMs: 180_000 },
    );

  /** The pairs as an operator sees them. */
  async function pairsShown(): Promise<string> {
    const address = `127.0.0.1:${frontend.grpcPort}`;
    return (await run(process.execPath, [MAIN, 'status', '--pairs', address])).stdout;
  }

  it('refuses float16 beside bfloat16 before any request, and names the dtype', async () => {
    const { msg } = await untilLogged('error', /can hand its KV blocks to/);
    expect(msg).toMatch(/dtype: bfloat16 \(prefill-0 .*against float16 \(decode-half .*server_info/);
    expect((await probe(frontend, '/readyz')).status).toBe(503);
    expect((await ask({ prompt: newPrompt() })).status).toBe(503);
    const wait = startKvAccord('wait', [
      ...['wait', '--workers', addressesOf([...sidecars.values()]), '--timeout', '30s'],
    ]);
    expect(await wait.ended).toBe(4);
    expect(wait.log).toMatch(/dtype: bfloat16/);
    for (const name of ['prefill-0', 'decode-half'])
      expect(engineOf(name).program.log).not.toContain('POST /v1/completions');
  });

  it('opens the gate by itself once the decode engine is of bfloat16 too', async () => {
    await serveWith('prefill-0', 'decode-0');
    await until('the gate to open', async () => (await probe(frontend, '/readyz')).status === 200, {
      needs: [frontend.program],
      timeoutMs: 180_000,
    });
  });

  it.each([
    ['/v1/completions', false],
    ['/v1/completions', true],
    ['/v1/chat/completions', false],
    ['/v1/chat/completions', true],
  ])(
    'answers %s as one engine does, moves the KV blocks of its prompt, and predicts what is cached (stream: %s)',
    async (path, stream) => {
      const decode = engineOf('decode-0');
      const prompt = newPrompt();
      const content = prompt.map((id) => `w${id - 16}`).join(' ');
      const body = path.includes('chat') ? { messages: [{ role: 'user', content }] } : { prompt };
      const before = await receivedTokens(decode);
      const answer = await ask(
        stream ? { ...body, stream, stream_options: { include_usage: true } } : body,
        path,
      );
      expect([answer.status, answer.prefill, answer.decode]).toEqual([200, 'prefill-0', 'decode-0']);
      const received = (await receivedTokens(decode)) - before;
      const alone = await fetch(`${decode.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, max_tokens: 6, temperature: 0, ...body, cache_salt: 'alone' }),
      });
      const own = await alone.text();
      expect(textOf(answer.text, stream)).toBe(textOf(own, false));
      expect(received).toBe(JSON.parse(own).usage.prompt_tokens);
      const again = await ask(
        { ...body, ...(path.includes('chat') ? {} : { prompt: [...prompt, ...newPrompt()] }) },
        path,
      );
      expect(again.status).toBe(200);
      expect(again.usage?.prompt_tokens_details?.cached_tokens ?? 0).toBe(again.predicted);
      expect(again.predicted).toBeGreaterThan(0);
    },
  );

  it('counts what was moved, and that nothing was computed again', async () => {
    await untilIdle();
    expect(await counted('kv_accord_pd_transferred_tokens_total')).toBeGreaterThanOrEqual(4 * PROMPT);
    expect(await counted('kv_accord_pd_recomputed_tokens_total')).toBe(0);
    expect(await counted('kv_accord_pd_failed_transfers_total')).toBe(0);
  });

  it('divides between two prefill engines and one decode engine', async () => {
    await serveWith('prefill-0', 'prefill-1', 'decode-0');
    await untilUsed(({ prefill }) => prefill, ['prefill-0', 'prefill-1']);
  });

  it('sets the pair aside whose decode engine cannot speak with the side channel, and serves every request', async () => {
    await endListener(engineOf('prefill-1').sideChannel);
    await serveWith('prefill-0', 'prefill-1', 'decode-0', 'decode-1');
    const statuses = new Set<number>();
    await until(
      'the pair to be set aside',
      async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => ask({ prompt: newPrompt() })));
        for (const { status } of answers) statuses.add(status);
        return logLines(frontend.program).some(({ msg }) => /prefill-1 .*decode-1 .*is set aside/.test(msg));
      },
      { needs: [frontend.program], timeoutMs: 180_000 },
    );
    expect([...statuses]).toEqual([200]);
    expect(await pairsShown()).toMatch(/set aside/);
    await untilIdle();
  });

  it('finishes what a prefill engine was killed over, and reserves nothing for it', async () => {
    const asked = Array.from({ length: 6 }, () => ask({ prompt: newPrompt(1_900) }));
    await until(
      'prompts to be computed',
      async () => (await counted('kv_accord_router_prefilling_tokens')) > 0,
      { pollMs: 20 },
    );
    await engineOf('prefill-1').program.kill();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    await untilIdle();
    const next = await ask({ prompt: newPrompt() });
    expect([next.status, next.prefill]).toEqual([200, 'prefill-0']);
  });

  it('divides between one prefill engine and two decode engines, and ends the streams of one that is killed', async () => {
    await untilUsed(({ prefill, decode }) => (prefill === null ? null : decode), ['decode-0', 'decode-1']);
    const streams = await Promise.all(Array.from({ length: 6 }, () => openStream()));
    await engineOf('decode-1').program.kill();
    const ended = await Promise.all(
      streams.map(async ({ decode, rest }) => ({ decode, text: await rest() })),
    );
    expect(ended.some(({ decode }) => decode === 'decode-1')).toBe(true);
    for (const { decode, text } of ended)
      expect(text).toMatch(decode === 'decode-1' ? /"error"/ : /\[DONE\]/);
    await untilIdle();
    const next = await ask({ prompt: newPrompt() });
    expect([next.status, next.prefill, next.decode]).toEqual([200, 'prefill-0', 'decode-0']);
  });

  /** Asks, two at a time, until each of these workers had its part. */
  async function untilUsed(
    workerOf: (answer: Answer) => string | null,
    names: readonly string[],
  ): Promise<void> {
    const used = new Set<string | null>();
    await until(
      `${names.join(' and ')} to be used`,
      async () => {
        const answers = await Promise.all([1, 2].map(() => ask({ prompt: newPrompt() })));
        for (const answer of answers) {
          expect(answer.status).toBe(200);
          used.add(workerOf(answer));
        }
        return names.every((name) => used.has(name));
      },
      { needs: [frontend.program], timeoutMs: 180_000 },
    );
  }
});

/** The text of an answer, of a completion or a chat, whole or of its events. */
function textOf(answer: string, isStream: boolean): string {
  const pieces = isStream
    ? answer
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => line.slice(6))
    : [answer];
  return pieces
    .flatMap((piece) => (JSON.parse(piece) as { choices: readonly AnyChoice[] }).choices)
    .map((choice) => choice.text ?? choice.message?.content ?? choice.delta?.content ?? '')
    .join('');
}

/** Ends the thread behind a side channel as a message of another form does; the engine serves on. */
async function endListener(address: string): Promise<void> {
  const script = `import msgspec, zmq
socket = zmq.Context().socket(zmq.REQ)
socket.setsockopt(zmq.LINGER, 1000)
socket.setsockopt(zmq.RCVTIMEO, 2000)
socket.connect("tcp://${address}")
socket.send(msgspec.msgpack.encode((b"get_meta_msg", 0)))
try: socket.recv()
except zmq.Again: print("ended")`;
  const { stdout, stderr } = await run(peerPath('vllm', 'bin', 'python'), ['-c', script]);
  expect(`${stdout}${stderr}`).toContain('ended');
}

interface AnyChoice {
  readonly text?: string;
  readonly message?: { readonly content?: string | null };
  readonly delta?: { readonly content?: string | null };
}
