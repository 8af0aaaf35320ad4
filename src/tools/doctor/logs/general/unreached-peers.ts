import {
  type ConnectionFailure,
  connectionFailureIn,
  hostAndPort,
  NOT_CONNECTED,
  NOT_RESOLVED,
  peerAddressIn,
} from './failed-connections.js';
import type { Fault } from './fault-classes.js';

/** Of the network outside, of sockets in the file system, and of what a client of this program did. */
const ELSEWHERE =
  /huggingface|hf-mirror|github\.com|pypi|amazonaws|googleapis|\bdial unix\b|unix:|telemetry|usage_stats|otlp|collector|bootstrap|handshake|side.?channel/i;
/** What keeps who is where, and what a router or a planner reads. */
const CONTROL: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['etcd', /\betcd\b|:2379\b/i],
  ['NATS', /\bnats\b|:4222\b|no responders/i],
  ['Redis', /\b(?:redis|valkey)\b/i],
  ['Prometheus', /prometheus/i],
  ['the metadata server', /meta(?:data)? ?(?:server|service|store)/i],
  ['the TCP store', /\bTCPStore\b/],
  ['the API server of Kubernetes', /\bk8s\b|kubernetes|\/api\/v1\/(?:namespaces|pods)/i],
];
/** An engine, by its role or by the path that it is asked for. */
const ENGINE =
  /\b(?:workers?|engines?|upstream|prefill\w*|decode\w*|vllm|sglang|tensorrt\w*|model names|replicas?|inference server|Client error to)\b|\/(?:v1\/(?:models|completions|chat)|metrics|generate|health\w*|get_(?:server|model)_info)\b/i;
/** A request of a client failed by it: polls are repeated until an engine is there. */
const OF_REQUEST =
  /\b(?:typed request|[Rr]equest (?:failed|transport)|both sides aborted|while connecting to upstream|Client error to|Prefill server|Decode (?:server|request))\b|\/(?:v1\/(?:chat\/)?completions|generate)\b/;

/** Another try follows. */
const RETRIES = /(?<!last )\bretr(?:y|ies|ying)\b|\battempt \d/i;

/** No engine is left for a request: "no available pods for model server: default/deepseek", "No decode endpoints available". */
const NONE_LEFT =
  /\b[Nn]o workers available for (prefill|decode)\b|\b[Nn]o (?:(?:ready|available|healthy|suitable) )?((?:prefill|decode|encode)[a-z]* )?(?:workers?|pods?|endpoints?|servers?|instances?|engines?|deployments?)(?: (?:are |is |were )?(?:available|avi?ailable|found|ready|discovered|registered)\b| for (?:prefill|decode|model|inference pool)|\s*$)|\b(prefill|decode) pods are not ready\b/;

/** Who is not reached, and where. */
export interface UnreachedPeer {
  readonly fault: Fault;
  /** From so many lines on it is no matter of a start: polls heal. */
  readonly atLeast: number;
}

/** Why an engine is not reached, as its value has it. */
const WHY: Readonly<Record<ConnectionFailure, string>> = {
  refused: 'nothing listens there',
  unresolved: 'its name does not resolve',
  silent: 'no answer in time',
  unsaid: 'no connection',
};

const POLLS = 3;
/** What follows is of the client that wrote the error: addresses in memory, its request. */
const MAX_CHARS = 1_000;

/** What an error says of a program that is not reached or not there; undefined for other errors. */
export function unreachedPeerIn(whole: string): UnreachedPeer | undefined {
  const message = whole.slice(0, MAX_CHARS);
  const none = NONE_LEFT.exec(message);
  if (none !== null) {
    const role = (none[1] ?? none[2] ?? none[3] ?? '').trim().toLowerCase();
    return { fault: { signal: 'role_missing', value: role === '' ? 'any' : role }, atLeast: 1 };
  }
  const isUnreached = NOT_CONNECTED.test(message) || NOT_RESOLVED.test(message);
  if (!isUnreached || ELSEWHERE.test(message)) return undefined;
  const name = CONTROL.find(([, pattern]) => pattern.test(message))?.[0];
  if (name !== undefined) {
    const value = name === 'etcd' || name === 'NATS' ? name : `${name}${at(message)}`;
    return { fault: { signal: 'control_plane_unreachable', value }, atLeast: POLLS };
  }
  if (!ENGINE.test(message)) return undefined;
  const value = `${UNREACHED_ENGINE}${at(message)} (${WHY[connectionFailureIn(message)]})`;
  return {
    fault: { signal: 'role_missing', value },
    atLeast: OF_REQUEST.test(message) && !RETRIES.test(message) ? 1 : POLLS,
  };
}

/** Whether a value of `control_plane_unreachable` is of a server beside NATS and etcd, with its address where lines have it. */
export function isUnreachedServer(value: string): boolean {
  const [name] = value.split(' at ');
  return name !== 'etcd' && name !== 'NATS' && CONTROL.some(([one]) => one === name);
}

/** How the value of an engine that is not reached begins. */
export const UNREACHED_ENGINE = 'an engine is not reached';

/** Of a client of HTTP the scheme, the host and the port, without the path. */
function at(message: string): string {
  const address = peerAddressIn(message);
  if (address === undefined) return '';
  const { scheme } = address;
  return ` at ${scheme === '' ? '' : `${scheme}://`}${hostAndPort(address)}`;
}
