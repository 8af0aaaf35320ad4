import type { YAMLMap } from 'yaml';
import { isBefore, type Release } from '../../../../engines/descriptor/default-size.js';
import type { PlacedText } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';

/** Plugins that make tokens of a prompt before the one that looks them up. */
const TOKENIZING: readonly string[] = ['tokenizer', 'token-producer'];

/** The model whose tokenizer a picker loads: of a plugin of its own, or of the index (read from 0.5 on: `pkg/tokenization` of llm-d-kv-cache). */
export function tokenizerModel(
  access: YamlAccess,
  plugins: readonly YAMLMap[],
  parameters: YAMLMap | undefined,
): PlacedText | undefined {
  const own = plugins.find((one) => TOKENIZING.includes(access.text(one, 'type')?.value ?? ''));
  return (
    access.text(access.map(own, 'parameters'), 'modelName') ??
    access.text(access.map(parameters, 'indexerConfig', 'tokenizersPoolConfig'), 'modelName') ??
    access.text(access.map(parameters, 'tokenizersPoolConfig'), 'modelName')
  );
}

/** The first release whose plugin sends a prompt to the render endpoint of a vLLM unless it says otherwise (`vllm_http.go`). */
const RENDERING_SINCE = { major: 0, minor: 9 };

/** Whether a vLLM makes the tokens, which is asked under the model's name. */
export function rendersByHttp(
  access: YamlAccess,
  plugins: readonly YAMLMap[],
  release: Release | undefined,
): boolean {
  const own = plugins.find((one) => TOKENIZING.includes(access.text(one, 'type')?.value ?? ''));
  const parameters = access.map(own, 'parameters');
  if (access.map(parameters, 'vllm') !== undefined) return true;
  const isOfOldKind = access.map(parameters, 'udsTokenizerConfig') !== undefined;
  return own !== undefined && !isOfOldKind && release !== undefined && !isBefore(release, RENDERING_SINCE);
}
