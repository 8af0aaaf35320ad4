import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../../engines/descriptor/engine-descriptor.js';
import type { EngineTuning, SettingLine } from '../../../engines/descriptor/engine-launch.js';
import { VLLM } from '../../../engines/vllm/descriptor.js';
import { VLLM_LAUNCH } from '../../../engines/vllm/launch.js';
import { argumentsOf, engineYaml } from './lines.js';

/** The settings that give an engine's prefix cache more room; those of vLLM, as an example, where the engine is not known. */
export function tuningOf(backend: string | undefined): EngineTuning {
  return (engineOfWord(backend)?.launch ?? VLLM_LAUNCH).tuning;
}

/** A setting as the report shows it: the engine's arguments, or its YAML. */
export function settingLine(backend: string | undefined, setting: SettingLine): string {
  const engine = engineOfWord(backend);
  return lineOf(engine?.launch === undefined ? VLLM : engine, setting);
}

/** The same of one engine. */
export function lineOf({ displayName }: EngineDescriptor, { where, line, note }: SettingLine): string {
  return where === 'yaml' ? engineYaml(line, note) : argumentsOf(displayName, line, note);
}
