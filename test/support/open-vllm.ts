import { systemClock } from '../../src/edge/platform/clock.js';
import { type EngineSurface, jsonPage } from '../../src/tools/demo/engines/engine-surface.js';
import { SimulatedEngine } from '../../src/tools/demo/engines/simulated-engine.js';
import { simulatedVllm } from '../../src/tools/demo/engines/simulated-vllm.js';

/** The demo's vLLM with one model, `tiny`, and 64 blocks. It has its address, and is down until `start`. */
export async function openVllm(
  tokensPerBlock: number,
  surface: EngineSurface = simulatedVllm,
): Promise<SimulatedEngine> {
  const setup = { model: 'tiny', tokensPerBlock, totalBlocks: 64, maxModelLen: 2_048 };
  const engine = new SimulatedEngine({ surface, setup }, { clock: systemClock });
  await engine.open();
  return engine;
}

/** The demo's vLLM, with another publisher than its own: from each start on it names what `sources` gives then. */
export function vllmNaming(sources: () => object): EngineSurface {
  return {
    ...simulatedVllm,
    pages: (run) => ({ ...simulatedVllm.pages(run), '/kv_event_sources': jsonPage(sources()) }),
  };
}
