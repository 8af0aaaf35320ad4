import { fabricsOf, type PlacedWorker } from './hosts.js';

/** How near two workers are: KV blocks travel between prefill and decode. */
export type Nearness = 'same host' | 'same NVLink fabric' | 'same rack' | 'same zone' | 'apart' | 'not known';

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
export const NEARNESS: readonly Nearness[] = [
  'same host',
  'same NVLink fabric',
  'same rack',
  'same zone',
  'apart',
  'not known',
];

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
    const places = new Map(
      fabricsOf([...roles.prefill, ...roles.decode]).flatMap(({ hosts }) =>
        hosts.flatMap((host) => host.workers.map((worker) => [worker.id, host] as const)),
      ),
    );
    const prefill = roles.prefill.slice(0, MAX_OF_ROLE);
    const decode = roles.decode.slice(0, MAX_OF_ROLE);
    const nearness = (a: PlacedWorker, b: PlacedWorker): Nearness => {
      const x = places.get(a.id);
      const y = places.get(b.id);
      if (x === undefined || y === undefined) return 'not known';
      if (x === y) return 'same host';
      if (x.fabric !== '' && x.fabric === y.fabric) return 'same NVLink fabric';
      if (x.rack !== '' && x.rack === y.rack && x.zone === y.zone) return 'same rack';
      if (x.zone !== '' && x.zone === y.zone) return 'same zone';
      return x.isNamed && y.isNamed ? 'apart' : 'not known';
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
