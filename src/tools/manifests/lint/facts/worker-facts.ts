import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { certainDefaultSize, isBefore } from '../../../../engines/descriptor/default-size.js';
import type { DynamoWrapper, KvEventsFlag } from '../../../../engines/descriptor/engine-launch.js';
import { DYNAMO_DEFAULT_SIZES } from '../../../../engines/dynamo/default-sizes.js';
import { TRTLLM_DEFAULT_TOKENS } from '../../../../engines/trtllm/default-sizes.js';
import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import { readEngineConfig } from '../config/engine-config.js';
import { jsonObjectIn } from '../config/json-object.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, isFalse, numberOf, settingOf, switchOf, variableOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import type { Span } from '../text/span.js';
import { type UnseenSize, unseenSizeOf } from './unseen-size.js';

/** A block size with where it comes from. */
export interface BlockSize {
  readonly tokens: number;
  /** Absent for a default. */
  readonly setting?: SettingValue;
}

/** Which part of a request a worker computes. */
export type Phase = 'aggregated' | 'prefill' | 'decode';

/** What a worker's command and variables say about its blocks. */
export interface WorkerFacts {
  readonly launch: Launch;
  /** What the engine uses; undefined when it is known only at run time. */
  readonly engine: BlockSize | undefined;
  /** What it declares to Dynamo; undefined outside Dynamo, and where it is read from the engine. */
  readonly card: BlockSize | undefined;
  /** The number that a router has to have. */
  readonly size: BlockSize | undefined;
  /** Where its size stands, when that is a place which these files do not show. */
  readonly unseen: UnseenSize | undefined;
  /** Where prefix caching is switched off, if it is. */
  readonly noPrefixCaching: { readonly name: string; readonly span: Span } | undefined;
  /** Whether it publishes KV events: undefined when it is not known. */
  readonly publishes: boolean | undefined;
  readonly phase: Phase;
  readonly model: string | undefined;
}

/** Reads what is known of a worker before it runs. */
export function readWorkerFacts(launch: Launch): WorkerFacts {
  const { engine, card, noPrefixCaching } = readSizes(launch);
  // The engine's number counts: a card that differs is a fault of its own. A default proves nothing of an engine that was not seen.
  const size = engine ?? (card?.setting === undefined && launch.backend === TRTLLM.word ? undefined : card);
  return {
    launch,
    engine,
    card,
    size,
    unseen: size === undefined ? unseenSizeOf(launch) : undefined,
    noPrefixCaching,
    publishes: noPrefixCaching === undefined ? publishesEvents(launch) : false,
    phase: phaseOf(launch),
    model: modelOf(launch),
  };
}

function readSizes(launch: Launch): Pick<WorkerFacts, 'engine' | 'card' | 'noPrefixCaching'> {
  if (launch.backend === TRTLLM.word) return readTrtllm(launch);
  if (launch.backend === 'mocker') return readMocker(launch);
  const { sizeFlags, contextParallelFlags, prefixCaching } =
    engineOfWord(launch.backend)?.launch ?? UNKNOWN_LAUNCH;
  return {
    // Without its flag the size is what only the run shows: it depends on the model, the device and the kernel.
    engine: isContextParallel(launch, contextParallelFlags)
      ? undefined
      : explicit(flagOf(launch, ...sizeFlags)),
    card: undefined,
    noPrefixCaching: switchedOff(launch, prefixCaching.on, prefixCaching.off),
  };
}

/** Of programs that are not known. */
const UNKNOWN_LAUNCH = {
  sizeFlags: ['--block-size'],
  contextParallelFlags: [],
  prefixCaching: { on: [], off: [] },
} as const;

/** Dynamo's simulated engine has no kernels: its default is what it uses. */
function readMocker(launch: Launch): Pick<WorkerFacts, 'engine' | 'card' | 'noPrefixCaching'> {
  const flag = flagOf(launch, '--block-size', '--sglang-page-size');
  const type = flagOf(launch, '--engine-type');
  const isUnseen =
    launch.hasUnseenArgs || flag !== undefined || flagOf(launch, '--extra-engine-args') !== undefined;
  const program = ['vllm', undefined].includes(type?.value)
    ? launch.program
    : `${launch.program} --engine-type ${type?.value}`;
  const tokens =
    isUnseen || (type !== undefined && type.value === undefined)
      ? undefined
      : certainDefaultSize(DYNAMO_DEFAULT_SIZES, program, launch.version);
  return {
    engine: explicit(flag) ?? (tokens === undefined ? undefined : { tokens }),
    card: undefined,
    noPrefixCaching: undefined,
  };
}

function readTrtllm(launch: Launch): Pick<WorkerFacts, 'engine' | 'card' | 'noPrefixCaching'> {
  const config = readEngineConfig(launch);
  const { tokensPerBlock, enableBlockReuse } = config;
  const isKnown = !config.isUnseen && !launch.hasUnseenArgs;
  const engine =
    explicit(tokensPerBlock) ??
    (isKnown && tokensPerBlock === undefined ? { tokens: TRTLLM_DEFAULT_TOKENS } : undefined);
  return {
    engine,
    card: launch.isDynamo ? cardOf(launch) : undefined,
    noPrefixCaching:
      enableBlockReuse !== undefined && isFalse(enableBlockReuse.value)
        ? { name: 'enable_block_reuse: false', span: enableBlockReuse.span }
        : undefined,
  };
}

/** What Dynamo's wrapper declares without asking its engine. */
function cardOf(launch: Launch): BlockSize | undefined {
  const card = engineOfWord(launch.backend)?.launch?.dynamo?.card;
  const { version } = launch;
  if (card === undefined || (version !== undefined && !isBefore(version, card.until))) return undefined;
  const declared = settingOf(launch, [card.flag], [card.variable]);
  return (
    explicit(declared) ??
    (declared === undefined && !launch.hasUnseenArgs ? { tokens: card.defaultTokens } : undefined)
  );
}

function explicit(setting: SettingValue | undefined): BlockSize | undefined {
  const tokens = numberOf(setting);
  return tokens === undefined || setting === undefined ? undefined : { tokens, setting };
}

/** Context parallelism multiplies what one block of an event holds. */
function isContextParallel(launch: Launch, flags: readonly string[]): boolean {
  const setting = flagOf(launch, ...flags);
  return setting !== undefined && numberOf(setting) !== 1;
}

function switchedOff(
  launch: Launch,
  on: readonly string[],
  off: readonly string[],
): { readonly name: string; readonly span: Span } | undefined {
  const found = switchOf(launch, on, off);
  return found === undefined || found.isOn ? undefined : found;
}

/** Whether KV events leave the worker: by a flag of the engine, or by settings of Dynamo's wrapper. */
function publishesEvents(launch: Launch): boolean | undefined {
  const { backend, isDynamo, version } = launch;
  const { kvEvents: events, dynamo } = engineOfWord(backend)?.launch ?? {};
  if (isDynamo && dynamo?.publishing !== undefined) return wrapperPublishes(launch, dynamo.publishing);
  if (events === undefined) {
    return undefined;
  }
  const config = flagOf(launch, events.flag);
  if (config !== undefined) {
    return configPublishes(events, textOfWord(config));
  }
  const hasDotted = launch.args.some(({ value }) => value?.startsWith(`${events.flag}.`) === true);
  if (launch.hasUnseenArgs || hasDotted) {
    return undefined;
  }
  const byDefaultBefore = dynamo?.publishesByDefaultBefore;
  if (isDynamo && byDefaultBefore !== undefined) {
    return version === undefined ? undefined : isBefore(version, byDefaultBefore);
  }
  return false;
}

function wrapperPublishes(
  launch: Launch,
  { on, off, variables }: NonNullable<DynamoWrapper['publishing']>,
): boolean | undefined {
  const flag = switchOf(launch, on, off);
  if (flag !== undefined) {
    return flag.isOn;
  }
  const variable = variableOf(launch, ...variables);
  if (variable !== undefined) {
    return variable.value === undefined ? undefined : !isFalse(variable.value);
  }
  return launch.hasUnseenArgs || launch.hasUnseenEnv ? undefined : false;
}

function configPublishes(events: KvEventsFlag, json: string): boolean | undefined {
  const own = jsonObjectIn(json);
  if (own === undefined) return undefined;
  // What stands between two variables is not seen: then only what is written says no.
  const isSeen = !json.includes(UNKNOWN) || events.publishes(own);
  const whole = isSeen ? own : { ...jsonObjectIn(events.example), ...own };
  const publishes = events.publishes(whole);
  return isSeen || !publishes ? publishes : undefined;
}

/** Flags of workers that generate no text: they encode pictures, or embed, or draw. */
const WITHOUT_CACHE =
  /^--(?:multimodal-(?:encode-worker|processor|encode)|(?:embedding|classify|rerank)-worker|[a-z-]*(?:diffusion|video)[a-z-]*-worker|is-embedding)/;

/** What vLLM's `--task`, `--runner` and `--convert` say where a model generates nothing. */
const POOLING = /^(?:pooling|embed|embedding|classify|score|reward|draft)$/;

/** Whether a worker has a KV cache that others may want to know of. */
export function hasCache(launch: Launch): boolean {
  const mode = flagOf(launch, '--disaggregation-mode')?.value;
  if (POOLING.test(flagOf(launch, '--task', '--runner', '--convert')?.value ?? '')) return false;
  return mode !== 'encode' && !launch.args.some(({ value }) => WITHOUT_CACHE.test(value ?? ''));
}

function phaseOf(launch: Launch): Phase {
  const type = launch.site?.componentType?.value;
  const declared = type === 'prefill' || type === 'decode' ? type : undefined;
  return commandPhase(launch) ?? declared ?? launch.section ?? 'aggregated';
}

/** The phase that a worker's own command says; undefined where it says none. */
export function commandPhase(launch: Launch): 'prefill' | 'decode' | undefined {
  if (switchOf(launch, ['--is-prefill-worker'], []) !== undefined) {
    return 'prefill';
  }
  if (switchOf(launch, ['--is-decode-worker'], []) !== undefined) {
    return 'decode';
  }
  const mode = flagOf(launch, '--disaggregation-mode')?.value;
  return mode === 'prefill' || mode === 'decode' ? mode : undefined;
}

/** By the name under which it is served, else by the model itself. */
function modelOf(launch: Launch): string | undefined {
  return modelSettingOf(launch)?.value;
}

/** Where the model of a worker stands, also where its name is known at run time alone. */
export function modelSettingOf(launch: Launch): Pick<SettingValue, 'value' | 'span'> | undefined {
  const named =
    flagOf(launch, '--served-model-name') ?? flagOf(launch, '--model', '--model-path', '--model-name');
  if (named !== undefined) return named;
  const [first] = launch.args;
  return launch.isDynamo || first?.value?.startsWith('-') ? undefined : first;
}
