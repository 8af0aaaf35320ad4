import { workerName } from '../../core/text/worker-name.js';
import { ApiError, type ApiRoute, MadeJson } from '../../edge/http/api.js';
import type { EventStreamRoute } from '../../edge/http/event-stream.js';
import {
  CapabilityReport,
  Gpu,
  GpuLink,
  Nic,
  NumaNode,
  type Topology,
} from '../../gen/kvaccord/v1/capabilities.js';
import { type GroupResults, RankResults } from '../../gen/kvaccord/v1/router.js';
import type { ViewBoard } from './view-board.js';
import { type ViewPairsModules, viewPairs } from './view-pairs.js';

/** Workers of one answer about topology: 8 GPUs and 10 NICs with their links are 10 kB. */
const MAX_TOPOLOGIES = 100;

/** Results of one worker that are shown: its ranks. */
const MAX_RESULTS = 64;

export interface ViewRoutesModules {
  readonly board: ViewBoard;
  /** Reports by target; `FleetRunner` has them. */
  reportOf(target: string): CapabilityReport | undefined;
  /** Results of a group; empty where nobody routes. */
  resultsOf(group: string): readonly GroupResults[];
  /** The pairs of prefill and decode workers as they are now. */
  pairs(): ViewPairsModules;
}

/** The view as JSON. */
export function viewRoutes({ board, reportOf, resultsOf, pairs }: ViewRoutesModules): ApiRoute[] {
  return [
    {
      path: '/view',
      summary: 'What pages and terminals show: models, workers, routing of the last minutes, timeline',
      response: { type: 'object', description: 'A ViewDocument; see docs/http-and-grpc.md' },
      handle: () => new MadeJson(`${board.snapshot().json}\n`),
    },
    {
      path: '/view/workers/{id}',
      summary: 'One worker of the view, with its report and its results',
      response: {
        type: 'object',
        properties: {
          worker: { type: 'object' },
          report: { type: 'object', description: 'kvaccord.v1.CapabilityReport' },
          results: { type: 'array', items: { type: 'object', description: 'kvaccord.v1.RankResults' } },
        },
      },
      handle: ({ params }) => {
        board.snapshot();
        const id = Number(params['id']);
        const target = board.workers.targetOf(id);
        const worker = board.workers.viewOf(id);
        if (target === undefined || worker === undefined)
          throw new ApiError(404, 'unknown_worker', 'no worker of /api/v1/view has this id');
        const report = reportOf(target);
        const ranks = resultsOf(worker.group).flatMap((group) => group.ranks);
        return {
          worker,
          ...(report === undefined ? {} : { report: CapabilityReport.toJSON(report) }),
          results: ranks
            .filter((rank) => rank.target === target)
            .slice(0, MAX_RESULTS)
            .map((rank) => RankResults.toJSON(rank)),
        };
      },
    },
    {
      path: '/view/topology',
      summary: 'Hosts with the GPUs, links and NICs of their workers, a hundred workers at a time',
      query: { from: 'the id of the first worker; next of the answer before' },
      response: {
        type: 'object',
        properties: {
          hosts: { type: 'array', items: { type: 'object' } },
          next: { type: 'integer', description: 'absent on the last page' },
        },
      },
      handle: ({ query }) => {
        board.snapshot();
        const from = Number(query.get('from') ?? 0);
        if (!Number.isSafeInteger(from) || from < 0)
          throw new ApiError(400, 'wrong_query', 'from must be a whole number, the id of a worker');
        return topologyFrom(from, board, reportOf);
      },
    },
    {
      path: '/view/pairs',
      summary: 'Pairs of prefill and decode workers: state, class, cost, and why one cannot be used',
      response: { type: 'object', description: 'A ViewPairs; see docs/http-and-grpc.md' },
      handle: () => viewPairs(pairs()),
    },
  ];
}

/** The view as a stream of server-sent events. */
export function viewStream(board: ViewBoard): EventStreamRoute {
  return {
    path: '/view/events',
    summary: 'The view, and then what changes of it, as server-sent events',
    open: (client) => board.watch(client),
    drained: (client) => board.drained(client),
  };
}

interface Host {
  readonly node: string;
  readonly rack?: string | undefined;
  readonly zone?: string | undefined;
  readonly workers: unknown[];
}

function topologyFrom(
  from: number,
  board: ViewBoard,
  reportOf: (target: string) => CapabilityReport | undefined,
): unknown {
  const workers = board.workers.all.filter(({ id }) => id >= from).sort((a, b) => a.id - b.id);
  const hosts = new Map<string, Host>();
  for (const { id, group, role, node = '', rack, zone, target, workerId } of workers.slice(
    0,
    MAX_TOPOLOGIES,
  )) {
    const key = JSON.stringify([node, rack, zone]);
    let host = hosts.get(key);
    if (host === undefined) {
      host = { node, rack, zone, workers: [] };
      hosts.set(key, host);
    }
    const topology = reportOf(board.workers.targetOf(id) ?? '')?.topology;
    host.workers.push({ id, name: workerName({ workerId, target }), group, role, ...devicesOf(topology) });
  }
  const next = workers[MAX_TOPOLOGIES]?.id;
  return { hosts: [...hosts.values()], ...(next === undefined ? {} : { next }) };
}

function devicesOf(topology: Topology | undefined): Readonly<Record<string, unknown>> {
  const { gpus = [], links = [], nics = [], numaNodes = [], notes = [] } = topology ?? {};
  return {
    gpus: gpus.map((gpu) => Gpu.toJSON(gpu)),
    links: links.map((link) => GpuLink.toJSON(link)),
    nics: nics.map((nic) => Nic.toJSON(nic)),
    numaNodes: numaNodes.map((numa) => NumaNode.toJSON(numa)),
    notes,
  };
}
