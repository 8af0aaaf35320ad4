import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, freePortRange } from '../../support/ports.js';
import { logLines, startKvAccord } from './kv-accord.js';
import { peerPath } from './peers.js';
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
  /** Root of a file discovery that several workers share; default one of its own. */
  readonly fileKv?: string;
}

/** A worker whose engine may use another block size than it registers: see `dynamo-worker.py`. */
export interface DynamoWorkerOptions {
  readonly model: string;
  /** Tokens per block in its card and its publisher. */
  readonly registered: number;
  /** The block size of its engine. */
  readonly engine: number;
  readonly fileKv: string;
  /** Between two tokens of an answer, default 0. */
  readonly tokenMs?: number;
}

/** Such a worker, as it runs. */
export interface DynamoWorker {
  readonly program: Program;
  readonly ports: DynamoWorkerPorts;
  /** `http://127.0.0.1:PORT` of its system status server. */
  readonly url: string;
  /** Where its engine publishes its KV events. */
  readonly kvEvents: string;
}

/** The ports of a worker, which it keeps when it is restarted. */
interface DynamoWorkerPorts {
  readonly system: number;
  readonly kvEvents: number;
}

/** A real Dynamo frontend that routes by KV events. */
export interface DynamoFrontend {
  readonly program: Program;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

const WORKER = fileURLToPath(new URL('dynamo-worker.py', import.meta.url));

const OVERLAP = fileURLToPath(new URL('dynamo-overlap.py', import.meta.url));
/** A router that does not come up is not waited for any longer. */
const OVERLAP_MS = 30_000;

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
  const fileKv = options.fileKv ?? dynamoFolder(`dynamo-${blockSize}-${ranks}`);
  const before = cardsIn(fileKv);
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
    await until('the model card', () => cardsIn(fileKv) > before, { needs: [program] });
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

/**
 * Starts a worker with a registration of its own, on the ports of an earlier one if there was one, and waits for its
 * model card.
 */
export async function startDynamoWorker(
  name: string,
  options: DynamoWorkerOptions,
  ports?: DynamoWorkerPorts,
): Promise<DynamoWorker> {
  const { model, registered, engine, fileKv, tokenMs = 0 } = options;
  const { system, kvEvents } = ports ?? { system: await freePort(), kvEvents: await freePort() };
  const before = cardsIn(fileKv);
  const program = new Program({
    name,
    command: [
      ...[peerPath('dynamo', 'bin', 'python'), WORKER, '--model-path', model],
      ...['--model-name', basename(model), '--registered', String(registered), '--engine', String(engine)],
      ...['--kv-events-port', String(kvEvents), '--token-ms', String(tokenMs)],
    ],
    env: { ...dynamoEnvironment(fileKv), DYN_SYSTEM_PORT: String(system) },
  });
  try {
    await until(`the model card of ${name}`, () => cardsIn(fileKv) > before, { needs: [program] });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return {
    program,
    ports: { system, kvEvents },
    url: `http://127.0.0.1:${system}`,
    kvEvents: `tcp://127.0.0.1:${kvEvents}`,
  };
}

/** Stops a worker, and starts it with another registration on the same ports. */
export async function restartDynamoWorker(
  { program, ports }: DynamoWorker,
  options: DynamoWorkerOptions,
): Promise<DynamoWorker> {
  const before = cardsIn(options.fileKv);
  await program.stop();
  await until(`the model card of ${program.name} to go`, () => cardsIn(options.fileKv) < before);
  return startDynamoWorker(program.name, options, ports);
}

/** The command of one of Dynamo's programs. */
export function dynamoCommand(module: string, ...args: readonly string[]): readonly string[] {
  return [peerPath('dynamo', 'bin', 'python'), '-m', `dynamo.${module}`, ...args];
}

/** The command of its frontend with its KV router. */
function dynamoFrontendCommand(port: number): readonly string[] {
  return dynamoCommand(
    'frontend',
    ...['--router-mode', 'kv', '--http-host', '127.0.0.1', '--http-port', String(port)],
  );
}

/** Starts Dynamo's frontend with its KV router, and waits until it lists the model. */
export async function startDynamoFrontend(fileKv: string): Promise<DynamoFrontend> {
  const frontend = await beginDynamoFrontend(fileKv);
  try {
    await untilModelListed(frontend);
  } catch (error) {
    await frontend.program.stop();
    throw error;
  }
  return frontend;
}

/** Starts it whether there are workers or not, and waits until it answers. */
export async function beginDynamoFrontend(fileKv: string): Promise<DynamoFrontend> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = new Program({
    name: 'dynamo-frontend',
    command: dynamoFrontendCommand(port),
    env: dynamoEnvironment(fileKv),
  });
  await until('the frontend', async () => (await fetch(`${url}/v1/models`)).ok, { needs: [program] });
  return { program, url };
}

/** Lets `kv-accord exec` start Dynamo's frontend once it sees fit. */
export async function execDynamoFrontend(
  name: string,
  fileKv: string,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<DynamoFrontend> {
  const port = await freePort();
  const program = startKvAccord(name, ['exec', ...flags, '--', ...dynamoFrontendCommand(port)], {
    ...dynamoEnvironment(fileKv),
    ...env,
  });
  return { program, url: `http://127.0.0.1:${port}` };
}

/** Waits until a frontend of Dynamo lists a model. */
export function untilModelListed({ program, url }: DynamoFrontend): Promise<boolean> {
  const listsModel = async (): Promise<boolean> => {
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: unknown[] };
    return data.length > 0;
  };
  return until('the model in the frontend', listsModel, { needs: [program] });
}

/** How many workers a frontend lists, those among them that it rejected. */
export async function instancesOf({ url }: DynamoFrontend): Promise<number> {
  const text = await (await fetch(`${url}/health`)).text();
  return text.match(/"endpoint":"generate"/g)?.length ?? 0;
}

/** The block sizes that `kv-accord exec` has started its program with, in order. */
export function startsOf({ program }: DynamoFrontend): readonly unknown[] {
  return logLines(program).flatMap(({ msg, tokens_per_block: size }) =>
    msg.startsWith('Starting ') ? [size] : [],
  );
}

/** What Dynamo's standalone router says of a prompt: see `dynamo-overlap.py`. */
interface OverlapScores {
  /** The block size that it uses. */
  readonly blockSize: number;
  /** Cached blocks on each worker's device. */
  readonly deviceBlocks: readonly number[];
}

/** Asks Dynamo's standalone router who holds how much of a prompt; waits until there is one. */
export async function overlapScores(fileKv: string, tokens: readonly number[]): Promise<OverlapScores> {
  const program = new Program({
    name: 'overlap',
    command: [peerPath('dynamo', 'bin', 'python'), OVERLAP, tokens.join(',')],
    env: dynamoEnvironment(fileKv),
  });
  const timer = setTimeout(() => void program.stop(), OVERLAP_MS);
  await program.ended;
  clearTimeout(timer);
  const answer = /^answer: (.*)$/m.exec(program.log)?.[1];
  if (answer === undefined) throw new Error(`no answer\n${program.logTail}`);
  const { block_size: blockSize, workers } = JSON.parse(answer) as {
    block_size: number;
    workers: { device_blocks: number }[];
  };
  return { blockSize, deviceBlocks: workers.map(({ device_blocks: blocks }) => blocks) };
}

/** An empty folder for the file discovery of one deployment. */
export function dynamoFolder(name: string): string {
  const folder = join(scratchFolder(), name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** How many model cards are registered. */
export function cardsIn(fileKv: string): number {
  const folder = join(fileKv, 'v1', 'mdc');
  return existsSync(folder) ? readdirSync(folder).length : 0;
}
