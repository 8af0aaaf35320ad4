import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  /** The ports of each rank's KV events, and of their replay. */
  readonly ranks: readonly { readonly zmq: number; readonly replay: number }[];
}

/** What a mocker plays. */
interface MockerOptions {
  /** Blocks in the cache of each rank, default 8,192. */
  readonly blocks?: number;
  /** Data-parallel ranks, default 1. */
  readonly ranks?: number;
}

/** A worker whose engine cuts other blocks than it registers: see `dynamo-worker.py`. */
export interface DynamoWorker {
  readonly program: Program;
  /** `http://127.0.0.1:PORT` of its system status server. */
  readonly url: string;
  /** Where its engine publishes its KV events. */
  readonly kvEvents: string;
}

/** A real Dynamo frontend that routes by KV events. */
export interface DynamoFrontend {
  readonly program: Program;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

const WORKER = fileURLToPath(new URL('dynamo-worker.py', import.meta.url));

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
export async function startMocker(
  model: string,
  blockSize: number,
  options: MockerOptions = {},
): Promise<Mocker> {
  const { blocks = 8_192, ranks = 1 } = options;
  const fileKv = join(scratchFolder(), `dynamo-${blockSize}-${ranks}`);
  mkdirSync(fileKv, { recursive: true });
  const systemPort = await freePort();
  const events = await freePortRange(2 * ranks);
  const program = new Program({
    name: `mocker-${blockSize}`,
    command: [
      peerPath('dynamo', 'bin', 'python'),
      ...['-m', 'dynamo.mocker', '--model-path', model, '--model-name', basename(model)],
      ...['--block-size', String(blockSize), '--num-gpu-blocks-override', String(blocks)],
      ...['--data-parallel-size', String(ranks)],
      ...['--zmq-kv-events-ports', String(events), '--zmq-replay-ports', String(events + ranks)],
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
  return {
    program,
    fileKv,
    url: `http://127.0.0.1:${systemPort}`,
    ranks: Array.from({ length: ranks }, (_, rank) => ({
      zmq: events + rank,
      replay: events + ranks + rank,
    })),
  };
}

/** Starts a worker that registers one block size and whose engine cuts another, and waits for its model card. */
export async function startDynamoWorker(
  name: string,
  options: {
    readonly model: string;
    readonly registered: number;
    readonly engine: number;
    readonly fileKv: string;
  },
): Promise<DynamoWorker> {
  const { model, registered, engine, fileKv } = options;
  const systemPort = await freePort();
  const eventsPort = await freePort();
  const program = new Program({
    name,
    command: [
      ...[peerPath('dynamo', 'bin', 'python'), WORKER, '--model-path', model],
      ...['--model-name', basename(model), '--registered', String(registered), '--engine', String(engine)],
      ...['--kv-events-port', String(eventsPort)],
    ],
    env: { ...dynamoEnvironment(fileKv), DYN_SYSTEM_PORT: String(systemPort) },
  });
  const before = cardsIn(fileKv);
  try {
    await until(`the model card of ${name}`, () => cardsIn(fileKv) > before, { needs: [program] });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, url: `http://127.0.0.1:${systemPort}`, kvEvents: `tcp://127.0.0.1:${eventsPort}` };
}

/** Starts Dynamo's frontend with its KV router, and waits until it lists the model. */
export async function startDynamoFrontend(fileKv: string): Promise<DynamoFrontend> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = new Program({
    name: 'dynamo-frontend',
    command: [
      ...[peerPath('dynamo', 'bin', 'python'), '-m', 'dynamo.frontend', '--router-mode', 'kv'],
      ...['--http-host', '127.0.0.1', '--http-port', String(port)],
    ],
    env: dynamoEnvironment(fileKv),
  });
  const listsModel = async (): Promise<boolean> => {
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] };
    return data.length > 0;
  };
  try {
    await until('the model in the frontend', listsModel, { needs: [program] });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, url };
}

function cardsIn(fileKv: string): number {
  const folder = join(fileKv, 'v1', 'mdc');
  return existsSync(folder) ? readdirSync(folder).length : 0;
}
