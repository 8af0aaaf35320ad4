import { classOfPair } from '../../core/pairs/pair-class.js';
import { PAIR_CLASSES, type PairClass } from '../../core/pairs/pair-words.js';
import type { PlacedWorker } from './hosts.js';
import { positionOfJson } from './position.js';

/** How near two workers are, as the agreement judges it: KV blocks travel between prefill and decode. */
export type Nearness =
  | 'same GPU'
  | 'same NVLink fabric'
  | 'NVLink on one host'
  | 'same PCIe root'
  | 'same NUMA node'
  | 'same host'
  | 'same rack'
  | 'same zone'
  | 'same region'
  | 'apart'
  | 'not known';

/** Each class in words. */
export const NEARNESS_LABELS: Readonly<Record<PairClass, Nearness>> = {
  same_gpu: 'same GPU',
  nvlink_fabric: 'same NVLink fabric',
  nvlink_host: 'NVLink on one host',
  same_pcie_root: 'same PCIe root',
  same_numa_node: 'same NUMA node',
  same_host: 'same host',
  same_rack: 'same rack',
  same_zone: 'same zone',
  same_region: 'same region',
  apart: 'apart',
  unknown: 'not known',
};

/** One prefill and one decode worker of a model. */
export interface RolePair {
  readonly prefill: PlacedWorker;
  readonly decode: PlacedWorker;
  readonly nearness: Nearness;
}

/** The two roles of a model that is served by both. */
export interface RolePairs {
  readonly group: string;
  readonly prefill: readonly PlacedWorker[];
  readonly decode: readonly PlacedWorker[];
  /** Each prefill worker with each decode worker, of those that are shown. */
  readonly pairs: readonly RolePair[];
  readonly counts: readonly { readonly nearness: Nearness; readonly count: number }[];
}

/** The nearest first. */
const NEARNESS: readonly Nearness[] = PAIR_CLASSES.map((name) => NEARNESS_LABELS[name]);

/** Which of the six kinds of line a pair is drawn with, 0 the nearest. */
export function lineOf(nearness: Nearness): number {
  switch (nearness) {
    case 'same NVLink fabric':
      return 1;
    case 'same rack':
      return 2;
    case 'same zone':
      return 3;
    case 'same region':
    case 'apart':
      return 4;
    case 'not known':
      return 5;
    default:
      return 0;
  }
}

/** Workers of each role that are drawn. */
const MAX_OF_ROLE = 10;

/** Models that have workers of both roles, and how near these are to each other. */
export function pairsOf(workers: readonly PlacedWorker[]): RolePairs[] {
  const groups = new Map<string, { prefill: PlacedWorker[]; decode: PlacedWorker[] }>();
  for (const worker of workers) {
    if (worker.role !== 'prefill' && worker.role !== 'decode') continue;
    const roles = groups.get(worker.group) ?? { prefill: [], decode: [] };
    roles[worker.role].push(worker);
    groups.set(worker.group, roles);
  }
  return [...groups].flatMap(([group, roles]) => {
    if (roles.prefill.length === 0 || roles.decode.length === 0) return [];
    const prefill = roles.prefill.slice(0, MAX_OF_ROLE);
    const decode = roles.decode.slice(0, MAX_OF_ROLE);
    const positions = new Map(
      [...prefill, ...decode].map(({ id, topology }) => [id, positionOfJson(topology)]),
    );
    const nearness = (a: PlacedWorker, b: PlacedWorker): Nearness => {
      const [ours, theirs] = [positions.get(a.id), positions.get(b.id)];
      return ours === undefined || theirs === undefined
        ? 'not known'
        : NEARNESS_LABELS[classOfPair(ours, theirs).class];
    };
    const pairs = prefill.flatMap((one) =>
      decode.map((other) => ({ prefill: one, decode: other, nearness: nearness(one, other) })),
    );
    return [
      {
        group,
        ...roles,
        pairs,
        counts: NEARNESS.map((name) => ({
          nearness: name,
          count: pairs.filter((pair) => pair.nearness === name).length,
        })).filter(({ count }) => count > 0),
      },
    ];
  });
}
