/** What C, Python, Go, Rust and clients of stores say of a name that no address is known of. */
export const NOT_RESOLVED: RegExp =
  /Name or service not known|Temporary failure in name resolution|nodename nor servname|NameResolutionError|getaddrinfo (?:failed|ENOTFOUND)|\bdial (?:tcp|udp)\b.{0,120}no such host|failed to lookup address information|Name does not resolve/i;

/**
 * What clients of HTTP, of gRPC, of stores and of sockets say of a connection that did not come about: aiohttp, httpx, urllib3,
 * reqwest, botocore, redis-py, Go, nginx, NATS. Retries that end with an answer are none.
 */
export const NOT_CONNECTED: RegExp =
  /Connection refused|ECONNREFUSED|EHOSTUNREACH|Connect call failed|Cannot connect to host|All connection attempts failed|Failed to establish a new connection|Could not connect to the endpoint|No route to host|Network is unreachable|Timeout connecting to server|ConnectTimeout|Connection timed out|Max retries exceeded with url(?!.{0,400}\bCaused by (?:Response|ReadTimeout|SSL)Error)|error sending request for url|\bdial (?:tcp|udp)\b.{0,80}(?:i\/o timeout|timed out)|failed to connect (?:to|gRPC client for) .{1,120}(?:transport error|timed out|all addresses)|cannot reach .{1,80} at\b|no responders/i;

/** `refused`: the host answers that nothing listens. `unresolved`: its name has no address. `silent`: no answer in time. `unsaid`: the error has no reason. */
export type ConnectionFailure = 'refused' | 'unresolved' | 'silent' | 'unsaid';

/** Why a connection did not come about, by the words of the error. */
export function connectionFailureIn(error: string): ConnectionFailure {
  if (/refused|os error 111|Connect call failed|attempts failed/i.test(error)) return 'refused';
  if (/not known|name ?resolution|not resolve|no such host|getaddrinfo|lookup address/i.test(error))
    return 'unresolved';
  return /timed? ?out|timeout/i.test(error) ? 'silent' : 'unsaid';
}

/** Where a program looked for another one. */
export interface PeerAddress {
  /** `http`, `https` or `grpc`, where the error has a URL; empty otherwise. */
  readonly scheme: string;
  readonly host: string;
  /** Empty where the error has none. */
  readonly port: string;
}

const HOST = String.raw`(?<host>\[[\da-f:.]{2,45}\]|[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})`;

/** How clients write an address. The one that stands first in a sentence counts. */
const FORMS: readonly RegExp[] = [
  // "error sending request for url (http://10.0.0.5:30000/generate)", "http://user:secret@minio:9000/kv".
  new RegExp(
    String.raw`\b(?<scheme>https?|grpc):\/\/(?:[^\s/@"']{1,100}@)?${HOST}(?::(?<port>\d{1,5})(?!\d))?`,
    'i',
  ),
  // urllib3: "HTTPConnectionPool(host='decode', port=8000)".
  /\bhost='(?<host>[\w.-]{1,120})', port=(?<port>\d{1,5})/,
  // asyncio: "Connect call failed ('10.0.0.5', 8002)".
  /\('(?<host>[\w.:-]{1,120})', (?<port>\d{2,5})[,)]/,
  // Go, aiohttp, redis-py, gRPC: "dial tcp 10.0.0.9:6379", "connecting to redis:6379".
  new RegExp(
    String.raw`\b(?:dial (?:tcp|udp)|connect to host|connecting to|failed, connecting) \(?'?${HOST}:(?<port>\d{2,5})(?!\d)`,
    'i',
  ),
];

/** Addresses by themselves, where no client's form is there: IPs, names behind a word or sign that an address follows, names with a dot. */
const BARE: readonly RegExp[] = [
  /(?:^|[\s/@"'=(])(?<host>\[[\da-f:.]{2,45}\]|\d{1,3}(?:\.\d{1,3}){3}):(?<port>\d{2,5})(?![\d:])/i,
  /(?:\b(?:to|at|from|on) ['"(]?|\/\/|[@=])(?<host>[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}):(?<port>\d{2,5})(?![\d:])/i,
  /(?:^|[\s"'(])(?<host>[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){1,8}):(?<port>80|443|\d{4,5})(?![\d:])/i,
];

/** A file with its line looks like one: `router.go:152`. */
const SOURCE_FILE = /\.(?:c|cc|cpp|cu|go|h|hpp|py|rs)$/i;

/** How reqwest says which of the addresses of a line it is: "prefill=http://p:8000, decode=http://d:8000, error=error sending request for url (http://d:8000/v1/completions)". */
const OF_URL = 'for url (';

/** Where the program that wrote an error looked for another one; undefined where the error does not say. */
export function peerAddressIn(whole: string): PeerAddress | undefined {
  const error = whole.slice(Math.max(0, whole.indexOf(OF_URL)));
  const formed = matchesOf(FORMS, error).sort((a, b) => a.index - b.index);
  const [found] = formed.length > 0 ? formed : matchesOf(BARE, error);
  const { scheme = '', host = '', port = '' } = found?.groups ?? {};
  return host === '' ? undefined : { scheme: scheme.toLowerCase(), host, port };
}

function matchesOf(forms: readonly RegExp[], error: string): RegExpExecArray[] {
  return forms
    .map((form) => form.exec(error))
    .filter((match) => match !== null)
    .filter(({ groups }) => !SOURCE_FILE.test(groups?.['host'] ?? ''));
}

/** `redis:6379`. */
export function hostAndPort({ host, port }: PeerAddress): string {
  return port === '' ? host : `${host}:${port}`;
}
