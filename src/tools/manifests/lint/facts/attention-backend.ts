import { isBefore } from '../../../../engines/descriptor/default-size.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, variableOf } from '../launches/settings.js';
import { vllmReleaseOf } from '../launches/vllm-release.js';
import { textOfWord } from '../shell/words.js';

/** The attention kernel that a vLLM is started with. */
export interface AttentionBackend {
  readonly setting: SettingValue;
  /** False for a variable that releases from 0.14 on do not read, of an engine whose release is not known. */
  readonly isCertain: boolean;
}

/** From here on vLLM has no `VLLM_ATTENTION_BACKEND`: "deprecated and will be removed in v0.14.0" (0.12, `vllm/config/attention.py`). */
const WITHOUT_VARIABLE = { major: 0, minor: 14 };

/** By one of the flags, by the JSON of `--attention-config`, or by the variable that came before them. */
export function attentionBackendOf(launch: Launch): AttentionBackend | undefined {
  const flag =
    flagOf(launch, '--attention-backend', '--attention-config.backend', '-ac.backend') ?? ofConfig(launch);
  if (flag !== undefined) return { setting: flag, isCertain: true };
  const variable = variableOf(launch, 'VLLM_ATTENTION_BACKEND');
  const release = vllmReleaseOf(launch);
  if (variable === undefined || (release !== undefined && !isBefore(release, WITHOUT_VARIABLE)))
    return undefined;
  return { setting: variable, isCertain: release !== undefined };
}

function ofConfig(launch: Launch): SettingValue | undefined {
  const config = flagOf(launch, '--attention-config', '-ac');
  const [, backend] =
    /"backend"\s*:\s*"(\w{1,100})"/.exec(config === undefined ? '' : textOfWord(config)) ?? [];
  return config === undefined || backend === undefined ? undefined : { ...config, value: backend };
}
