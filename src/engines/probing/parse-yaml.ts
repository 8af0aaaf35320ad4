import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { firstLineOf } from '../../edge/platform/data/yaml-error.js';
import { messageOf } from '../../edge/platform/describe-error.js';
import { excerpt } from '../../edge/platform/probe-error.js';
import { ProbeError } from './probe.js';

/** Largest YAML or JSON file that is read: a configuration has some hundred lines. */
export const MAX_YAML_BYTES: number = 64 * 1024;

/** Aliases (`*name`) that one file may use; each multiplies what a file of a few lines unfolds to. */
const MAX_ALIASES = 16;

/**
 * Reads a YAML text, of which JSON is a part, that must hold one object. An
 * empty text is an empty object. Rejects with a `ProbeError` that names the line.
 *
 * The parser is loaded with the first file: most sidecars never read one.
 */
export async function parseYamlObject(text: string, origin: string): Promise<JsonObject> {
  const bad = (message: string): ProbeError => new ProbeError('bad_answer', origin, message);
  if (text.length > MAX_YAML_BYTES) {
    throw new ProbeError('too_large', origin, `has more than ${MAX_YAML_BYTES} characters`);
  }
  const [{ parseDocument }, { CONFIG_YAML_BOUNDS, findYamlExcess, YAML_EXCESS }] = await Promise.all([
    import('yaml'),
    import('../../edge/platform/data/yaml-bounds.js'),
  ]);
  const excess = findYamlExcess(text, CONFIG_YAML_BOUNDS);
  if (excess !== undefined)
    throw excess === 'too_deep'
      ? bad(`cannot be unfolded: it ${YAML_EXCESS[excess]}`)
      : new ProbeError('too_large', origin, YAML_EXCESS[excess]);
  let value: unknown;
  try {
    const document = parseDocument(text, { merge: false, logLevel: 'silent', stringKeys: true });
    const [error] = document.errors;
    if (error !== undefined) throw bad(`is no YAML: ${firstLineOf(error)}`);
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    if (cause instanceof ProbeError) throw cause;
    // Too many aliases, or nesting that is deeper than the stack.
    throw bad(`cannot be unfolded: ${messageOf(cause)}`);
  }
  if (value === null || value === undefined) return {};
  if (isJsonObject(value)) return value;
  throw bad(`expected fields with values, got ${excerpt(text.trim())}`);
}
