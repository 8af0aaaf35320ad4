import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import { EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { EngineView } from '../../../../src/worker/sidecar/probing/engine-watch.js';
import { blockSize, servedModel } from './scripted-probe.js';

/** What is known of a ready engine that reports these facts. */
export function readyView(facts: readonly Fact[] = [blockSize(32), servedModel()]): EngineView {
  return {
    instanceId: 'i-1',
    state: EngineState.READY,
    problems: [],
    facts,
    warnings: [],
    probes: [],
  };
}

/** What is known of an engine that cannot be reached. */
export function downView(): EngineView {
  return {
    ...readyView([]),
    state: EngineState.UNREACHABLE,
    problems: ['cannot reach the engine at http://e:1: connection refused'],
  };
}
