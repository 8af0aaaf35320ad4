import type { ViewWorker } from '../../../src/core/view/view-document.js';

/** A worker of the view that is well, with other fields where a test needs them. */
export function viewWorker(id: number, fields: Partial<ViewWorker> = {}): ViewWorker {
  return {
    id,
    group: 'llama',
    target: `10.0.0.${id}:50061`,
    workerId: `worker-${id}`,
    instanceId: `instance-${id}`,
    shown: 'verified',
    tone: 'good',
    rank: 30,
    requests: 'yes',
    why: '',
    ...fields,
  };
}
