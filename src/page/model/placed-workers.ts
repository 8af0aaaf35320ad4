import type { ViewWorker } from '../../core/view/view-document.js';
import type { PlacedWorker } from './hosts.js';
import type { TopologyJson } from './report.js';

/** What `api/v1/view/topology` answers, at most 100 workers at a time. */
export interface TopologyAnswer {
  readonly hosts: readonly {
    readonly node?: string;
    readonly rack?: string;
    readonly zone?: string;
    readonly workers: readonly (TopologyJson & {
      readonly id: number;
      readonly name: string;
      readonly role?: string;
    })[];
  }[];
  /** The first id of the next answer; absent in the last one. */
  readonly next?: number;
}

/** Workers of all answers, with their model and state from the view. */
export function placedWorkers(
  answers: readonly TopologyAnswer[],
  workers: readonly ViewWorker[],
): PlacedWorker[] {
  const byId = new Map(workers.map((worker) => [worker.id, worker]));
  return answers.flatMap(({ hosts }) =>
    hosts.flatMap(({ node, rack, zone, workers: there }) =>
      there.map(({ id, name, role = '', ...topology }) => ({
        id,
        name,
        role,
        group: byId.get(id)?.group ?? '',
        tone: byId.get(id)?.tone ?? 'plain',
        topology: {
          ...topology,
          placement: {
            ...topology.placement,
            ...(node === undefined ? {} : { nodeName: node }),
            ...(rack === undefined ? {} : { rack }),
            ...(zone === undefined ? {} : { zone }),
          },
        },
      })),
    ),
  );
}
