import type { KnownFault } from '../known-fault.js';

/** Proxies and routers of Python (those of vLLM's examples, LMCache, LiteLLM): an engine that their HTTP client does not get. */
export const HTTP_CLIENTS: readonly KnownFault[] = [
  {
    id: 'proxy_engine_refuses',
    cause: 'role_missing',
    needles: [
      'ClientConnectorError: Cannot connect to host',
      'ClientConnectorDNSError: Cannot connect to host',
    ],
    pattern: /Cannot connect to host (?!\S{1,120}:443 )(\S{1,120}) ssl:/,
    says: 'a proxy or router does not reach $1: nobody listens there, or the name does not resolve',
    why: 'The engine behind that address does not run yet, has ended, or listens at another address or port (127.0.0.1 in another container).',
    cure: 'Start the engine at $1 with --host 0.0.0.0 and that --port before the proxy, or correct the address in the command of the proxy; see that curl http://$1/health answers from where the proxy runs',
    commands: ['curl -s -o /dev/null -w "%{http_code}\\n" http://$1/health'],
  },
  {
    id: 'proxy_no_engine',
    cause: 'role_missing',
    needles: ['httpx.ConnectError: All connection attempts failed'],
    says: 'a proxy or router reaches none of the addresses of an engine',
    why: 'The engine does not run yet, has ended, or listens at another address or port than the proxy was given.',
    cure: "Start the engines before the proxy, and make its hosts and ports (--prefiller-host, --prefiller-port, --decoder-host, --decoder-port of vLLM's and LMCache's proxies) those of --host and --port of the engines",
    commands: ['curl -s -o /dev/null -w "%{http_code}\\n" http://HOST:PORT/health'],
  },
  {
    id: 'proxy_engine_has_no_path',
    cause: 'role_missing',
    needles: ["Client error '404 Not Found' for url "],
    pattern: /for url \\{0,3}'(https?:\/\/[^\s'/]{1,120})(\/v1\/(?:chat\/)?completions)/,
    says: 'what answers a proxy at $1 has no $2, or not the model of the request (404)',
    why: 'vLLM answers 404 for a model name that it does not serve; another program at that port (the proxy itself, a prefill bootstrap, a metrics port) for the path.',
    cure: 'Send the model name that curl $1/v1/models shows (or start the engines with --served-model-name and the name of the request); where that answers 404 as well, give the proxy the port of the engine (--prefiller-port, --decoder-port)',
    commands: ['curl -s $1/v1/models'],
    disturbs: 'frontend',
  },
  {
    id: 'proxy_engine_fails',
    cause: 'results_contradict',
    needles: [
      "Server error '500 Internal Server Error' for url ",
      "Server error '503 Service Unavailable' for url ",
    ],
    pattern:
      /Server error '(\d{3}) [\w ]{1,40}' for url \\{0,3}'(https?:\/\/[^\s'/]{1,120})\/v1\/(?:chat\/)?completions/,
    says: 'the engine at $2 answers a proxy with $1: its own log has the reason',
    why: 'The proxy passes on what the engine said; the fault is in that engine, and often in its transfer of KV blocks.',
    cure: 'Add the log of the engine at $2 to this command: the last traceback before that time is the reason',
    disturbs: 'nothing',
  },
  {
    id: 'proxy_engine_closes',
    cause: 'role_missing',
    needles: [
      'ServerDisconnectedError: Server disconnected',
      'RemoteProtocolError: Server disconnected without sending a response',
    ],
    atLeast: 2,
    isSign: true,
    says: 'an engine closes the connection of a proxy or router before it answers',
    why: 'The engine ended or was restarted at that time, or closed a connection that the proxy kept: vLLM and SGLang do so after 5 s without a request.',
    cure: 'See that no engine restarted then (kubectl get pods: RESTARTS; its log with --previous); where none did, start the engines with VLLM_HTTP_TIMEOUT_KEEP_ALIVE=3700 (SGLANG_TIMEOUT_KEEP_ALIVE=3700), longer than the proxy keeps connections',
    commands: ['kubectl get pods -o wide    # RESTARTS of the engines'],
  },
  {
    id: 'proxy_answer_broken_off',
    cause: 'role_missing',
    needles: [
      'ClientPayloadError: Response payload is not completed',
      'peer closed connection without sending complete message body',
    ],
    atLeast: 2,
    isSign: true,
    follows: ['proxy_engine_closes'],
    says: 'an engine breaks off an answer that a proxy or router is passing on',
    why: 'Its process ended in the middle (an error of CUDA, memory, a restart by Kubernetes), or something between them cut the connection.',
    cure: 'Read the log of that engine at this time (kubectl logs POD --previous): the last traceback is the reason; where it goes on serving, raise the idle and request timeouts of what stands between the two',
    commands: ['kubectl get pods -o wide    # RESTARTS of the engines'],
  },
  {
    id: 'client_reaches_nobody',
    cause: 'role_missing',
    needles: ["HTTPConnectionPool(host='"],
    pattern:
      /(?<!Failed to scrape metrics from .{0,200})HTTPConnectionPool\(host=\\{0,3}'([\w.-]{1,120})\\{0,3}', port=(\d{2,5})\): .{0,2000}(?:Connection refused|No route to host|Name or service not known|Temporary failure in name resolution|Network is unreachable)/,
    atLeast: 2,
    isSign: true,
    follows: [
      'production_stack_backend_refuses',
      'production_stack_engine_not_reached',
      'production_stack_no_metrics',
    ],
    says: 'a program does not reach $1:$2: nobody listens there, or the name does not resolve',
    why: 'What it calls does not run (yet), listens at another port, or is another machine: localhost in a container is the container itself.',
    cure: 'Start what should listen at $1:$2, or give the program the address and port where it does (9090 is Prometheus, 8000 vLLM, 30000 SGLang by default; from a container the name of its Service)',
    commands: ['curl -s -o /dev/null -w "%{http_code}\\n" http://$1:$2/'],
  },
];
