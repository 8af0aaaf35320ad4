import type { KnownFault } from '../known-fault.js';

/** Reverse proxies of Go (`net/http/httputil`), as they stand before an engine in its pod: they write what their transport said. */
export const GO_PROXIES: readonly KnownFault[] = [
  {
    id: 'go_proxy_engine_refuses',
    cause: 'role_missing',
    needles: ['http: proxy error: dial tcp'],
    pattern:
      /proxy error: dial tcp (\[?[\w.:-]{2,60}\]?:\d{1,5}): (?:connect: )?(connection refused|no route to host|i\/o timeout)/,
    atLeast: 5,
    isSign: true,
    says: 'a reverse proxy does not reach the engine behind it at $1 ($2): each request ends with 502',
    why: 'Nobody listens there. While the engine loads its model this is usual and ends by itself; afterwards the engine has ended, or listens at another port or address.',
    cure: 'See whether the engine behind $1 has ended and why (the log of its previous run), or start it with the --host and --port of $1',
    commands: [
      'kubectl get pods    # RESTARTS and READY of the engine',
      'kubectl logs POD -c ENGINE --previous | tail -n 60    # why it ended',
    ],
  },
];
