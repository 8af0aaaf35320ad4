import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/ports.js';
import { Program } from './program.js';
import { until } from './until.js';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** A process of kv-accord that serves. */
export interface Served {
  readonly program: Program;
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** One line of the log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** An answer of the probe port. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** Where a process of kv-accord runs, when that is not simply here. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** Makes the command that runs a command there; see `PodNetwork.inside`. */
  readonly inside?: (command: readonly string[]) => readonly string[];
}

/** Starts one command of the built program, as an operator would, with JSON lines for a log. */
export function startKvAccord(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  inside: NonNullable<Surroundings['inside']> = (command) => command,
): Program {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is not there: npm run build makes it`);
  return new Program({
    name,
    command: inside([process.execPath, MAIN, ...args]),
    // The canary stores blocks that tests would count; the one of the canary switches it on.
    env: { KV_ACCORD_LOG_FORMAT: 'json', KV_ACCORD_CANARY: 'off', ...env },
  });
}

/** Starts a sidecar on free ports and waits until it answers. */
export function startSidecar(name: string, ...flags: readonly string[]): Promise<Served> {
  return serve(name, 'sidecar', ['--worker-id', name, ...flags]);
}

/** Starts a sidecar on a port that its readers know already. */
export function startSidecarOn(grpcPort: number, name: string, ...flags: readonly string[]): Promise<Served> {
  return serve(name, 'sidecar', ['--worker-id', name, ...flags], {}, grpcPort);
}

/** Starts an aggregator on free ports and waits until it answers. */
export function startAggregator(
  name: string,
  workers: readonly Served[],
  ...flags: readonly string[]
): Promise<Served> {
  return startAggregatorWith(name, ['--workers', addressesOf(workers), ...flags]);
}

/** Starts an aggregator that finds its workers as the flags say, on free ports, and waits until it answers. */
export function startAggregatorWith(
  name: string,
  flags: readonly string[],
  surroundings: Surroundings = {},
): Promise<Served> {
  return serve(name, 'aggregator', flags, surroundings);
}

/** A frontend that serves the OpenAI API. */
export interface ServedFrontend extends Served {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

/** Starts a frontend on free ports and waits until it answers. */
export function startFrontend(
  name: string,
  workers: readonly Served[],
  ...flags: readonly string[]
): Promise<ServedFrontend> {
  return startFrontendWith(name, ['--workers', addressesOf(workers), ...flags]);
}

/** Starts a frontend that finds its workers as the flags say, on free ports, and waits until it answers. */
export async function startFrontendWith(
  name: string,
  flags: readonly string[],
  surroundings: Surroundings = {},
): Promise<ServedFrontend> {
  const port = await freePort();
  const served = await serve(name, 'frontend', ['--http-port', String(port), ...flags], surroundings);
  return { ...served, url: `http://127.0.0.1:${port}` };
}

/** Starts a frontend over the router of another process, and waits until it serves. */
export async function startFrontendOver(
  name: string,
  router: Served,
  ...flags: readonly string[]
): Promise<{ readonly program: Program; readonly url: string }> {
  const port = await freePort();
  const over = ['--router', `127.0.0.1:${router.grpcPort}`, '--http-port', String(port)];
  const program = startKvAccord(name, ['frontend', ...over, ...flags]);
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(`${name} to be ready`, async () => (await fetch(`${url}/readyz`)).status === 200, {
      needs: [program],
    });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { program, url };
}

/** Starts an Endpoint Picker on free ports and waits until it answers; its gate may still be shut. */
export function startEpp(
  name: string,
  workers: readonly Served[],
  ...flags: readonly string[]
): Promise<Served & { readonly pickerPort: number }> {
  return startEppWith(name, ['--workers', addressesOf(workers), ...flags]);
}

/** The same, with workers as the flags say. */
export async function startEppWith(
  name: string,
  flags: readonly string[],
  surroundings: Surroundings = {},
): Promise<Served & { readonly pickerPort: number }> {
  const pickerPort = await freePort();
  const listens = ['--ext-proc-listen', `127.0.0.1:${pickerPort}`];
  const health = ['--health-listen', `127.0.0.1:${await freePort()}`];
  const served = await serve(name, 'epp', [...listens, ...health, ...flags], surroundings);
  return { ...served, pickerPort };
}

/** Starts an aggregator that reads one engine's KV events itself, with no sidecar, and waits until it answers. */
export function startDirect(
  name: string,
  { worker, zmq }: { readonly worker: string; readonly zmq: number },
  ...flags: readonly string[]
): Promise<Served> {
  return serve(name, 'aggregator', [
    ...['--kv-event-sources', `${worker}=tcp://127.0.0.1:${zmq}`],
    ...['--kv-replay-sources', `${worker}=tcp://127.0.0.1:${zmq + 1}`, '--model', 'tiny'],
    ...flags,
  ]);
}

/** `127.0.0.1:1234,127.0.0.1:1235`. */
export function addressesOf(workers: readonly Served[]): string {
  return workers.map(({ grpcPort }) => `127.0.0.1:${grpcPort}`).join(',');
}

async function serve(
  name: string,
  command: string,
  flags: readonly string[],
  surroundings: Surroundings = {},
  knownPort?: number,
): Promise<Served> {
  const grpcPort = knownPort ?? (await freePort());
  const httpPort = await freePort();
  const listens = ['--listen', `127.0.0.1:${grpcPort}`, '--http-listen', `127.0.0.1:${httpPort}`];
  const { env, inside } = surroundings;
  const program = startKvAccord(name, [command, ...listens, ...flags], env, inside);
  const served = { program, grpcPort, httpPort };
  try {
    await until(`${name} to answer`, async () => (await probe(served, '/livez')).status === 200, {
      timeoutMs: 30_000,
      needs: [program],
    });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return served;
}

/** Asks `/livez`, `/readyz`, `/startupz` or `/metrics`. */
export async function probe({ httpPort }: Served, path: string): Promise<HttpAnswer> {
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { signal: AbortSignal.timeout(5_000) });
  return { status: answer.status, body: await answer.text() };
}

/** What a process has logged up to now. Lines that are no JSON are what it printed for people. */
export function logLines(program: Program): LogLine[] {
  return program.log
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
}
