import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';

/** The mode is known, and lines of all requests are there: a request without a hit is a miss. */
const KV_AWARE = 'kvaware';
/** The hit or the miss of the request whose line comes next is counted already. */
const COUNTED = 'kvaware, counted';
/** Hits or misses alone were seen, as `grep` leaves them: no share of requests follows from them. */
const ALONE = 'kvaware, alone';

/** Lines of the router of vLLM's production stack in its mode `kvaware` (src/vllm_router/routers/routing_logic.py, 0.1). */
export const PRODUCTION_STACK_RULES: readonly LogRule[] = [
  // The line of a traceback whose last one is "KeyError: 'engine0'".
  rule('self.instance_id_to_ip[queried_instance_ids', (line, found) => {
    if (!line.text.includes('return ')) return;
    found.addSignal('instance_unknown', line, { about: 'instance_id_to_ip' });
  }),
  rule('Initializing kvaware routing logic', (_line, found) => {
    found.routerMode = KV_AWARE;
  }),
  // Of each hit: how many blocks it does not say, but that there is one.
  rule(' found by kvaware router', (line, found) => {
    const worker = /Routing request to (\S{1,253}) found by/.exec(line.text)?.[1];
    if (worker !== undefined) addDecision(line, found, worker, 1);
  }),
  // At the debug level, of each miss.
  rule('Matched instance url None', (line, found) => addDecision(line, found, '', 0)),
  // "Routing request ID with session id None to http://… at …, process time = …" of each request in every mode.
  rule(', process time = ', (line, found) => {
    const worker = /Routing request \S{1,253} (?:with session id .{1,253} )?to (\S{1,253}) at /.exec(
      line.text,
    )?.[1];
    if (worker === undefined) return;
    // Only engines whose last check passed get requests.
    found.takeBack('worker_unreachable', line, worker);
    if (!found.routerMode.startsWith(KV_AWARE)) return;
    if (found.routerMode === KV_AWARE)
      found.addDecision('selected', line, { worker, cachedBlocks: 0, treeSize: undefined });
    else found.routerMode = KV_AWARE;
  }),
];

function addDecision(line: LogLine, found: LogFindings, worker: string, cachedBlocks: number): void {
  const isAlone = !found.routerMode.startsWith(KV_AWARE) || found.routerMode === ALONE;
  if (isAlone) found.addDecision('blind', line, { worker, cachedBlocks: undefined, treeSize: undefined });
  else found.addDecision('selected', line, { worker, cachedBlocks, treeSize: undefined });
  found.routerMode = isAlone ? ALONE : COUNTED;
}
