import { parseJson } from '../../../../edge/platform/data/bounded-json.js';
import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { DEFAULT_TOPIC, socketsOf } from '../facts/picker-sockets.js';
import type { Fix } from '../findings/finding.js';
import { isLlmdPicker, type Launch } from '../launches/launch.js';

/** What to do about a worker that publishes nothing. */
export interface Cure {
  readonly advice: string;
  readonly fix: Fix | undefined;
}

/**
 * How a worker publishes to llm-d's picker. No text can be written for it: where the picker waits, the name of its Service
 * is missing, and where it connects, the pod's address. Undefined before every other router.
 */
export function cureBeforePicker(worker: Launch, { gateway }: Launch): Cure | undefined {
  const events = engineOfWord(worker.backend)?.launch?.kvEvents;
  if (!isLlmdPicker(gateway) || events === undefined || worker.eventsCure !== undefined) return undefined;
  const { connects, endpoint, podPort } = socketsOf(gateway);
  const topic = `${gateway.topicFilter?.value ?? DEFAULT_TOPIC}$(POD_IP)@MODEL`;
  const start = (address: string): string =>
    `Start it with ${events.flag} '${JSON.stringify({ ...exampleOf(events.example), endpoint: address, topic })}'`;
  const names = 'MODEL is the name in requests, and POD_IP the variable with status.podIP.';
  if (connects === true && endpoint === undefined) {
    const port = podPort ?? 'PORT';
    const user = userOf(worker, port);
    const taken = user === undefined ? '' : ` ${user} has port ${port} in this pod: give both another one.`;
    return {
      advice: `${start(`tcp://*:${port}`)}: the picker connects to ${podPort === undefined ? 'podDiscoveryConfig.socketPort' : `port ${port}`} of each pod.${taken} ${names}`,
      fix: undefined,
    };
  }
  const port = /:(\d+)$/.exec(endpoint ?? '')?.[1] ?? '5557';
  const where =
    endpoint === undefined
      ? 'where the picker waits for workers (zmqEndpoint); where it connects to pods (discoverPods), tcp://*: with its socketPort'
      : `for the picker waits at ${endpoint}, so that workers have to connect: PICKER is a Service of it with this port`;
  return { advice: `${start(`tcp://PICKER:${port}`)}, ${where}. ${names}`, fix: undefined };
}

function exampleOf(json: string): Readonly<Record<string, unknown>> {
  return parseJson(json) as Readonly<Record<string, unknown>>;
}

/** The variable or flag by which a pod's engine has a port already. */
function userOf({ env, args }: Launch, port: string): string | undefined {
  const variable = [...env].find(([name, { value }]) => /PORT$/.test(name) && value === port);
  if (variable !== undefined) return variable[0];
  const at = args.findIndex(
    ({ value }, index) =>
      value?.endsWith(`port=${port}`) || (value === port && /port$/.test(args[index - 1]?.value ?? '')),
  );
  return at === -1 ? undefined : '--port';
}
