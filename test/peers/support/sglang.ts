import { basename } from 'node:path';
import { freePort, freePortRange } from '../../support/ports.js';
import { START_LIMIT_MS } from './limits.js';
import { peerPath } from './peers.js';
import { Program, type RunningProgram } from './program.js';
import { until } from './until.js';
import { answersOk } from './vllm.js';

/** What to start. */
export interface SglangOptions {
  /** A folder that `tinyModel` made; its name is the served name. */
  readonly model: string;
  readonly pageSize: number;
  /** Tokens in the cache, default 65,536. */
  readonly tokens?: number;
  /** Ports to use again, of an engine that was stopped. */
  readonly ports?: SglangPorts;
  /** Publishes KV events; default true. */
  readonly publishesEvents?: boolean;
  /** Further flags of the server. */
  readonly flags?: readonly string[];
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Where it listens. */
export interface SglangPorts {
  readonly http: number;
  readonly grpc: number;
  /** KV events; their replay is the next port. */
  readonly zmq: number;
}

/** A real SGLang that serves. */
export interface Sglang<P extends RunningProgram = Program> {
  readonly program: P;
  readonly ports: SglangPorts;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

const ENVIRONMENT = {
  SGLANG_USE_CPU_ENGINE: '1',
  HF_HUB_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
  OMP_NUM_THREADS: '1',
};

/** Starts SGLang with HTTP and its native gRPC, and waits until it serves. It runs until `program.stop()`. */
export async function startSglang(options: SglangOptions): Promise<Sglang> {
  const { model, pageSize, tokens = 65_536, publishesEvents = true, flags = [], env = {} } = options;
  const ports = options.ports ?? {
    http: await freePort(),
    grpc: await freePort(),
    zmq: await freePortRange(2),
  };
  const events = {
    publisher: 'zmq',
    endpoint: `tcp://*:${ports.zmq}`,
    replay_endpoint: `tcp://*:${ports.zmq + 1}`,
    topic: 'kv-events',
  };
  const program = new Program({
    name: `sglang-${basename(model)}-${pageSize}`,
    command: [
      peerPath('sglang', 'bin', 'python'),
      ...['-m', 'sglang.launch_server', '--model-path', model, '--served-model-name', basename(model)],
      ...['--host', '127.0.0.1', '--port', String(ports.http), '--grpc-port', String(ports.grpc)],
      ...['--device', 'cpu', '--attention-backend', 'torch_native', '--sampling-backend', 'pytorch'],
      ...['--grammar-backend', 'none', '--load-format', 'dummy', '--disable-overlap-schedule'],
      // Without this the cache takes most of the machine's memory.
      ...['--max-total-tokens', String(tokens), '--page-size', String(pageSize)],
      // Without this its scheduler keeps a core busy for as long as it runs.
      ...['--enable-metrics', '--enable-cache-report', '--sleep-on-idle'],
      ...(publishesEvents ? ['--kv-events-config', JSON.stringify(events)] : []),
      ...flags,
    ],
    env: { ...ENVIRONMENT, ...env },
  });
  const url = `http://127.0.0.1:${ports.http}`;
  try {
    await until(`${program.name} to serve`, () => answersOk(`${url}/health`), {
      timeoutMs: START_LIMIT_MS,
      needs: [program],
    });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, ports, url };
}
