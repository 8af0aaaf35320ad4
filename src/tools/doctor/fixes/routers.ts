import type { ProposedFix } from '../diagnosis.js';
import { argumentsOf } from './lines.js';

/** Gives a router of SGLang or vLLM the workers that it does not start without; undefined for another sentence. */
export function workersForRouter(sentence: string): ProposedFix | undefined {
  // Not `--prefill-attention-backend` and the like, which are engines' flags.
  const isPair = /--(?:prefill|decode)(?![\w-])/.test(sentence);
  if (!isPair && !/--worker-urls/.test(sentence)) return undefined;
  const flags = isPair
    ? '--prefill http://PREFILL:PORT [BOOTSTRAP_PORT] --decode http://DECODE:PORT'
    : '--worker-urls http://ENGINE:PORT';
  return {
    says: `Start the router with ${flags}, once for each engine, or with --service-discovery and the selectors of their labels`,
    why: isPair
      ? 'In the mode that divides requests the router needs engines of both roles from the start, unless it finds them in Kubernetes. The bootstrap port is the one of SGLang (--disaggregation-bootstrap-port, 8998); vLLM has none.'
      : 'Without addresses and without discovery the router has nowhere to send a request.',
    disturbs: 'frontend',
    files: [],
    commands: [
      argumentsOf('the router', flags),
      argumentsOf(
        'or',
        isPair
          ? '--service-discovery --prefill-selector role=prefill --decode-selector role=decode'
          : '--service-discovery --selector app=ENGINE --service-discovery-port PORT',
      ),
    ],
    verify: ['curl -s http://ROUTER:PORT/workers    # the engines, healthy; /list_workers in older versions'],
  };
}

/** A router whose circuits to all workers are open: that it has none, or that it reaches none. */
export function reachWorkers(): ProposedFix {
  return {
    says: 'Run curl http://ROUTER:PORT/workers (older versions: /list_workers): an empty list says that no engine registered, an unhealthy one that the router does not reach it',
    why: 'The router takes a worker out after failures of its health check or of requests. Where none is listed, the client that should register them (POST /workers, /add_worker in older versions) speaks to another version or address. A proxy between them answers in place of the engine: NO_PROXY has to name the hosts of the engines.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'curl -s http://ROUTER:PORT/workers    # which workers, and whether they are healthy',
      'curl -s -o /dev/null -w "%{http_code}\\n" http://WORKER:PORT/health    # from the host of the router: 200',
      'env | grep -i proxy    # of the router; NO_PROXY=HOSTS_OF_THE_ENGINES',
    ],
    verify: ['curl -s http://ROUTER:PORT/readiness    # 200'],
  };
}
