import { freePort } from '../../support/ports.js';
import { nixlEnvironment } from './nixl.js';
import { type Sglang, startSglang } from './sglang.js';
import type { PairRole } from './vllm-pair.js';

/** A real SGLang that computes one half of each request; the prefill engine writes the KV blocks to the other one. */
export interface SglangPairEngine extends Sglang {
  readonly role: PairRole;
  /** HOST:PORT of the bootstrap server, where engines of a pair meet; the prefill engine's alone is used. */
  readonly bootstrap: string;
  readonly bootstrapPort: number;
}

/** Starts one engine of a pair over NIXL, through the machine's memory, and waits until it serves. */
export async function startSglangPairEngine(options: {
  readonly model: string;
  readonly role: PairRole;
  readonly pageSize: number;
  readonly dtype: 'bfloat16' | 'float16';
}): Promise<SglangPairEngine> {
  const { role, dtype } = options;
  const bootstrapPort = await freePort();
  const engine = await startSglang({
    ...options,
    // A decode engine has no prefix cache.
    publishesEvents: role === 'prefill',
    flags: [
      ...['--dtype', dtype, '--disaggregation-mode', role, '--disaggregation-transfer-backend', 'nixl'],
      ...['--disaggregation-bootstrap-port', String(bootstrapPort)],
      // Its default wants CUDA.
      ...(role === 'decode' ? ['--disaggregation-decode-retraction-backup', 'cpu_tensor'] : []),
    ],
    env: nixlEnvironment(),
  });
  return { ...engine, role, bootstrap: `127.0.0.1:${bootstrapPort}`, bootstrapPort };
}

let rooms = 0;

/** One completion through a pair as a router asks for it: both at the same time, with the place where they meet. */
export async function completeAtBoth(
  prefill: SglangPairEngine,
  decode: SglangPairEngine,
  body: object,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  rooms += 1;
  const meeting = {
    bootstrap_host: '127.0.0.1',
    bootstrap_port: prefill.bootstrapPort,
    bootstrap_room: rooms,
  };
  const [, answer] = await Promise.all(
    [prefill, decode].map(async ({ url }) => {
      const response = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, ...meeting }),
        signal,
      });
      return { status: response.status, text: await response.text() };
    }),
  );
  return answer as { status: number; text: string };
}
