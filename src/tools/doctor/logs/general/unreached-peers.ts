import type { Fault } from './fault-classes.js';

/** What clients of HTTP, of gRPC and of sockets say of a connection that did not come about: aiohttp, httpx, urllib3, reqwest, Go, nginx. */
const UNREACHED =
  /[Cc]onnection refused|ECONNREFUSED|Max retries exceeded with url|Cannot connect to host|Connect call failed|All connection attempts failed|error sending request for url|\bdial (?:tcp|udp)\b.{0,80}(?:i\/o timeout|no route to host|timed out|no such host)|[Nn]ame or service not known|Temporary failure in name resolution|[Ff]ailed to connect (?:to|gRPC client for) .{1,120}(?:transport error|timed out|all addresses)|[Cc]annot reach .{1,80} at\b|no responders/;
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
  if (!UNREACHED.test(message) || ELSEWHERE.test(message)) return undefined;
  const name = CONTROL.find(([, pattern]) => pattern.test(message))?.[0];
  if (name !== undefined) {
    const value = name === 'etcd' || name === 'NATS' ? name : `${name}${at(message)}`;
    return { fault: { signal: 'control_plane_unreachable', value }, atLeast: POLLS };
  }
  if (!ENGINE.test(message)) return undefined;
  const value = `${UNREACHED_ENGINE}${at(message)} (${whyIn(message)})`;
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

function at(message: string): string {
  const address = addressIn(message);
  return address === '' ? '' : ` at ${address}`;
}

/** Of a client of HTTP the host and the port, without the path. */
function addressIn(message: string): string {
  const [, url, host, port, tcp, to] =
    /\b((?:https?|grpc):\/\/[\w.[\]:-]{3,100})|host='([\w.-]{1,100})', port=(\d{1,5})|\b(?:dial tcp|connect to host|connecting to|failed, connecting) (?:\(?'?)([\w.[\]:-]{3,100}:\d{2,5})|Connect call failed \('([\d.]{7,15})'/.exec(
      message,
    ) ?? [];
  return (url ?? tcp)?.replace(/:$/, '') ?? (host === undefined ? (to ?? '') : `${host}:${port}`);
}

function whyIn(message: string): string {
  if (/refused|Connect call failed|attempts failed/i.test(message)) return 'nothing listens there';
  if (/not known|resolution|no such host/i.test(message)) return 'its name does not resolve';
  return /timed? ?out|timeout/i.test(message) ? 'no answer in time' : 'no connection';
}
