import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import { readEngineConfig } from '../config/engine-config.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import type { Span } from '../text/span.js';

/** Where a worker has its block size from, when that is not in these files. */
export interface UnseenSize {
  /** Goes on after the name of the worker: `takes its block size from ./engine.yaml (--extra-engine-args), which is not among these files`. */
  readonly says: string;
  readonly span: Span;
  /** The file as the command names it; absent where it is no file, or its path is not known. */
  readonly path?: string;
}

/** Longest path that is named in a message. */
const MAX_PATH_LENGTH = 200;

/** Where the size of an engine stands that these files do not show. Undefined when nothing that is named is missing. */
export function unseenSizeOf(launch: Launch): UnseenSize | undefined {
  const byFlag = unseenFlag(launch);
  if (byFlag !== undefined) return byFlag;
  const config =
    launch.backend === TRTLLM.word ? readEngineConfig(launch) : { unseenFile: unseenConfigFile(launch) };
  const { unseenFile } = config;
  if (unseenFile !== undefined)
    return /override/i.test(unseenFile.name) ? inValue(unseenFile) : inFile(unseenFile);
  if (
    'tokensPerBlock' in config &&
    config.tokensPerBlock !== undefined &&
    config.tokensPerBlock.value === undefined
  )
    return inValue(config.tokensPerBlock);
  return launch.hasUnseenArgs
    ? { says: 'may take its block size from arguments that are not in these files', span: launch.at }
    : undefined;
}

function unseenFlag(launch: Launch): UnseenSize | undefined {
  const { sizeFlags = [] } = engineOfWord(launch.backend)?.launch ?? {};
  const flag = flagOf(launch, ...sizeFlags);
  return flag === undefined || flag.value !== undefined ? undefined : inValue(flag);
}

/** `--config FILE` of an engine, while its text is not known. */
function unseenConfigFile(launch: Launch): SettingValue | undefined {
  const { flagsFileFlag = '--config' } = engineOfWord(launch.backend)?.launch ?? {};
  const file = flagOf(launch, flagsFileFlag);
  return file === undefined || launch.fileAt(file) !== undefined ? undefined : file;
}

function inValue({ name, span }: SettingValue): UnseenSize {
  return { says: `takes its block size from the value of ${name}, which is not in these files`, span };
}

function inFile(setting: SettingValue): UnseenSize {
  const { name, span } = setting;
  const path = textOfWord(setting)
    .replaceAll(UNKNOWN, '…')
    .replace(/^\.\/\.\//, './')
    .slice(0, MAX_PATH_LENGTH);
  if (path === '' || path === '…')
    return { says: `takes its block size from the file of ${name}, which is not among these`, span };
  const says = `takes its block size from ${path} (${name}), which is not among these files`;
  return path.includes('…') ? { says, span } : { says, span, path };
}
