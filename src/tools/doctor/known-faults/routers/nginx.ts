import type { KnownFault } from '../known-fault.js';

/** nginx (and its ingress) before engines. */
export const NGINX: readonly KnownFault[] = [
  {
    id: 'nginx_engine_refuses',
    cause: 'role_missing',
    needles: ['while connecting to upstream'],
    pattern:
      /(?:connect\(\) failed \(\d{1,3}: (?:Connection refused|Host is unreachable|No route to host)\)|no live upstreams) while connecting to upstream.{0,600}?upstream: \\{0,3}"(\w{2,5}:\/\/[\w.:[\]-]{1,100})/,
    says: 'nginx does not reach the engine at $1',
    why: 'Nobody listens at that address: the engine loads, has ended, or has another port or host than the upstream block. After max_fails (1) nginx leaves it out for fail_timeout (10s): no live upstreams.',
    cure: 'Start the engine at the address of the upstream block with --host 0.0.0.0 and that --port, or correct server in the upstream block; set max_fails=0 on its only server',
    commands: ['curl -s -o /dev/null -w "%{http_code}\\n" http://ENGINE:8000/health'],
  },
  {
    id: 'nginx_upstream_slow',
    cause: 'settings_refused',
    needles: ['while reading response header from upstream', 'while reading upstream'],
    pattern: /upstream timed out \(\d{1,3}: (?:Connection|Operation) timed out\)/,
    isSign: true,
    says: 'nginx gives requests up before the engine has answered: they end with 504',
    why: 'proxy_read_timeout is 60 s unless it is set; a long prompt, a queue, or an answer without streaming takes longer before its next byte.',
    cure: 'Set proxy_read_timeout 600s; proxy_send_timeout 600s; proxy_buffering off; for that location (nginx.ingress.kubernetes.io/proxy-read-timeout: "600" on an Ingress)',
    disturbs: 'frontend',
  },
  {
    id: 'nginx_upstream_closed',
    cause: 'role_missing',
    needles: ['upstream prematurely closed connection while'],
    isSign: true,
    says: 'the engine closes connections of nginx before it answers: requests end with 502',
    why: 'vLLM and SGLang close an idle connection after 5 s, while nginx keeps it for 60 s and sends a request into one that is being closed. Where the engine ended at that time, that is the reason instead.',
    cure: 'Set VLLM_HTTP_TIMEOUT_KEEP_ALIVE=75 (SGLANG_TIMEOUT_KEEP_ALIVE=75) on the engines, above keepalive_timeout of the upstream block (60s); where an engine restarted at that time, read kubectl logs POD --previous',
  },
];
