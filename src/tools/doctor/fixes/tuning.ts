import type { EngineDescriptor } from '../../../engines/descriptor/engine-descriptor.js';
import type { EngineTuning, SettingLine } from '../../../engines/descriptor/engine-launch.js';
import type { Seen } from '../measurements/seen.js';
import { argumentsOf, engineYaml } from './lines.js';

/** Of an engine that was seen, with how it is started. */
export interface KnownEngine {
  readonly engine: EngineDescriptor;
  readonly tuning: EngineTuning;
  /** As the fleet starts it: `dynamo.vllm`, else `vLLM`. */
  readonly program: string;
}

/** The engines that were seen. Cures are theirs and no others'. */
export function knownEngines({ engines, dynamo }: Seen): readonly KnownEngine[] {
  return engines.flatMap((engine) => {
    const { launch, displayName } = engine;
    if (launch === undefined) return [];
    const program = dynamo ? (launch.dynamo?.module ?? displayName) : displayName;
    return [{ engine, tuning: launch.tuning, program }];
  });
}

/** The engine that was seen, when it is one. */
export function onlyEngine(seen: Seen): KnownEngine | undefined {
  const known = knownEngines(seen);
  return known.length === 1 ? known[0] : undefined;
}

/** One setting as each engine that was seen writes it; when none was seen, how to have it named. */
export function engineLines(
  seen: Seen,
  settingOf: (tuning: EngineTuning) => SettingLine | undefined,
): readonly string[] {
  const known = knownEngines(seen);
  if (known.length === 0) return [ASK_FOR_ENGINE];
  return known.flatMap((one) => {
    const setting = settingOf(one.tuning);
    return setting === undefined ? [] : [lineOf(one, setting)];
  });
}

/** A setting as the report shows it: the engine's arguments, or its YAML. */
export function lineOf({ program }: KnownEngine, { where, line, note }: SettingLine): string {
  return where === 'yaml' ? engineYaml(line, note) : argumentsOf(program, line, note);
}

/** The setting within a sentence, with its place: `dynamo.vllm with --max-num-seqs 8`. */
export function startedWith({ program }: KnownEngine, { where, line }: SettingLine): string {
  return where === 'yaml'
    ? `write ${line} into the engine file of each ${program} worker`
    : `start each ${program} worker ${line.startsWith('without ') ? line : `with ${line}`}`;
}

/** Where the engine was not seen, its flags are not guessed. */
const ASK_FOR_ENGINE =
  'kv-accord doctor --metrics http://WORKER:PORT/metrics …    # with the engine seen, its own flag is named here';
