import { engineOfWord } from '../../../engines/catalogue/engines.js';
import { jsonObjectIn } from '../lint/config/json-object.js';
import type { UnseenSize } from '../lint/facts/unseen-size.js';
import { readWorkerFacts } from '../lint/facts/worker-facts.js';
import type { Launch } from '../lint/launches/launch.js';
import { flagOf, variableOf } from '../lint/launches/settings.js';

/** How a sidecar reaches its engine. */
export interface Engine {
  /** `auto` where the manifest does not say. */
  readonly url: string;
  readonly kind?: 'dynamo';
  /** Named only where the engine does not name its own. */
  readonly eventSource?: string;
  readonly replaySource?: string;
  /** What a worker of Dynamo declares, which its system port does not report. */
  readonly tokensPerBlock?: number;
  /** Where its block size stands, when that is a place which the manifests do not show. */
  readonly unseenSize?: UnseenSize;
  readonly model?: string;
  /** As people call it, for messages. */
  readonly program: string;
}

/** The system port that Dynamo's operator gives to workers. */
const OPERATOR_SYSTEM_PORT = '9090';

/** Flags behind which the port is somewhere else, or is no plain HTTP. */
const ELSEWHERE = ['--config', '--uds', '--ssl-certfile', '--ssl-keyfile'];

/** Where the engine of a worker answers. `launch` is undefined where only the type of a component is known. */
export function engineOf(launch: Launch | undefined, isGraph: boolean): Engine {
  const program = launch?.program ?? 'its engine';
  if (launch === undefined) {
    return isGraph ? { url: local(OPERATOR_SYSTEM_PORT), kind: 'dynamo', program } : { url: 'auto', program };
  }
  if (launch.isDynamo) {
    const given = variableOf(launch, 'DYN_SYSTEM_PORT');
    const fallback = isGraph ? OPERATOR_SYSTEM_PORT : undefined;
    const port = given === undefined ? fallback : portOf(given.value);
    return { ...at(port), kind: 'dynamo', program, ...eventsOf(launch), ...declaredBy(launch) };
  }
  if (flagOf(launch, ...ELSEWHERE) !== undefined) return { url: 'auto', program };
  const given = flagOf(launch, '--port');
  const isDefault = given === undefined && !launch.hasUnseenArgs;
  return { ...at(portOf(isDefault ? defaultPortOf(launch) : given?.value)), program };
}

function declaredBy(launch: Launch): Pick<Engine, 'tokensPerBlock' | 'unseenSize' | 'model'> {
  const { size, unseen, model } = readWorkerFacts(launch);
  return {
    ...(size === undefined ? {} : { tokensPerBlock: size.tokens }),
    ...(unseen === undefined ? {} : { unseenSize: unseen }),
    ...(model === undefined || model === '' ? {} : { model }),
  };
}

/** Dynamo's system port names no event sources; the engine's own flag does, where it is a plain one. */
function eventsOf(launch: Launch): Pick<Engine, 'eventSource' | 'replaySource'> {
  const text = flagOf(launch, '--kv-events-config')?.value;
  const hasRanks = flagOf(launch, '--data-parallel-size', '-dp', '--dp-size', '--dp') !== undefined;
  if (text === undefined || hasRanks) return {};
  const { endpoint, replay_endpoint: replay } = jsonObjectIn(text) ?? {};
  const eventSource = localSource(endpoint);
  const replaySource = localSource(replay);
  if (eventSource === undefined) return {};
  return replaySource === undefined ? { eventSource } : { eventSource, replaySource };
}

/** An endpoint that the engine binds, on every interface or on the loopback alone. */
function localSource(endpoint: unknown): string | undefined {
  const port = typeof endpoint === 'string' ? /^tcp:\/\/\*:(\d+)$/.exec(endpoint)?.[1] : undefined;
  return port === undefined || portOf(port) === undefined ? undefined : `tcp://127.0.0.1:${port}`;
}

/** The port on which its engine answers when nothing is said. */
function defaultPortOf({ backend }: Launch): string | undefined {
  const port = engineOfWord(backend)?.ports.http[0];
  return port === undefined ? undefined : String(port);
}

function portOf(text: string | undefined): string | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? String(port) : undefined;
}

function at(port: string | undefined): { readonly url: string } {
  return { url: port === undefined ? 'auto' : local(port) };
}

function local(port: string): string {
  return `http://127.0.0.1:${port}`;
}
