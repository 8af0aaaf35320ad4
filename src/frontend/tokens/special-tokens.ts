import { isJsonObject } from '../../edge/platform/data/json-object.js';

/** `bos_token` and the like of a `tokenizer_config.json`, each a text or an object with its `content`. */
export function specialTokensOf(config: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(isJsonObject(config) ? config : {})) {
    if (!/^(?:bos|eos|unk|sep|pad|cls|mask)_token$/.test(name)) continue;
    const content = isJsonObject(value) ? value['content'] : value;
    if (typeof content === 'string') found[name] = content;
  }
  return found;
}
