import { reportedSource } from '../../core/contract/evidence/event-source.js';
import type { Fact } from '../../core/contract/evidence/facts.js';
import type { EngineWord } from '../../core/contract/wire/engine-kinds.js';
import { showValue } from '../../edge/platform/probe-error.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { engineOfWord } from '../../engines/catalogue/engines.js';
import { type Declaration, declaredFacts } from '../../engines/probing/declared.js';
import { ProbeError } from '../../engines/probing/probe.js';
import { sideChannelAddress } from '../../engines/probing/side-channel-address.js';
import { EngineKind, EngineRole } from '../../gen/kvaccord/v1/capabilities.js';
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
  /** HOST:PORT of each data-parallel rank's side channel. */
  readonly sideChannel: readonly string[];
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

/**
 * Where the operator says that the side channels are; else where vLLM's own
 * variables say so, which a sidecar has that is started with its engine.
 */
function sideChannelsOf(named: readonly string[], environment: Environment): Declaration['sideChannels'] {
  if (named.length > 0) return { value: named, origin: '--side-channel' };
  const host = environment['VLLM_NIXL_SIDE_CHANNEL_HOST'];
  const port = environment['VLLM_NIXL_SIDE_CHANNEL_PORT'];
  if (host === undefined || port === undefined) return undefined;
  const address = sideChannelAddress(host, Number(port));
  if (address === undefined) {
    throw new SettingError(
      `VLLM_NIXL_SIDE_CHANNEL_HOST and VLLM_NIXL_SIDE_CHANNEL_PORT are ${showValue(host)} and ${showValue(port)}: no HOST:PORT; correct or unset them, or name the side channel by --side-channel`,
    );
  }
  return { value: [address], origin: 'VLLM_NIXL_SIDE_CHANNEL_HOST and …_PORT of the sidecar' };
}

/** Reads what is declared; what cannot be used rejects with a `SettingError`. `nowMs`: wall-clock milliseconds. */
export async function readDeclaration(
  settings: DeclarationSettings,
  environment: Environment,
  nowMs: number,
): Promise<readonly Fact[]> {
  const { tokensPerBlock, model, role, advertiseEngine, declare } = settings;
  const sideChannels = sideChannelsOf(settings.sideChannel, environment);
  const engineKind = engineOfWord(settings.engineKind)?.kind;
  const events = eventSettingsOf(settings);
  const text =
    declare === undefined ? undefined : await readSettingFile('--declare', declare, MAX_DECLARE_BYTES);
  let facts: readonly Fact[];
  try {
    facts = await declaredFacts(
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
        ...(sideChannels === undefined ? {} : { sideChannels }),
        ...(declare === undefined || text === undefined ? {} : { file: { path: declare, text } }),
      },
      nowMs,
    );
  } catch (error) {
    throw error instanceof ProbeError ? new SettingError(`--declare: ${error.message}`) : error;
  }
  if (engineKind === EngineKind.OTHER) checkUnknownEngine(settings, facts);
  return facts;
}

/** An engine that is not known here cannot be asked for its block size, nor where its KV events are. `off` is an answer. */
function checkUnknownEngine({ kvEventSources }: DeclarationSettings, facts: readonly Fact[]): void {
  const hasSize = facts.some(({ type }) => type === 'block_size');
  const hasEvents =
    kvEventSources[0] !== 'auto' ||
    facts.some((fact) => fact.type === 'field' && fact.field === 'kv_event_sources');
  const missing = [
    ...(hasSize ? [] : [['--tokens-per-block (KV_ACCORD_TOKENS_PER_BLOCK)', 'tokens_per_block'] as const]),
    ...(hasEvents ? [] : [['--kv-event-sources (KV_ACCORD_KV_EVENT_SOURCES)', 'kv_event_sources'] as const]),
  ];
  if (missing.length === 0) return;
  const [flags, fields] = [missing.map(([flag]) => flag), missing.map(([, field]) => field)];
  throw new SettingError(
    `--engine-kind other: must be given together with ${flags.join(' and ')}, or with ${fields.join(' and ')} in the file of --declare: an engine that is not known here cannot be asked for that`,
  );
}
