import { nixlEnvironment } from './nixl.js';
import { freePort } from './ports.js';
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
}): Promise<SglangPairEngine> {
  const { role } = options;
  const bootstrapPort = await freePort();
  const engine = await startSglang({
    ...options,
    // A decode engine has no prefix cache.
    publishesEvents: role === 'prefill',
    flags: [
      ...['--disaggregation-mode', role, '--disaggregation-transfer-backend', 'nixl'],
      ...['--disaggregation-bootstrap-port', String(bootstrapPort)],
      // Its default wants CUDA.
      ...(role === 'decode' ? ['--disaggregation-decode-retraction-backup', 'cpu_tensor'] : []),
    ],
    env: nixlEnvironment(),
  });
  return { ...engine, role, bootstrap: `127.0.0.1:${bootstrapPort}`, bootstrapPort };
}
