import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { words } from './completions.js';
import { type Envoy, startEnvoy } from './envoy.js';
import {
  addressesOf,
  type LogLine,
  logLines,
  probe,
  type Served,
  type ServedFrontend,
  startEppWith,
  startFrontendWith,
  startSidecar,
} from './kv-accord.js';
import { type StartedRoutingSidecar, startRoutingSidecar } from './routing-sidecars.js';
import { run } from './run.js';
import { scratchFolder } from './scratch.js';
import type { SglangPairEngine } from './sglang-pair.js';
import { tinyModel } from './tiny-model.js';
import { until } from './until.js';
import { type PairEngine, type PairEngineOptions, startPairEngine } from './vllm-pair.js';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
/** The name of the model, and tokens in a block of every engine. */
export const MODEL = 'tiny';
const WIDTH = 32;
/** Tokens of a prompt that is worth a transfer. */
export const PROMPT = 400;
/** A request that fails somewhere is over by then: longer than the 5 s that vLLM waits for a side channel, on a busy machine. */
const BOUND_MS = 90_000;

/** An answer, as far as it is looked at. */
export interface PairAnswer {
  readonly status: number;
  readonly text: string;
  readonly prefill: string | null;
  readonly decode: string | null;
  /** Prompt tokens that the router expected to be cached. */
  readonly predicted: number;
  readonly usage:
    | {
        readonly prompt_tokens: number;
        readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
      }
    | undefined;
}

/** A stream whose first event has come. */
export interface PairStream {
  readonly prefill: string | null;
  readonly decode: string | null;
  /** All of its text, once it has ended in any way. */
  readonly whole: Promise<string>;
  /** The client goes, whatever has come. */
  leave(): Promise<void>;
}

/** Real engines of a tiny model, named by their role and a number, a sidecar beside each, and one frontend, or an Endpoint Picker with an Envoy. */
export class PairFleet {
  readonly #engines = new Map<string, PairEngine>();
  readonly #others = new Map<string, SglangPairEngine>();
  /** Engines that do not say which half of a request they compute: only their development endpoints do. */
  readonly #silent = new Set<string>();
  readonly #sidecars = new Map<string, Served>();
  readonly #file = join(scratchFolder(), 'pairs.yaml');
  #frontend: ServedFrontend | undefined;
  readonly #routing: StartedRoutingSidecar[] = [];
  #envoy: Envoy | undefined;
  #prompts = 0;

  /** The frontend, or the Endpoint Picker with the URL of its Envoy. */
  get frontend(): ServedFrontend {
    if (this.#frontend === undefined) throw new Error('neither a frontend nor a picker was started');
    return this.#frontend;
  }

  /** The addresses of all sidecars. */
  get workers(): string {
    return addressesOf([...this.#sidecars.values()]);
  }

  engine(name: string): PairEngine {
    const engine = this.#engines.get(name);
    if (engine === undefined) throw new Error(`${name} was never started`);
    return engine;
  }

  sidecar(name: string): Served {
    const sidecar = this.#sidecars.get(name);
    if (sidecar === undefined) throw new Error(`${name} has no sidecar`);
    return sidecar;
  }

  /** Starts the engine of this name; one that runs is ended first, and the new one takes its ports. */
  async startEngine(
    name: string,
    options: Omit<PairEngineOptions, 'model' | 'role' | 'ports' | 'sideChannelPort'> = {},
  ): Promise<void> {
    const before = this.#engines.get(name);
    await before?.program.stop();
    const again =
      before === undefined ? {} : { ports: before.ports, sideChannelPort: before.sideChannelPort };
    const role = name.startsWith('prefill') ? 'prefill' : 'decode';
    const model = tinyModel(MODEL);
    if (options.developerMode !== true) this.#silent.add(name);
    this.#engines.set(name, await startPairEngine({ ...options, ...again, model, role }));
  }

  /** An SGLang that was started elsewhere; it ends with the fleet. */
  adopt(name: string, engine: SglangPairEngine): void {
    this.#others.set(name, engine);
  }

  /** Makes a fleet of these engines; each gets a sidecar if it has none. */
  async serveWith(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (this.#sidecars.has(name)) continue;
      this.#sidecars.set(name, await startSidecar(name, ...this.#flagsOf(name)));
    }
    writeFileSync(this.#file, names.map((name) => `- 127.0.0.1:${this.sidecar(name).grpcPort}\n`).join(''));
  }

  #flagsOf(name: string): readonly string[] {
    const other = this.#others.get(name);
    if (other !== undefined) return ['--engine', other.url];
    const { url, sideChannel, role } = this.engine(name);
    const roleFlags = this.#silent.has(name) ? ['--role', role] : [];
    return ['--engine', url, '--side-channel', sideChannel, ...roleFlags];
  }

  async startFrontend(): Promise<void> {
    this.#frontend = await startFrontendWith('frontend', [
      ...['--workers-file', this.#file, '--decision-headers', '--tokenize-timeout', '30s'],
    ]);
  }

  /** An Endpoint Picker in place of the frontend, an Envoy that asks it, and a routing sidecar before each of these decode engines. */
  async startPicker(...decodeNames: readonly string[]): Promise<void> {
    const given: string[] = [];
    for (const name of decodeNames) {
      const routing = await startRoutingSidecar(this.engine(name).url);
      this.#routing.push(routing);
      given.push(`127.0.0.1:${this.sidecar(name).grpcPort}=${routing.url}`);
    }
    const picker = await startEppWith('epp', [
      ...['--workers-file', this.#file, '--worker-urls', given.join(','), '--tokenize-timeout', '30s'],
    ]);
    this.#frontend = { ...picker, url: '' };
    const engines = this.#routing.map(({ url }) => new URL(url).host);
    this.#envoy = await startEnvoy('envoy', { pickerPort: picker.pickerPort, engines });
    this.#frontend = { ...picker, url: this.#envoy.url };
  }

  async stop(): Promise<void> {
    const engines = [...this.#engines.values(), ...this.#others.values()];
    const all = [this.#envoy, this.#frontend, ...this.#sidecars.values(), ...engines];
    await Promise.all([
      ...all.map((served) => served?.program.stop()),
      ...this.#routing.map((routing) => routing.stop()),
    ]);
  }

  /** Token ids that no engine has seen. */
  newPrompt(count: number = PROMPT): readonly number[] {
    this.#prompts += 1;
    return [...words(WIDTH, this.#prompts * 37, this.#prompts + 2), ...words(count - WIDTH, this.#prompts)];
  }

  async ask(body: object, path = '/v1/completions'): Promise<PairAnswer> {
    const response = await this.#send({ max_tokens: 6, temperature: 0, ...body }, path);
    const text = await response.text();
    const { headers } = response;
    return {
      status: response.status,
      text,
      prefill: headers.get('x-kv-accord-prefill-worker'),
      decode: headers.get('x-kv-accord-worker'),
      predicted: Number(headers.get('x-kv-accord-cached-blocks')) * WIDTH,
      usage: text.startsWith('{') ? (JSON.parse(text) as Pick<PairAnswer, 'usage'>).usage : undefined,
    };
  }

  /** Begins a long stream, and comes back once its first bytes are here. */
  async openStream(): Promise<PairStream> {
    const body = { prompt: this.newPrompt(), stream: true, max_tokens: 1_400, ignore_eos: true };
    const { status, headers, body: bytes } = await this.#send(body, '/v1/completions');
    if (status !== 200 || bytes === null) throw new Error(`a stream began with status ${status}`);
    const pieces = bytes.pipeThrough(new TextDecoderStream()).getReader();
    const first = await pieces.read();
    const readRest = async (): Promise<string> => {
      let text = first.value ?? '';
      for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) text += piece.value;
      return text;
    };
    const whole = readRest();
    // A test that has failed by then does not look at it.
    whole.catch(() => undefined);
    return {
      prefill: headers.get('x-kv-accord-prefill-worker'),
      decode: headers.get('x-kv-accord-worker'),
      whole,
      leave: () => pieces.cancel(),
    };
  }

  #send(body: object, path: string): Promise<Response> {
    return fetch(`${this.frontend.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
      signal: AbortSignal.timeout(BOUND_MS),
    });
  }

  /** The sum of a metric of the frontend over its labels. */
  async counted(name: string): Promise<number> {
    const { body } = await probe(this.frontend, '/metrics');
    const values = [...body.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** Everything that was counted as active has been released. */
  async untilIdle(): Promise<void> {
    for (const what of ['requests', 'blocks'])
      await this.until(`no ${what} to be active`, async () => {
        return (await this.counted(`kv_accord_router_active_${what}`)) === 0;
      });
  }

  /** Waits for a condition for as long as the frontend runs, three minutes at most. */
  until<T>(
    what: string,
    ask: () => T | undefined | false | Promise<T | undefined | false>,
    pollMs?: number,
  ): Promise<T> {
    return until(what, ask, {
      needs: [this.frontend.program],
      timeoutMs: 180_000,
      ...(pollMs === undefined ? {} : { pollMs }),
    });
  }

  untilLogged(level: string, message: RegExp): Promise<LogLine> {
    return this.until(`the log to say ${message}`, () =>
      logLines(this.frontend.program).find((line) => line.level === level && message.test(line.msg)),
    );
  }

  async untilOpen(): Promise<void> {
    await this.until('the gate to open', async () => (await probe(this.frontend, '/readyz')).status === 200);
  }

  /** Asks, two at a time, until each of these workers had its part of requests that two workers shared. */
  async untilUsed(role: 'prefill' | 'decode', names: readonly string[]): Promise<void> {
    const used = new Set<string | null>();
    await this.until(`${names.join(' and ')} to be used`, async () => {
      const answers = await Promise.all([1, 2].map(() => this.ask({ prompt: this.newPrompt() })));
      for (const answer of answers) {
        expect(answer.status).toBe(200);
        if (answer.prefill !== null) used.add(answer[role]);
      }
      return names.every((name) => used.has(name));
    });
  }

  /** Asks until requests are refused with this reason; before, they may be with another one, and none is answered. */
  async untilRefused(reason: RegExp): Promise<void> {
    let last = '';
    const ask = async (): Promise<boolean> => {
      const { status, text } = await this.ask({ prompt: this.newPrompt() });
      last = `${status} ${text}`;
      return status === 503 && reason.test(text);
    };
    try {
      await until(`requests to be refused with ${reason}`, ask, { needs: [this.frontend.program] });
    } catch (error) {
      throw new Error(`the last answer was ${last}`, { cause: error });
    }
  }

  /** The pairs as an operator sees them. */
  async pairsShown(): Promise<string> {
    const address = `127.0.0.1:${this.frontend.grpcPort}`;
    return (await run(process.execPath, [MAIN, 'status', '--pairs', address])).stdout;
  }
}

/** The text of an answer, of a completion or a chat, whole or of its events. */
export function textOf(answer: string, isStream: boolean): string {
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

interface AnyChoice {
  readonly text?: string;
  readonly message?: { readonly content?: string | null };
  readonly delta?: { readonly content?: string | null };
}
