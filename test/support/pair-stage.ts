import { systemClock } from '../../src/edge/platform/clock.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { EngineRole } from '../../src/gen/kvaccord/v1/capabilities.js';
import { simulatedVllm } from '../../src/tools/demo/engines/simulated-vllm.js';
import { TransferNetwork } from '../../src/tools/demo/engines/transfer-network.js';
import type { ProcessLine } from '../../src/tools/demo/process-log.js';
import { planWorker, running } from '../../src/tools/demo/scenes/fleet.js';
import { type PlannedWorker, Stage } from '../../src/tools/demo/stage.js';

/** Words, which are tokens, of a prompt that is worth a transfer. */
export const WORDS = 400;

/** Simulated prefill and decode workers with their sidecars and an aggregator. */
export interface PairStage {
  readonly stage: Stage;
  /** Over which their KV blocks move. */
  readonly network: TransferNetwork;
  /** What its processes have logged. */
  readonly lines: readonly ProcessLine[];
}

/** Opens one with workers that are named by their parts: `prefill-1`, `decode-1`; others serve whole requests. */
export async function openPairStage(
  names: readonly string[],
  open: { add(close: () => unknown): void },
): Promise<PairStage> {
  const network = new TransferNetwork();
  const lines: ProcessLine[] = [];
  const stage = new Stage(
    { version: '0.0.0', probeIntervalMs: 50, settleMs: 100 },
    { clock: systemClock, random: systemRandom, onLine: (line) => lines.push(line), onView: () => {} },
  );
  open.add(() => stage.close());
  await stage.open();
  await stage.addWorkers(names.map((name) => plannedPart(name, network)));
  return { stage, network, lines };
}

/** A worker of such a stage. */
function plannedPart(name: string, network: TransferNetwork): PlannedWorker {
  const role = /^(?:prefill|decode)/.exec(name)?.[0] as 'prefill' | 'decode' | undefined;
  if (role === undefined) return running(planWorker(name, 16));
  const worker = planWorker(name, 16, simulatedVllm, { part: { role, network } });
  return { ...running(worker), role: role === 'prefill' ? EngineRole.PREFILL : EngineRole.DECODE };
}

let prompts = 0;

/** A prompt that no engine has seen. */
export function newPrompt(words: number = WORDS): string {
  prompts += 1;
  return Array.from({ length: words }, (_, at) => `w${prompts}x${at}`).join(' ');
}

/** The lines of the aggregator's metrics that begin so. */
export async function metricLines({ stage }: Pick<PairStage, 'stage'>, name: string): Promise<string[]> {
  const text = await stage.aggregator.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(name));
}

/** Their sum. */
export async function metricSum(of: Pick<PairStage, 'stage'>, name: string): Promise<number> {
  const lines = await metricLines(of, name);
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
