import { freePort } from '../../support/ports.js';
import { nixlEnvironment } from './nixl.js';
import { startVllm, type Vllm, type VllmOptions } from './vllm.js';

/** Which half of a request an engine computes. */
export type PairRole = 'prefill' | 'decode';

/** What to start; `flags` come after those of the pair, and the last of equal flags counts. */
export interface PairEngineOptions extends Omit<VllmOptions, 'blockSize'> {
  readonly role: PairRole;
  /** Tokens; default 32, the smallest on a CPU. */
  readonly blockSize?: number;
  /** Of the model; default `bfloat16`. */
  readonly dtype?: 'bfloat16' | 'float16' | 'float32';
  /** NIXL's side channel, of an engine that was stopped. */
  readonly sideChannelPort?: number;
  /** Where NIXL's side channel listens; default `127.0.0.1`. */
  readonly sideChannelHost?: string;
  /** Instead of the role's `kv_role`. */
  readonly kvRole?: 'kv_producer' | 'kv_consumer' | 'kv_both';
}

/** A real vLLM that exchanges KV blocks over NIXL, through the machine's memory. */
export interface PairEngine extends Vllm {
  readonly role: PairRole;
  /** HOST:PORT of NIXL's side channel; each engine opens its own, decode engines as well. */
  readonly sideChannel: string;
  readonly sideChannelPort: number;
}

/** Starts one engine of a pair and waits until it serves. */
export async function startPairEngine(options: PairEngineOptions): Promise<PairEngine> {
  const { role, blockSize = 32, dtype = 'bfloat16', flags = [], env = {} } = options;
  const { sideChannelHost = '127.0.0.1' } = options;
  const sideChannelPort = options.sideChannelPort ?? (await freePort());
  const kvRole = options.kvRole ?? (role === 'prefill' ? 'kv_producer' : 'kv_consumer');
  const transfer = { kv_connector: 'NixlConnector', kv_role: kvRole, kv_buffer_device: 'cpu' };
  const engine = await startVllm({
    ...options,
    blockSize,
    flags: ['--dtype', dtype, '--kv-transfer-config', JSON.stringify(transfer), ...flags],
    env: {
      ...nixlEnvironment(),
      VLLM_NIXL_SIDE_CHANNEL_HOST: sideChannelHost,
      VLLM_NIXL_SIDE_CHANNEL_PORT: String(sideChannelPort),
      ...env,
    },
  });
  return { ...engine, role, sideChannel: `${sideChannelHost}:${sideChannelPort}`, sideChannelPort };
}

/** An answer of `/v1/completions`, as far as a pair is concerned. */
export interface PairCompletion {
  readonly status: number;
  readonly choices?: readonly { readonly text: string }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly kv_transfer_params?: Readonly<Record<string, unknown>> | null;
}

/** One `POST /v1/completions` at temperature 0. */
async function complete(url: string, body: object): Promise<PairCompletion> {
  const answer = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ temperature: 0, ...body }),
    signal: AbortSignal.timeout(120_000),
  });
  return { ...((await answer.json()) as Omit<PairCompletion, 'status'>), status: answer.status };
}

/**
 * One request through a pair, in the two steps of vLLM's NIXL form: what the prefill engine answers goes to the decode
 * engine with the same prompt.
 */
export async function completeOverPair(
  prefill: PairEngine,
  decode: PairEngine,
  body: { readonly model: string; readonly prompt: readonly number[]; readonly max_tokens: number },
): Promise<{ readonly prefill: PairCompletion; readonly decode: PairCompletion }> {
  const first = await complete(prefill.url, {
    ...body,
    max_tokens: 1,
    kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
  });
  const second = await complete(decode.url, { ...body, kv_transfer_params: first.kv_transfer_params });
  return { prefill: first, decode: second };
}

/** Prompt tokens whose KV blocks a decode engine has received so far, as it counts them. */
export async function receivedTokens(engine: PairEngine): Promise<number> {
  const page = await (await fetch(`${engine.url}/metrics`, { signal: AbortSignal.timeout(10_000) })).text();
  const line = page
    .split('\n')
    .find((each) => /^vllm:prompt_tokens_by_source_total\{.*source="external_kv_transfer"/.test(each));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}
