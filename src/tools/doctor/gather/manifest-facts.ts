import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { SettingName, Side, SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import { FRONTEND_DEFAULT_TOKENS, ROUTER_DEFAULT_TOKENS } from '../../../engines/dynamo/default-sizes.js';
import { readEngineConfig } from '../../manifests/lint/config/engine-config.js';
import type { Fleet } from '../../manifests/lint/facts/fleet.js';
import { eventsOff, type FrontendFacts } from '../../manifests/lint/facts/router-facts.js';
import type { BlockSize, WorkerFacts } from '../../manifests/lint/facts/worker-facts.js';
import { type Launch, nameOf } from '../../manifests/lint/launches/launch.js';
import type { SettingValue } from '../../manifests/lint/launches/setting-value.js';
import { flagOf, numberOf, settingOf, switchOf, variableOf } from '../../manifests/lint/launches/settings.js';
import type { Span } from '../../manifests/lint/text/span.js';
import type { Origin, SettingSighting, SizeSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { parseConfig } from './engine-config.js';
import { engineFacts } from './engine-facts.js';
import { ENGINE_KEYS, settingValueOf } from './engine-keys.js';

/** Settings of Dynamo's router index, by their names in 0.8 to 1.6. */
const ROUTER_SETTINGS: readonly (readonly [SettingName, readonly string[], readonly string[]])[] = [
  ['router_ttl_seconds', ['--router-ttl-secs', '--router-ttl'], ['DYN_ROUTER_TTL_SECS', 'DYN_ROUTER_TTL']],
  ['router_max_tree_size', ['--router-max-tree-size'], ['DYN_ROUTER_MAX_TREE_SIZE']],
  ['router_prune_target_ratio', ['--router-prune-target-ratio'], ['DYN_ROUTER_PRUNE_TARGET_RATIO']],
  ['router_snapshot_threshold', ['--router-snapshot-threshold'], ['DYN_ROUTER_SNAPSHOT_THRESHOLD']],
  ['event_transport', ['--event-plane'], ['DYN_EVENT_PLANE']],
];

/** Flags that go without a value. */
const SWITCHES: ReadonlySet<string> = new Set([
  'enable_prefix_caching',
  'no_enable_prefix_caching',
  'disable_radix_cache',
  'enable_lora',
  'enable_dp_attention',
  'enable_attention_dp',
  'enable_hierarchical_cache',
]);

/** Gathers the settings of the fleets of a set of manifests. */
export class FleetReader {
  readonly sizes: SizeSighting[] = [];
  readonly settings: SettingSighting[] = [];

  read({ workers, frontends, routers, indexers, launches }: Fleet): void {
    for (const launch of launches.filter(({ version }) => version !== undefined)) {
      const { text = '' } = launch.version ?? {};
      this.#setting(launch, 'dynamo_version', text, this.#image(launch));
    }
    for (const launch of launches) this.#setting(launch, 'program', launch.program, this.#launched(launch));
    for (const worker of workers) this.#readWorker(worker);
    for (const frontend of frontends) this.#readFrontend(frontend);
    for (const router of routers) {
      const own =
        flagOf(router, '--router-block-size', '--block-size') ?? variableOf(router, 'DYN_ROUTER_BLOCK_SIZE');
      this.#ownSize(router, own, ROUTER_DEFAULT_TOKENS);
      this.#readRouting(router);
    }
    for (const indexer of indexers) this.#ownSize(indexer, flagOf(indexer, '--block-size'), undefined);
  }

  #readWorker(worker: WorkerFacts): void {
    const { launch, engine, card, noPrefixCaching, publishes, model, unseen } = worker;
    const { backend } = launch;
    if (engine !== undefined)
      this.#size(launch, engine, engine.setting === undefined ? 'default' : 'configured', backend ?? '');
    // A card that says the same as the engine adds nothing; one that does not is what the router gets.
    // A default proves nothing of an engine whose own file is not seen.
    const isProven = card?.setting !== undefined || unseen === undefined;
    if (card !== undefined && card.tokens !== engine?.tokens && isProven)
      this.#size(launch, card, 'declared', "the worker's card");
    if (card !== undefined && !isProven) {
      const text = `no block size of the card is set: ${card.tokens} is its default`;
      this.#setting(
        launch,
        'card_block_size',
        String(card.tokens),
        { ...this.#launched(launch), text },
        true,
      );
    }
    if (backend !== undefined) this.#setting(launch, 'backend', backend, this.#launched(launch));
    this.#readVersion(launch);
    if (publishes !== undefined) {
      const setting = flagOf(launch, '--kv-events-config');
      const text = setting?.value === undefined ? this.#launched(launch) : this.#given(setting);
      // Only Dynamo's wrapper of vLLM, up to 1.0, publishes by default.
      const isDefault =
        setting === undefined &&
        !(publishes && engineOfWord(backend)?.launch?.dynamo?.publishing !== undefined);
      this.#setting(launch, 'publishes_kv_events', String(publishes), text, isDefault);
    }
    if (model !== undefined) this.#setting(launch, 'model', model, this.#launched(launch));
    this.#readFlags(launch);
    if (noPrefixCaching !== undefined && !this.#has(launch, 'prefix_caching')) {
      const origin = originAt(noPrefixCaching.span, noPrefixCaching.name);
      this.#setting(launch, 'prefix_caching', 'false', origin);
    }
    this.#readConfig(launch);
    const seed = variableOf(launch, 'PYTHONHASHSEED');
    if (seed?.value !== undefined) this.#setting(launch, 'hash_seed', seed.value, this.#given(seed));
    const { launch: start, displayName = '' } = engineOfWord(backend) ?? {};
    const defaults = Object.entries(start?.defaultSettings ?? {}) as [SettingName, string][];
    if (defaults.length === 0 || launch.hasUnseenArgs) return;
    if (readEngineConfig(launch).isUnseen) return;
    for (const [name, value] of defaults) {
      if (this.#has(launch, name)) continue;
      const text = `${name} is not set: ${value} is ${displayName}'s default`;
      this.#setting(launch, name, value, { ...this.#launched(launch), text }, true);
    }
  }

  /** The engine's version, where its image says it and all of its arguments are seen: then what is not set has the default of that release. */
  #readVersion(launch: Launch): void {
    const { image } = launch.container ?? {};
    const [, name = '', tag = ''] =
      /(?:^|\/)([\w.-]{1,100}):([\w.-]{1,100})(?:@|$)/.exec(image?.value ?? '') ?? [];
    const engine = engineOfWord(launch.backend)?.launch;
    if (launch.hasUnseenArgs || engine === undefined || !Object.hasOwn(engine.images, name)) return;
    const version = engine.versionInTag?.exec(tag)?.[1];
    if (version !== undefined) this.#setting(launch, 'engine_version', version, this.#image(launch));
  }

  /** The flags that engines share with their configuration files; block sizes are read by `readWorkerFacts`. */
  #readFlags(launch: Launch): void {
    for (const [key, meaning] of ENGINE_KEYS) {
      if (meaning.name === 'block_size' || this.#has(launch, meaning.name)) continue;
      // Dynamo's wrapper takes parts of TensorRT-LLM's configuration by their paths.
      const flag = `--${key.includes('.') ? 'trtllm.' : ''}${key.replace(/_/g, '-')}`;
      if (SWITCHES.has(key)) {
        const found = switchOf(launch, [flag], []);
        if (found === undefined) continue;
        this.#setting(launch, meaning.name, settingValueOf(meaning, 'true'), originAt(found.span, flag));
        continue;
      }
      const found = flagOf(launch, flag, ...(SHORT_FLAGS.get(key) ?? []));
      if (found?.value !== undefined && !found.value.startsWith('-'))
        this.#setting(launch, meaning.name, settingValueOf(meaning, found.value), this.#given(found));
    }
  }

  #readConfig(launch: Launch): void {
    for (const { value, span } of readEngineConfig(launch).texts) {
      let config: unknown;
      try {
        config = parseConfig(value);
      } catch {
        // What `lint` says of it is among the findings.
        continue;
      }
      const { place } = originAt(span, '');
      const from = { who: nameOf(launch), place, basis: 'configured' } as const;
      for (const setting of engineFacts(config, from).settings)
        if (!this.#has(launch, setting.name)) this.settings.push(setting);
    }
  }

  #readFrontend({ launch, kvMode, flag, variable, decides }: FrontendFacts): void {
    const mode = settingOf(launch, ['--router-mode'], ['DYN_ROUTER_MODE']);
    if (mode?.value !== undefined) this.#setting(launch, 'router_mode', mode.value, this.#given(mode));
    else if (mode === undefined && !launch.hasUnseenArgs && !launch.hasUnseenEnv) {
      const text = '--router-mode is not set: round-robin is the default';
      this.#setting(launch, 'router_mode', 'round-robin', { ...this.#launched(launch), text }, true);
    }
    const chat = settingOf(launch, ['--dyn-chat-processor', '--chat-processor'], ['DYN_CHAT_PROCESSOR']);
    if (chat?.value !== undefined) this.#setting(launch, 'chat_processor', chat.value, this.#given(chat));
    this.#readRouting(launch);
    const replicas = launch.site?.replicas;
    if (replicas !== undefined)
      this.#setting(launch, 'frontend_replicas', String(replicas), this.#launched(launch));
    // Where the workers' cards decide, the frontend's own number changes nothing.
    if (kvMode !== undefined && decides !== 'card')
      this.#ownSize(launch, flag ?? variable, FRONTEND_DEFAULT_TOKENS);
  }

  #readRouting(launch: Launch): void {
    const off = eventsOff(launch);
    const usesOrigin = off === undefined ? this.#launched(launch) : originAt(off.span, off.name);
    if (off !== undefined || !launch.hasUnseenArgs)
      this.#setting(launch, 'router_uses_events', String(off === undefined), usesOrigin, off === undefined);
    for (const [name, flags, variables] of ROUTER_SETTINGS) {
      const found = settingOf(launch, flags, variables);
      if (found?.value !== undefined) this.#setting(launch, name, found.value, this.#given(found));
    }
    const sync = switchOf(launch, ['--router-replica-sync'], ['--no-router-replica-sync']);
    const variable = variableOf(launch, 'DYN_ROUTER_REPLICA_SYNC');
    if (sync !== undefined)
      this.#setting(launch, 'router_replica_sync', String(sync.isOn), originAt(sync.span, sync.name));
    else if (variable?.value !== undefined)
      this.#setting(launch, 'router_replica_sync', variable.value, this.#given(variable));
  }

  /** A program that has a number of its own, and no other. */
  #ownSize(launch: Launch, setting: SettingValue | undefined, byDefault: number | undefined): void {
    if (launch.isGated) return;
    const tokens = numberOf(setting);
    if (tokens !== undefined && setting !== undefined) {
      this.#size(launch, { tokens, setting }, 'configured', launch.program);
    } else if (
      setting === undefined &&
      byDefault !== undefined &&
      !launch.hasUnseenArgs &&
      !launch.hasUnseenEnv
    ) {
      this.#size(launch, { tokens: byDefault }, 'default', launch.program);
    }
  }

  #size(launch: Launch, { tokens, setting }: BlockSize, basis: SizeBasis, whose: string): void {
    const origin =
      setting === undefined
        ? { ...this.#launched(launch), text: `no block size is set: ${tokens} is the default of ${whose}` }
        : this.#given(setting);
    this.sizes.push({ side: sideOf(launch), who: nameOf(launch), tokensPerBlock: tokens, basis, origin });
  }

  #has(launch: Launch, name: SettingName): boolean {
    const who = nameOf(launch);
    const side = sideOf(launch);
    return this.settings.some((one) => one.who === who && one.name === name && one.side === side);
  }

  #setting(launch: Launch, name: SettingName, value: string, origin: Origin, isDefault = false): void {
    if (this.#has(launch, name)) return;
    const kept = excerptOf(value, value).slice(0, MAX_VALUE_CHARS);
    this.settings.push({ side: sideOf(launch), who: nameOf(launch), name, value: kept, isDefault, origin });
  }

  #given({ span, name, value = '' }: SettingValue): Origin {
    return originAt(span, name.startsWith('-') ? `${name} ${value}` : `${name}: ${value}`);
  }

  #launched(launch: Launch): Origin {
    return originAt(launch.at, launch.program);
  }

  #image(launch: Launch): Origin {
    const image = launch.container?.image;
    return image === undefined
      ? this.#launched(launch)
      : originAt({ source: launch.source, start: image.start, end: image.end, isExact: false }, image.value);
  }
}

const MAX_VALUE_CHARS = 128;

/** Other spellings on command lines. */
const SHORT_FLAGS: ReadonlyMap<string, readonly string[]> = new Map([
  ['tensor_parallel_size', ['-tp']],
  ['pipeline_parallel_size', ['-pp']],
  ['data_parallel_size', ['-dp']],
  ['decode_context_parallel_size', ['-dcp']],
]);

function sideOf({ role }: Launch): Side {
  return role === 'frontend' || role === 'router' || role === 'indexer' ? role : 'worker';
}

function originAt({ source, start }: Span, text: string): Origin {
  const { file = source.file, line, column } = source.placeOf(start);
  return { place: `${file}:${line}:${column}`, text: excerptOf(text, text) };
}
