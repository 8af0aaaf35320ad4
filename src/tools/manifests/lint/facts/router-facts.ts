import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { decidingNumber, isAtLeast } from '../launches/dynamo-version.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, isFalse, settingOf, switchOf, variableOf } from '../launches/settings.js';
import type { Span } from '../text/span.js';

/** What a frontend's command and variables say about its router. */
export interface FrontendFacts {
  readonly launch: Launch;
  /** Where KV-aware routing is switched on; undefined when it is not. */
  readonly kvMode: SettingValue | undefined;
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
    kvMode: mode?.value === 'kv' ? mode : undefined,
    flag: flagOf(launch, '--kv-cache-block-size'),
    variable: variableOf(launch, 'DYN_KV_CACHE_BLOCK_SIZE'),
    decides: decidingNumber(launch.version, chat?.value),
    hasPythonProcessor:
      chat !== undefined &&
      (chat.value === undefined ||
        engineOfWord(chat.value)?.launch?.dynamo?.chatProcessorSince !== undefined),
    noEvents: eventsOff(launch),
  };
}

/** Where a router is configured to run without events. */
export function eventsOff(launch: Launch): { readonly name: string; readonly span: Span } | undefined {
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
  );
  return variable !== undefined && isFalse(variable.value)
    ? { name: `${variable.name}=${variable.value}`, span: variable.span }
    : undefined;
}
