import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { decidingNumber, isAtLeast } from '../launches/dynamo-version.js';
import { KV_SCORER } from '../launches/kv-scorer.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, isFalse, settingOf, switchOf, variableOf } from '../launches/settings.js';
import type { Span } from '../text/span.js';

/** What a frontend's command and variables say about its router. */
export interface FrontendFacts {
  readonly launch: Launch;
  /** Where KV-aware routing is switched on; undefined when it is not. */
  readonly kvMode: SettingValue | undefined;
  /** Whether how it routes is known only at run time. */
  readonly isOpen: boolean;
  readonly flag: SettingValue | undefined;
  readonly variable: SettingValue | undefined;
  /** Which number its router uses. */
  readonly decides: 'card' | 'variable' | 'unknown';
  /** Whether a Python chat processor is configured, the one part of Dynamo whose router has the frontend's own number. */
  readonly hasPythonProcessor: boolean;
  /** Where events are switched off, if they are. */
  readonly noEvents: { readonly name: string; readonly span: Span } | undefined;
}

/** Reads what is known of a `dynamo.frontend` before it runs. */
export function readFrontendFacts(launch: Launch): FrontendFacts {
  const mode = settingOf(launch, ['--router-mode'], ['DYN_ROUTER_MODE']);
  const chat = settingOf(launch, ['--dyn-chat-processor', '--chat-processor'], ['DYN_CHAT_PROCESSOR']);
  return {
    launch,
    kvMode: mode?.value === 'kv' && overlapOff(launch) === undefined ? mode : undefined,
    isOpen: mode !== undefined && mode.value === undefined,
    flag: flagOf(launch, '--kv-cache-block-size'),
    variable: variableOf(launch, 'DYN_KV_CACHE_BLOCK_SIZE'),
    decides: decidingNumber(launch.version, chat?.value),
    hasPythonProcessor:
      chat !== undefined &&
      (chat.value === undefined ||
        engineOfWord(chat.value)?.launch?.dynamo?.chatProcessorSince !== undefined),
    noEvents: unread(launch),
  };
}

/** How much a router prefers workers that hold the prompt, under the names that its releases have. */
const OVERLAP_FLAGS = [
  '--router-kv-overlap-score-credit',
  '--router-kv-overlap-score-weight',
  '--kv-overlap-score-weight',
];
const OVERLAP_VARIABLES = [
  'DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT',
  'DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT',
  'DYN_KV_OVERLAP_SCORE_WEIGHT',
  'DYN_OVERLAP_SCORE_WEIGHT',
];

/**
 * From this temperature on a worker is taken by chance: costs are divided by it, after they were brought between 0 and 1, so that the better
 * of two is taken in hardly more than half of all cases (`softmax_sample`, read in 0.4, 0.5, 0.9 and 1.5).
 */
const BY_CHANCE = 100;

/** Where a router gives no weight to what workers hold: it goes by load, or by chance. */
function overlapOff(launch: Launch): { readonly name: string; readonly span: Span } | undefined {
  const weight = settingOf(launch, OVERLAP_FLAGS, OVERLAP_VARIABLES);
  if (/^0+(?:\.0*)?$/.test(weight?.value?.trim() ?? '')) return weight;
  const temperature = settingOf(launch, ['--router-temperature'], ['DYN_ROUTER_TEMPERATURE']);
  return Number(temperature?.value?.trim() || 0) >= BY_CHANCE ? temperature : undefined;
}

/** Whether the endpoint picker of a graph is known to route by KV cache: by a plugin in its `eppConfig`. */
export function hasKvScorer({ site }: Launch): boolean {
  return site?.pickerPlugins.some((type) => KV_SCORER.test(type)) === true;
}

/** Where a router is configured to run without events, or to take no account of them. */
export function eventsOff(launch: Launch): { readonly name: string; readonly span: Span } | undefined {
  return overlapOff(launch) ?? unread(launch);
}

function unread(launch: Launch): { readonly name: string; readonly span: Span } | undefined {
  const flag = switchOf(
    launch,
    ['--kv-events', '--router-kv-events'],
    ['--no-kv-events', '--no-router-kv-events'],
  );
  if (flag !== undefined) {
    return flag.isOn ? undefined : flag;
  }
  const { version } = launch;
  // Renamed in 1.0, which does not read the old name.
  const isOld = version !== undefined && !isAtLeast(version, 1, 0);
  const isNew = version !== undefined && !isOld;
  const variable = variableOf(
    launch,
    ...(isOld ? [] : ['DYN_ROUTER_USE_KV_EVENTS']),
    ...(isNew ? [] : ['DYN_KV_EVENTS']),
    ...(launch.role === 'picker' ? ['DYN_USE_KV_EVENTS'] : []),
  );
  return variable !== undefined && isFalse(variable.value)
    ? { name: `${variable.name}=${variable.value}`, span: variable.span }
    : undefined;
}
