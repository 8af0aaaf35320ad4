import type { EngineWord } from '../../core/contract/engine-kinds.js';
import { reportedSource } from '../../core/contract/event-source.js';
import type { Fact } from '../../core/contract/facts.js';
import { engineOfWord } from '../../engines/catalogue/engines.js';
import { declaredFacts } from '../../engines/probing/declared.js';
import { ProbeError } from '../../engines/probing/probe.js';
import { EngineRole } from '../../gen/kvaccord/v1/capabilities.js';
import { SettingError } from '../setting-error.js';
import { readSettingFile } from '../setting-file.js';
import { eventSettingsOf, type KvEventSettings } from './event-settings.js';

/** A word of `--role`. */
type RoleName = 'aggregated' | 'prefill' | 'decode';

/** What an operator declares of a worker; live sources outrank it. */
export interface DeclarationSettings extends KvEventSettings {
  readonly engineKind: 'auto' | EngineWord;
  readonly tokensPerBlock: number | undefined;
  readonly model: string | undefined;
  readonly role: RoleName | undefined;
  /** Base URLs by which others reach the engine's HTTP. */
  readonly advertiseEngine: readonly string[];
  /** A YAML or JSON file with declared values. */
  readonly declare: string | undefined;
}

/** Largest file of declared values, in bytes: a few dozen short lines. */
const MAX_DECLARE_BYTES = 64 * 1024;

const ROLES: Readonly<Record<RoleName, EngineRole>> = {
  aggregated: EngineRole.AGGREGATED,
  prefill: EngineRole.PREFILL,
  decode: EngineRole.DECODE,
};

/** Reads what is declared; what cannot be used rejects with a `SettingError`. `nowMs`: wall-clock milliseconds. */
export async function readDeclaration(
  settings: DeclarationSettings,
  nowMs: number,
): Promise<readonly Fact[]> {
  const { tokensPerBlock, model, role, advertiseEngine, declare } = settings;
  const engineKind = engineOfWord(settings.engineKind)?.kind;
  const events = eventSettingsOf(settings);
  const text =
    declare === undefined ? undefined : await readSettingFile('--declare', declare, MAX_DECLARE_BYTES);
  try {
    return await declaredFacts(
      {
        ...(tokensPerBlock === undefined
          ? {}
          : { tokensPerBlock: { value: tokensPerBlock, origin: '--tokens-per-block' } }),
        ...(model === undefined ? {} : { model: { value: model, origin: '--model' } }),
        ...(engineKind === undefined ? {} : { engineKind: { value: engineKind, origin: '--engine-kind' } }),
        ...(role === undefined ? {} : { role: { value: ROLES[role], origin: '--role' } }),
        ...(advertiseEngine.length === 0
          ? {}
          : { advertisedUrls: { value: advertiseEngine, origin: '--advertise-engine' } }),
        ...(events?.from === 'operator'
          ? { eventSources: { value: events.sources.map(reportedSource), origin: '--kv-event-sources' } }
          : {}),
        ...(declare === undefined || text === undefined ? {} : { file: { path: declare, text } }),
      },
      nowMs,
    );
  } catch (error) {
    throw error instanceof ProbeError ? new SettingError(`--declare: ${error.message}`) : error;
  }
}
