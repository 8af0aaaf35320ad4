import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';

/** Checks of one worker that have to fail before it counts as lost: a single one fails of a busy worker, too. */
export const LOST_AFTER_CHECKS = 3;

/** That nobody listens at an address; a check that only takes too long is of a busy worker. */
const NOT_CONNECTED = /Connect(?:Error)?\b|[Rr]efused|dns error|No route to host|error sending request/;

/** Health checks of workers that fail, as routers write them: sgl-router, smg, vllm-router and vLLM's production stack. What they write while workers start ("is pending") is none. */
export const WORKER_HEALTH_RULES: readonly LogRule[] = [
  // sgl-router 0.1 to 0.2 and vllm-router, once for each worker that was healthy: "Worker http://w:30001 health check failed: Health check failed for worker http://w:30001: …".
  rule('health check failed: Health check failed for', (line, found) =>
    add(line, found, /Worker (\S{1,200}) health check failed: /, LOST_AFTER_CHECKS),
  ),
  rule(' is now healthy', (line, found) => {
    const worker = /Worker (\S{1,200}) is now healthy/.exec(line.text)?.[1];
    if (worker !== undefined) found.takeBack('worker_unreachable', line, worker);
  }),
  // sgl-router 0.3 and smg, of each check: "HTTP health check failed for http://w:30001/health: reqwest::Error { kind: Request, …".
  rule('HTTP health check failed for http', (line, found) => {
    if (NOT_CONNECTED.test(line.text)) add(line, found, /failed for (https?:\/\/[^\s/]{1,200})/);
  }),
  // vLLM's production stack with --static-backend-health-checks, of each round: a request with its answer, which says more than a check of /health.
  rule(' not healthy!', (line, found) => add(line, found, /\bat (https?:\/\/\S{1,200}) not healthy!/, 2)),
  rule(' is healthy (service_discovery.py', (line, found) => {
    const worker = /\bat (https?:\/\/\S{1,200}) is healthy/.exec(line.text)?.[1];
    if (worker !== undefined) found.takeBack('worker_unreachable', line, worker);
  }),
];

/** `count` checks of a worker that failed; as many as make it lost are said of one that was healthy before. */
function add(line: LogLine, found: LogFindings, pattern: RegExp, count = 1): void {
  const worker = pattern.exec(line.text)?.[1];
  if (worker === undefined) return;
  found.addSignal('worker_unreachable', line, {
    worker,
    value: count < LOST_AFTER_CHECKS ? 'fails checks' : 'was healthy',
    about: 'health',
    count,
  });
}
