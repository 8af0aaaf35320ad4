import type { GroupView } from '../../../core/agreement/view/snapshot.js';
import type { EngineSetup, EngineSurface } from '../engines/engine-surface.js';
import { simulatedVllm } from '../engines/simulated-vllm.js';
import type { PlannedWorker } from '../stage.js';

/** The model that every fleet of the demo serves. */
export const MODEL = 'demo-model';

/** A worker of the demo's model. Its engine is vLLM unless `surface` says otherwise, and publishes KV events where it can. */
export function planWorker(
  name: string,
  tokensPerBlock: number,
  surface: EngineSurface = simulatedVllm,
  setup: Partial<EngineSetup> = {},
): PlannedWorker {
  const publishesKvEvents = surface.kvEvents !== undefined;
  return { name, surface, setup: { model: MODEL, tokensPerBlock, publishesKvEvents, ...setup } };
}

/** The same worker with its engine up before its sidecar. */
export function running(worker: PlannedWorker): PlannedWorker {
  return { ...worker, isRunning: true };
}

/** Whether the gate is open with that size. */
export function isOpenWith(group: GroupView | undefined, tokensPerBlock: number): boolean {
  return group?.gateOpen === true && group.values?.tokens_per_block === tokensPerBlock;
}

/** The names of the members in a state, in order. */
export function namesIn(group: GroupView | undefined, state: GroupView['members'][number]['state']): string {
  const members = group?.members ?? [];
  return members
    .filter((member) => member.state === state)
    .map(({ target }) => target)
    .sort()
    .join(', ');
}
