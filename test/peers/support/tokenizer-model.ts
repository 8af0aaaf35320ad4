import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TokenizerName, tokenizerFolder } from '../../frontend/tokens/support/tokenizers.js';
import { tinyModel } from './tiny-model.js';

/** With these a vLLM takes requests with tools. */
export const TOOL_FLAGS: readonly string[] = ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'];

/** A tiny model with one of the recorded tokenizers instead of its own; the served name is `tiny`'s. */
export function modelWithTokenizer(name: TokenizerName): string {
  const folder = tinyModel(`tiny-${name}`);
  for (const file of readdirSync(tokenizerFolder(name)))
    if (file !== 'golden.json') copyFileSync(join(tokenizerFolder(name), file), join(folder, file));
  return folder;
}
