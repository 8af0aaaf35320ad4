import type { ProposedFix } from '../diagnosis.js';
import { argumentsOf } from './lines.js';

/** Gives a router of SGLang or vLLM the workers that it does not start without; undefined for another sentence. */
export function workersForRouter(sentence: string): ProposedFix | undefined {
  // Not `--prefill-attention-backend` and the like, which are engines' flags.
  const isPair = /--(?:prefill|decode)(?![\w-])/.test(sentence);
  if (!isPair && !/--worker-urls/.test(sentence)) return undefined;
  const [, other] = /worker '(\S{1,120}?)' is not in --worker-urls/.exec(sentence) ?? [];
  if (other !== undefined) return eventSourceOfWorker(other);
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

/** vLLM's router: `--kv-event-source WORKER_URL=ENDPOINT` of an engine that it does not route to. */
function eventSourceOfWorker(url: string): ProposedFix {
  return {
    says: `Write in --kv-event-source (and --kv-event-replay-source) the URL of an engine as it stands in --worker-urls, in place of ${url}, or add ${url} to --worker-urls`,
    why: 'The router keeps the events of an engine under its URL, and compares the two to the letter: host, port and scheme.',
    disturbs: 'frontend',
    files: [],
    commands: [
      argumentsOf(
        'the router',
        '--worker-urls http://ENGINE:PORT --kv-event-source http://ENGINE:PORT=tcp://ENGINE:EVENT_PORT',
      ),
    ],
    verify: ['curl -s http://ROUTER:PORT/workers    # the engines, healthy'],
  };
}

/** Gives vLLM's router the block size of the engines whose events it reads by `--kv-event-source`. */
export function eventBlockSizeFix(engines: number | undefined): ProposedFix {
  const flag = `--kv-event-block-size ${engines ?? 'N'}`;
  return {
    says: `Start the router with ${flag}, the --block-size of the engines`,
    why: 'With sources that are given on its command line the router splits prompts by its own number (16 unless it is set), and compares it with no event. Only the router restarts; its index fills again as prompts come.',
    disturbs: 'frontend',
    files: [],
    commands: [argumentsOf('the router', flag)],
    verify: [
      'kubectl logs ROUTER | grep "using configured static KV event sources"    # block_size is that of the engines',
    ],
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

/** Engines that a router had, and whose health checks fail now. */
export function restartLostWorkers(workers: readonly string[]): ProposedFix {
  return {
    says: `See whether the engines at ${workers.join(', ')} run and answer /health, read the end of the log of each that does not, and restart it`,
    why: 'The first error of the log of an engine that has ended is the reason. Where it runs and answers, the router has an old address, or a policy or proxy between them refuses.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      ...workers
        .filter((worker) => worker.startsWith('http'))
        .map(
          (worker) =>
            `curl -sS -m 5 -o /dev/null -w "%{http_code}\\n" ${worker}/health    # from the host of the router: 200`,
        ),
      'kubectl get pods -o wide    # RESTARTS, READY and the addresses of the engines',
      'kubectl logs POD --previous | grep -nE "ERROR|Traceback|error" | head -n 20    # why it ended',
    ],
    verify: ['kubectl logs ROUTER --since=5m | grep -ciE "health check failed|not healthy"    # should be 0'],
  };
}

/** A role whose engines are listed, and taken out after failures, as far as a line of SGLang's router says; undefined for other lines. */
export function rolesOfRouter(said: string, role: string): ProposedFix | undefined {
  // "No available decode workers (all circuits open or unhealthy)"
  if (/all circuits open|No available (?:prefill|decode) workers/.test(said)) return closeCircuits(role);
  if (/Failed to select (?:prefill|decode) worker/.test(said)) return chooseAnother(role);
  return /sglang_router|smg::|(?:prefill|decode) servers available/.test(said) ? nameRole(role) : undefined;
}

function closeCircuits(role: string): ProposedFix {
  return {
    says: `Run curl http://ROUTER:PORT/workers and read the log of each ${role} engine that it has as unhealthy, at that time; where they serve and were only full, raise --cb-failure-threshold and --request-timeout-secs of the router, or start it with --disable-circuit-breaker`,
    why: 'The router opens the circuit of an engine after some failures in a row: health checks that time out, but also answers of 500 and 503 to requests, as of an engine that is full or whose transfers fail. With all circuits of a role open each request fails immediately, until the time-out of the circuit ends.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'curl -s http://ROUTER:PORT/workers    # healthy or not, for each role',
      'kubectl logs POD --since=15m | grep -m10 -iE "error|exception|timed out"    # of the engines that are not',
    ],
    verify: ['kubectl logs ROUTER --since=5m | grep -c "all circuits open"    # should be 0'],
  };
}

function chooseAnother(role: string): ProposedFix {
  return {
    says: `Start the router with --policy random or --policy round_robin, or a later sglang-router with cache_aware; where curl http://ROUTER:PORT/workers (older versions: /list_workers) lists no healthy ${role} engine, get that one ready first`,
    why: 'The engines are there, and the policy chooses none: up to 0.1.9 cache_aware has no tree for engines that service discovery adds after the start of a router for pairs (issues 8557 and 10608 of SGLang).',
    disturbs: 'frontend',
    files: [],
    commands: [
      'curl -s http://ROUTER:PORT/workers    # the engines, healthy',
      'pip list | grep -i sglang-router    # the version that is there',
    ],
    verify: ['kubectl logs ROUTER --since=5m | grep -c "Failed to select"    # should be 0'],
  };
}

function nameRole(role: string): ProposedFix {
  const given =
    role === 'decode' ? '--decode http://DECODE:PORT' : '--prefill http://PREFILL:PORT BOOTSTRAP_PORT';
  return {
    says: `Give the router a ${role} engine that is ready: ${given}, or --service-discovery with --${role === 'decode' ? 'decode' : 'prefill'}-selector KEY=VALUE of its pods; curl http://ROUTER:PORT/workers shows those that it has`,
    why: 'A router for pairs needs an engine of each role. It lists those that it was given or found by their labels, once they answer /health.',
    disturbs: 'frontend',
    files: [],
    commands: [
      'curl -s http://ROUTER:PORT/workers    # the engines, healthy, and of which role',
      'kubectl get pods --show-labels    # ready, and with the labels of the selector',
    ],
    verify: [
      'kubectl logs ROUTER --since=5m | grep -ciE "no (available )?(prefill|decode)"    # should be 0',
    ],
  };
}

/** Makes an engine answer at the address that a router or a planner has. */
export function reachEngine(address: string | undefined, why: string): ProposedFix {
  const place = address ?? 'http://ENGINE:PORT';
  const url = place.includes('://') ? place : `http://${place}`;
  const isName = why.startsWith('its name');
  return {
    says: isName
      ? `Give the program the name of an engine that there is in place of ${place} (kubectl get svc,pods -A -o wide)`
      : `Start the engine at ${place} again with --host 0.0.0.0 and this port where it has ended (its log has why; curl -v ${url}/v1/models), or correct the address that the program is given`,
    why: 'Nothing listens where a connection is refused: the engine still loads, has ended, has another port, or listens at 127.0.0.1 alone. No answer at all is a NetworkPolicy, a firewall or an address of a pod that is gone.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `curl -v ${url}/v1/models    # from the pod of the router`,
      'kubectl get pods -o wide    # addresses, readiness and restarts of the engines',
    ],
    verify: [`curl -s -o /dev/null -w '%{http_code}' ${url}/v1/models    # should be 200`],
  };
}
