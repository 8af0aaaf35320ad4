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
  {
    id: 'go_proxy_ports_used_up',
    cause: 'role_missing',
    needles: ['connect: cannot assign requested address'],
    // The address [::1] cannot be assigned where IPv6 is off.
    pattern:
      /dial tcp (?!\[::1\])(?:\S{2,80}->)?(\[?[\w.:-]{2,60}\]?:\d{1,5}): connect: cannot assign requested address/,
    atLeast: 2,
    says: 'a proxy or gateway has no local port left for connections to $1',
    why: 'It opens a connection for each request, and a closed one keeps its local port for a minute: under load all of the range to that address are used up.',
    cure: 'Have it keep connections open (keep-alive, more idle connections for each host), and give its pod more local ports: sysctl net.ipv4.ip_local_port_range="1024 65535", net.ipv4.tcp_tw_reuse=1; or run more replicas of it',
    commands: ["ss -tan | awk '{print $1}' | sort | uniq -c    # TIME-WAIT in tens of thousands"],
    disturbs: 'frontend',
  },
];
