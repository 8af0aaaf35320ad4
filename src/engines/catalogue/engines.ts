import type { EngineWord } from '../../core/contract/wire/engine-kinds.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import { DYNAMO } from '../dynamo/descriptor.js';
import { OTHER } from '../other/descriptor.js';
import { openaiModels } from '../probing/openai-models.js';
import type { EngineProbe } from '../probing/probe.js';
import { SGLANG } from '../sglang/descriptor.js';
import { TRTLLM } from '../trtllm/descriptor.js';
import { VLLM } from '../vllm/descriptor.js';

/** Every engine, in the order in which they are recognised and reported. */
export const ENGINES: readonly EngineDescriptor[] = [VLLM, SGLANG, TRTLLM, DYNAMO, OTHER];

const BY_KIND: ReadonlyMap<EngineDescriptor['kind'], EngineDescriptor> = new Map(
  ENGINES.map((engine) => [engine.kind, engine]),
);
const BY_WORD: ReadonlyMap<string, EngineDescriptor> = new Map(
  ENGINES.map((engine) => [engine.word, engine]),
);

/** The descriptor of a kind; undefined for a kind that is not known yet, or of a newer peer. */
export function engineOfKind(kind: EngineDescriptor['kind'] | undefined): EngineDescriptor | undefined {
  return kind === undefined ? undefined : BY_KIND.get(kind);
}

/** The descriptor of `vllm`, `sglang`, …; undefined for any other word. */
export function engineOfWord(word: string | undefined): EngineDescriptor | undefined {
  return word === undefined ? undefined : BY_WORD.get(word);
}

/** The descriptor of the engine that names itself as a model's `owned_by`; undefined for any other owner. */
export function engineOfOwner(owner: unknown): EngineDescriptor | undefined {
  return typeof owner !== 'string'
    ? undefined
    : ENGINES.find(({ recognition }) => recognition.owners.includes(owner));
}

/** Every probe, in the order of the report: what any engine may have first. */
export async function loadEngineProbes(): Promise<readonly EngineProbe[]> {
  const probings = await Promise.all(ENGINES.map((engine) => engine.loadProbing()));
  return [openaiModels, ...probings.flatMap(({ probes }) => probes)];
}

/** How the output of one engine is read. */
export interface NamedDiagnosis extends EngineDiagnosis {
  readonly word: EngineWord;
}

/** How the output of every known engine is read, first of those whose processes run one of the others. */
export async function loadEngineDiagnoses(): Promise<readonly NamedDiagnosis[]> {
  const inOrder = [
    ...ENGINES.filter(({ runsOtherEngines }) => runsOtherEngines === true),
    ...ENGINES.filter(({ runsOtherEngines }) => runsOtherEngines !== true),
  ];
  const loaded = inOrder.map(async ({ word, loadDiagnosis }) => {
    const diagnosis = await loadDiagnosis?.();
    return diagnosis === undefined ? [] : [{ word, ...diagnosis }];
  });
  return (await Promise.all(loaded)).flat();
}
