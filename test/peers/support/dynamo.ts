import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { peerPath } from './peers.js';
import { freePort, freePortRange } from './ports.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** A real Dynamo mocker: a worker without a GPU, registered in a folder. */
export interface Mocker {
  readonly program: Program;
  /** Root of the file discovery, `DYN_FILE_KV`. */
  readonly fileKv: string;
  /** `http://127.0.0.1:PORT` of its system status server. */
  readonly url: string;
}

/** What all processes of one Dynamo deployment must share, with file discovery below a folder of its own. */
export function dynamoEnvironment(fileKv: string): Record<string, string> {
  return {
    DYN_DISCOVERY_BACKEND: 'file',
    DYN_FILE_KV: fileKv,
    DYN_EVENT_PLANE: 'zmq',
    DYN_REQUEST_PLANE: 'tcp',
    DYN_TCP_RPC_HOST: '127.0.0.1',
    DYN_EVENT_PLANE_HOST: '127.0.0.1',
    DYN_SYSTEM_HOST: '127.0.0.1',
    DYN_SDK_DISABLE_ANSI_LOGGING: '1',
    HF_HUB_OFFLINE: '1',
  };
}

/** Starts a mocker that registers blocks of `blockSize`, and waits for its model card. */
export async function startMocker(model: string, blockSize: number): Promise<Mocker> {
  const fileKv = join(scratchFolder(), `dynamo-${blockSize}`);
  mkdirSync(fileKv, { recursive: true });
  const systemPort = await freePort();
  const events = await freePortRange(2);
  const program = new Program({
    name: `mocker-${blockSize}`,
    command: [
      peerPath('dynamo', 'bin', 'python'),
      ...['-m', 'dynamo.mocker', '--model-path', model, '--model-name', basename(model)],
      ...['--block-size', String(blockSize), '--num-gpu-blocks-override', '8192'],
      ...['--zmq-kv-events-ports', String(events), '--zmq-replay-ports', String(events + 1)],
    ],
    env: { ...dynamoEnvironment(fileKv), DYN_SYSTEM_PORT: String(systemPort) },
  });
  try {
    await until('the model card', () => readdirSync(join(fileKv, 'v1', 'mdc')).length > 0, {
      needs: [program],
    });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, fileKv, url: `http://127.0.0.1:${systemPort}` };
}
