import { join } from 'node:path';
import { parseJson } from '../../edge/platform/data/bounded-json.js';
import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { explainSystemError, readTextFile } from '../../edge/platform/files/file.js';

/** The largest vocabularies there are take some 35 MB of JSON. */
const MAX_TOKENIZER_BYTES = 128 * 1024 * 1024;
const MAX_CONFIG_BYTES = 8 * 1024 * 1024;
/** `added_tokens_decoder` has a handful of members for each of some hundred or thousand tokens. */
const CONFIG_BOUNDS = {
  maxBytes: MAX_CONFIG_BYTES,
  maxDepth: 64,
  maxValues: 500_000,
  maxMemoryBytes: 64 * 1024 * 1024,
};
const MAX_TEMPLATE_BYTES = 1024 * 1024;
const MAX_TEMPLATES = 16;

/** The texts of a tokenizer's files. */
export interface TokenizerFolder {
  readonly tokenizer: string;
  readonly config: string;
  /** Chat templates by name; the one without a name is `default`. */
  readonly templates: Readonly<Record<string, string>>;
}

/** Why a folder cannot be used; the message names the file. */
export class TokenizerFolderError extends Error {
  override readonly name = 'TokenizerFolderError';

  constructor(folder: string, file: string, problem: string) {
    super(`${join(folder, file)}: ${problem}`);
  }
}

/** Reads a folder with the files of a tokenizer, as models are published with. Rejects with a `TokenizerFolderError`. */
export async function readTokenizerFolder(folder: string): Promise<TokenizerFolder> {
  const tokenizer = await readOne(folder, 'tokenizer.json', MAX_TOKENIZER_BYTES);
  const config = await readOne(folder, 'tokenizer_config.json', MAX_CONFIG_BYTES);
  if (tokenizer === undefined) throw new TokenizerFolderError(folder, 'tokenizer.json', 'does not exist');
  if (config === undefined) throw new TokenizerFolderError(folder, 'tokenizer_config.json', 'does not exist');
  const templates = templatesIn(folder, config);
  // A file of its own goes before what the configuration says.
  const own = await readOne(folder, 'chat_template.jinja', MAX_TEMPLATE_BYTES);
  return { tokenizer, config, templates: own === undefined ? templates : { ...templates, default: own } };
}

/** Undefined when it does not exist. */
async function readOne(folder: string, file: string, maxBytes: number): Promise<string | undefined> {
  try {
    return await readTextFile(join(folder, file), maxBytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new TokenizerFolderError(folder, file, explainSystemError(error));
  }
}

/** `chat_template` is one text, or a list of `{name, template}`. */
function templatesIn(folder: string, configText: string): Record<string, string> {
  const file = 'tokenizer_config.json';
  let config: unknown;
  try {
    config = parseJson(configText, CONFIG_BOUNDS);
  } catch (error) {
    throw new TokenizerFolderError(folder, file, `is no JSON: ${explainSystemError(error)}`);
  }
  if (!isJsonObject(config)) throw new TokenizerFolderError(folder, file, 'is no JSON object');
  const given = config['chat_template'];
  if (given === undefined || given === null) return {};
  if (typeof given === 'string') return { default: given };
  const named = Array.isArray(given) && given.length <= MAX_TEMPLATES ? given : [undefined];
  const templates: Record<string, string> = {};
  for (const one of named) {
    if (!isJsonObject(one) || typeof one['name'] !== 'string' || typeof one['template'] !== 'string')
      throw new TokenizerFolderError(
        folder,
        file,
        `its chat_template is neither a text nor a list of at most ${MAX_TEMPLATES} named templates`,
      );
    templates[one['name']] = one['template'];
  }
  return templates;
}
