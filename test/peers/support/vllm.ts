import { basename } from 'node:path';
import { freePort, freePortRange, isListening } from '../../support/ports.js';
import { START_LIMIT_MS } from './limits.js';
import { peerPath } from './peers.js';
import { Program, type RunningProgram } from './program.js';
import { until } from './until.js';

/** How vLLM is reached. `python` is HTTP, `rust` adds vllm.Control, `grpc` is gRPC with no HTTP at all. */
export type VllmFrontend = 'python' | 'rust' | 'grpc';

/** What to start. */
export interface VllmOptions {
  /** A folder that `tinyModel` made; its name is the served name. */
  readonly model: string;
  /** On a CPU a multiple of 32. */
  readonly blockSize: number;
  readonly frontend?: VllmFrontend;
  /** Blocks in the cache; by default as many as fit into 256 MiB. */
  readonly blocks?: number;
  /** Folders of LoRA adapters that it serves, by name. */
  readonly adapters?: Readonly<Record<string, string>>;
  /** Publishes KV events; default true. */
  readonly publishesEvents?: boolean;
  /** Serves `/reset_prefix_cache` and `/server_info` as well. */
  readonly developerMode?: boolean;
  /** Ports to use again, of an engine that was stopped. */
  readonly ports?: VllmPorts;
  /** Further flags of `vllm serve`. */
  readonly flags?: readonly string[];
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Where it listens. */
export interface VllmPorts {
  /** HTTP; with the frontend `grpc` nothing listens there. */
  readonly http: number;
  /** The engine's own gRPC; with the frontend `python` nothing listens there. */
  readonly grpc: number;
  /** KV events; their replay is the next port. */
  readonly zmq: number;
}

/** A real vLLM that serves. */
export interface Vllm<P extends RunningProgram = Program> {
  readonly program: P;
  readonly ports: VllmPorts;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

const ENVIRONMENT = {
  HF_HUB_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
  // Left alone, every instance pins its worker to the same first core.
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  OMP_NUM_THREADS: '1',
};

/** Starts vLLM and waits until it serves. It runs until `program.stop()`. */
export async function startVllm(options: VllmOptions): Promise<Vllm> {
  const {
    model,
    blockSize,
    frontend = 'python',
    blocks,
    adapters,
    developerMode = false,
    publishesEvents = true,
    flags = [],
  } = options;
  const ports = options.ports ?? {
    http: await freePort(),
    grpc: await freePort(),
    zmq: await freePortRange(2),
  };
  const events = {
    enable_kv_cache_events: true,
    publisher: 'zmq',
    endpoint: `tcp://*:${ports.zmq}`,
    replay_endpoint: `tcp://*:${ports.zmq + 1}`,
    topic: 'kv-events',
  };
  const program = new Program({
    name: `vllm-${frontend}-${basename(model)}-${blockSize}`,
    command: [
      peerPath('vllm', 'bin', 'vllm'),
      'serve',
      model,
      ...['--served-model-name', basename(model)],
      ...['--host', '127.0.0.1', '--port', String(frontend === 'grpc' ? ports.grpc : ports.http)],
      ...(frontend === 'grpc' ? ['--grpc'] : []),
      ...(frontend === 'rust' ? ['--grpc-port', String(ports.grpc)] : []),
      ...['--load-format', 'dummy', '--enforce-eager', '--max-model-len', '2048', '--dtype', 'bfloat16'],
      ...['--enable-prefix-caching', '--enable-prompt-tokens-details'],
      ...['--kv-cache-memory-bytes', String(256 * 1024 * 1024)],
      ...(blocks === undefined ? [] : ['--num-gpu-blocks-override', String(blocks)]),
      ...(adapters === undefined
        ? []
        : ['--enable-lora', '--lora-modules', ...Object.entries(adapters).map((pair) => pair.join('='))]),
      ...['--block-size', String(blockSize)],
      ...(publishesEvents ? ['--kv-events-config', JSON.stringify(events)] : []),
      ...flags,
    ],
    env: {
      ...ENVIRONMENT,
      ...(frontend === 'rust'
        ? { VLLM_USE_RUST_FRONTEND: '1', VLLM_RUST_FRONTEND_PATH: peerPath('vllm', 'bin', 'vllm-rs') }
        : {}),
      ...(developerMode ? { VLLM_SERVER_DEV_MODE: '1' } : {}),
      ...options.env,
    },
  });
  const url = `http://127.0.0.1:${ports.http}`;
  const serves = (): Promise<boolean> =>
    frontend === 'grpc' ? isListening(ports.grpc) : answersOk(`${url}/health`);
  try {
    await until(`${program.name} to serve`, serves, { timeoutMs: START_LIMIT_MS, needs: [program] });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, ports, url };
}

/** Whether a URL answers 200 within 5 s. */
export async function answersOk(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  await answer.arrayBuffer();
  return answer.ok;
}
