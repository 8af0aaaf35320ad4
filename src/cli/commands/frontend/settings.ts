import { openAiAddress } from '../../../app/openai-address.js';
import { isLoopback } from '../../../edge/platform/address.js';
import { availableCores } from '../../../edge/platform/processes/cores.js';
import type { CommandDescription } from '../../command.js';
import { isSame } from '../../settings/check-listens.js';
import { checkDialled } from '../../settings/collection-settings.js';
import { checkEngineSettings } from '../../settings/engine-settings.js';
import { MAX_THREADS, readThreadCount } from '../../settings/thread-count.js';
import { aggregatorDescription, aggregatorSettings } from '../aggregator/settings.js';

const ownSettings = {
  router: {
    kind: 'address',
    use: 'dial',
    group: 'Fleet',
    help: 'Serve over the gate, index and router of this running aggregator or frontend, in place of own ones. Workers, and how they are chosen, are settings of that process. Neither --listen nor --http-listen is served then.',
  },
  'http-port': {
    kind: 'integer',
    min: 0,
    max: 65_535,
    default: 8000,
    dynamo: ['DYN_HTTP_PORT'],
    group: 'OpenAI server',
    help: 'Port of the OpenAI server; 0 takes a free one. Probes and metrics are served there too, beside those of --http-listen.',
  },
  'http-host': {
    kind: 'string',
    maxLength: 253,
    default: '127.0.0.1',
    placeholder: 'HOST',
    dynamo: ['DYN_HTTP_HOST'],
    group: 'OpenAI server',
    help: 'Where the OpenAI server listens; 0.0.0.0 is every address of this machine. Beyond loopback there must be --tls-cert, or --insecure where something in front speaks TLS.',
  },
  'api-key-file': {
    kind: 'file',
    mustBe: 'file',
    holdsSecret: true,
    group: 'OpenAI server',
    help: 'File with the API keys that clients must show, one a line, # for comments. Read again when it changes. Workers do not see them.',
  },
  'cors-origins': {
    kind: 'list',
    item: 'url',
    words: ['*'],
    placeholder: 'ORIGIN,…',
    group: 'OpenAI server',
    help: 'Origins whose pages may ask from a browser, such as https://chat.example; * for all. None by default.',
  },
  'http-body-limit': {
    kind: 'size',
    default: '32MiB',
    min: '1KiB',
    max: '1GiB',
    group: 'OpenAI server',
    help: 'Longest body of a request. Images stand in it. All bodies together take at most sixteen times as much memory.',
  },
  'max-connections': {
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 4_096,
    group: 'OpenAI server',
    help: 'Connections of clients at a time; further ones are closed. As many requests may be running.',
  },
  threads: {
    kind: 'string',
    maxLength: 8,
    default: '1',
    placeholder: 'N|auto',
    group: 'OpenAI server',
    help: 'Processes that serve HTTP and share the port; gate, index and router stay in the first one. auto is one for each core that this process may run on; with 1 everything is in one process.',
  },
  'drain-timeout': {
    kind: 'duration',
    default: '30s',
    max: '1h',
    group: 'OpenAI server',
    help: 'How long answers may run on after the process was asked to end; then they are cut.',
  },
  'worker-urls': {
    kind: 'list',
    item: 'target',
    placeholder: 'WORKER=URL,…',
    group: 'Requests',
    help: 'Base URLs of engines whose address is not known, or not the one that their sidecars report: WORKER=http://HOST:PORT, the worker as --workers finds it or --kv-event-sources names it.',
  },
  'engine-api-key-file': {
    kind: 'file',
    mustBe: 'file',
    holdsSecret: true,
    group: 'Requests',
    help: "File with the key that the engines' HTTP asks for. They get it in place of what clients show.",
  },
  'engine-key-hosts': {
    kind: 'list',
    item: 'source',
    placeholder: 'HOST,…',
    group: 'Requests',
    help: "Hosts of engines that get keys although they are not on their sidecar's own host: names, *.DOMAIN, IP addresses or networks such as 10.0.0.0/8. Engines of --worker-urls get them always; others get requests without --engine-api-key-file's key and without the client's Authorization, and a warning names them.",
  },
  'engine-tls-ca': {
    kind: 'file',
    mustBe: 'file',
    group: 'Requests',
    help: "File with the authorities (PEM) that engines' HTTPS certificates are checked against, in place of Node's own list. Followed when it changes.",
  },
  tokenizer: {
    kind: 'file',
    mustBe: 'folder',
    words: ['engine'],
    default: 'engine',
    group: 'Requests',
    help: "Where token ids for routing come from: the engines' own /tokenize, or a folder with the model's tokenizer files, which is checked against an engine and not used where they differ.",
  },
  'tokenize-timeout': {
    kind: 'duration',
    default: '2s',
    min: '10ms',
    max: '5m',
    group: 'Requests',
    help: 'How long a request waits for its token ids from an engine; without them it goes by load alone.',
  },
  'connect-timeout': {
    kind: 'duration',
    default: '5s',
    min: '10ms',
    max: '5m',
    group: 'Requests',
    help: 'How long a worker may take to accept a connection before another one is tried.',
  },
  'first-byte-timeout': {
    kind: 'duration',
    default: '15s',
    min: '500ms',
    max: '10m',
    group: 'Requests',
    help: 'How long a worker may say nothing, to this request or any other, before another one serves a request whose answer has not begun. It is asked for its models meanwhile, so that a full engine keeps its queue and a stopped one does not.',
  },
  'stall-timeout': {
    kind: 'duration',
    default: '60s',
    min: '0s',
    max: '10m',
    group: 'Requests',
    help: 'How long the engine of a worker may show no work for any request, although its HTTP server answers, before another worker serves a request whose answer has not begun; after twice as long, answers that have begun end with an error. Its counters are looked at meanwhile, and it is asked for one token, so that a long prompt is no fault. 0 waits for ever.',
  },
  'pd-fallback': {
    kind: 'boolean',
    default: true,
    group: 'Requests',
    help: 'Let one worker compute all of a request whose prefill worker failed, or whose KV blocks did not come over. --no-pd-fallback asks another pair, and answers with an error where there is none.',
  },
  'pd-prefill-timeout': {
    kind: 'duration',
    default: '0s',
    min: '0s',
    max: '24h',
    group: 'Requests',
    help: 'How long a prefill worker may take for a prompt before it counts as failed for the request. 0 waits as long as it shows work.',
  },
  'request-timeout': {
    kind: 'duration',
    default: '1h',
    min: '1s',
    group: 'Requests',
    help: 'Longest life of a request, its answer included. A worker that says nothing is given up after 10m of it.',
  },
  'session-affinity': {
    kind: 'enum',
    choices: ['off', 'header', 'user'],
    default: 'off',
    group: 'Requests',
    help: 'Of equally good workers the requests of one session go to the same one. The session is named by a header (x-session-id, x-session-affinity, x-smg-routing-key and others), or by a user field of the body (prompt_cache_key, user, safety_identifier, metadata.user_id).',
  },
  'neighbour-hints': {
    kind: 'integer',
    default: 0,
    min: 0,
    max: 4_194_304,
    group: 'Requests',
    help: "Where another worker holds so many tokens more of a prompt than the chosen one, its engine is informed: x-kv-cache-source-host-port, with which llm-d's routing sidecar has vLLM fetch the blocks from there, and x-kv-accord-cache-source-tokens. The body stays as it is. 0: no engine is informed.",
  },
  'decision-headers': {
    kind: 'boolean',
    group: 'Requests',
    help: 'Tell clients how their requests were routed: x-kv-accord-worker, x-kv-accord-worker-address, x-kv-accord-cached-blocks and x-kv-accord-routing-mode.',
  },
} as const;

/** The settings of `kv-accord frontend`. */
export const frontendSettings: typeof aggregatorSettings & typeof ownSettings = {
  ...aggregatorSettings,
  ...ownSettings,
};

type Check = NonNullable<CommandDescription<typeof frontendSettings>['check']>;

/** What a frontend over another process's router has of an aggregator's settings. */
const READ_BESIDE_ROUTER: ReadonlySet<string> = new Set(['router-mode']);

/** What makes no sense beside `--router`, and plaintext to another machine that was not asked for. */
const checkRouter: Check = (settings, reject, flags) => {
  const allowed = 'left out when --router is given: it is a setting of that process';
  if (settings.workers.length > 0) throw reject('workers', allowed);
  if (settings.workersFile !== undefined) throw reject('workers-file', allowed);
  if (settings.dynamoGraph !== undefined) throw reject('dynamo-graph', allowed);
  if (settings.pool !== undefined) throw reject('pool', allowed);
  if (settings.kvEventSources.length > 0) throw reject('kv-event-sources', allowed);
  const unread = [...flags].find((name) => name in aggregatorSettings && !READ_BESIDE_ROUTER.has(name));
  if (unread !== undefined) throw reject(unread as keyof typeof aggregatorSettings, allowed);
  const problem = checkDialled(settings.router, settings);
  if (problem !== undefined) throw reject('router', problem);
};

/** `kv-accord frontend`. */
export const frontendDescription: CommandDescription<typeof frontendSettings> = {
  name: 'frontend',
  summary: 'An OpenAI-compatible server: KV-aware routing over a fleet of engines',
  description:
    'Everything that the aggregator does, and an OpenAI-compatible HTTP server that sends each request to the worker where it costs least. No request is routed before the gate of its model is open.',
  settings: frontendSettings,
  isServer: true,
  examples: [
    {
      says: 'Two engines with their sidecars',
      line: 'kv-accord frontend --workers 127.0.0.1:50061,127.0.0.1:50062',
    },
    {
      says: 'An engine without a sidecar',
      line: 'kv-accord frontend --kv-event-sources w-1=tcp://10.0.0.1:5557 --worker-urls w-1=http://10.0.0.1:8000 --model llama',
    },
    {
      says: 'For others, with API keys and TLS',
      line: 'kv-accord frontend --workers dns:///workers:50061 --http-host 0.0.0.0 --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt --api-key-file keys.txt',
    },
    {
      says: 'On another machine, over the router of an aggregator',
      line: 'kv-accord frontend --router aggregator.example:50060 --tls-ca ca.crt --token-file token',
    },
    { says: 'What is served?', line: 'curl 127.0.0.1:8000/v1/models' },
  ],
  check(settings, reject, flags) {
    if (settings.router === undefined) aggregatorDescription.check?.(settings, reject, flags);
    else checkRouter(settings, reject, flags);
    if (readThreadCount(settings.threads, availableCores) === undefined)
      throw reject('threads', `a whole number from 1 to ${MAX_THREADS}, or auto`);
    const address = openAiAddress(settings);
    if (address === undefined) throw reject('http-host', 'a host name or an IP address');
    if (!isLoopback(address) && settings.tlsCert === undefined && !settings.insecure)
      throw reject(
        'http-host',
        'a loopback address, unless there is --tls-cert with --tls-key, or --insecure for plaintext',
      );
    if (settings.router === undefined)
      for (const name of ['listen', 'http-listen'] as const) {
        const other = name === 'listen' ? settings.listen : settings.httpListen;
        if (isSame(address, other))
          throw reject('http-port', `another port than that of --${name}, ${other.text}`);
      }
    checkEngineSettings(settings, reject);
    const wrong = settings.corsOrigins.find((origin) => origin !== '*' && new URL(origin).origin !== origin);
    if (wrong !== undefined)
      throw reject('cors-origins', 'origins without a path, such as https://chat.example', wrong);
  },
};
