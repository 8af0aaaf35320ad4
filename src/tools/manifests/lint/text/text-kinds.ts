import { readSourceFile } from '../../source-file.js';
import type { NamedText } from '../fixes/apply-fixes.js';

/** What a text is read as. */
export type TextKind = 'manifest' | 'shell' | 'markdown';

/** How a script of a shell begins. */
export const SHELL_LINE: RegExp = /^#!.*\b(?:ba|da|z)?sh\b/;

/** What a text is: by the name, and for standard input and names that say nothing by what is in it. */
export function textKindOf({ file, text }: NamedText): TextKind {
  if (/\.(?:md|markdown|mdx)$/i.test(file)) return 'markdown';
  if (/\.(?:sh|bash|sbatch|slurm)$/i.test(file) || SHELL_LINE.test(text)) return 'shell';
  if (/\.(?:ya?ml|json)$/i.test(file)) return 'manifest';
  // Commands are one plain text to YAML, and no object.
  const { documents, problems } = readSourceFile(file, text);
  return documents.length === 0 && problems.length === 0 ? 'shell' : 'manifest';
}

/** Files of kinds that are not read: templates, units of systemd and of Podman, Terraform. */
export const UNREAD_EXTENSIONS: readonly string[] = [
  '.j2',
  '.jinja',
  '.jinja2',
  '.tpl',
  '.tmpl',
  '.gotmpl',
  '.template',
  '.tera',
  '.tf',
  '.tftpl',
  '.container',
  '.service',
];

/** Names of the programs that are known here, as they stand in commands and images. */
const PROGRAM_SIGN =
  /vllm|sglang|trtllm|tensorrt|dynamo|kv-accord|lmcache|\bsmg\b|\bepp\b|EndpointPicker|context_servers|llm_configs|build_pd_openai_app|ollama|text-generation/i;

/** A Kubernetes object, in YAML or JSON. */
const OBJECT_SIGN = /(?:^|[\s{,"'])kind["']?\s*:/;

/** Arguments that only engines have, in a catalogue that need not name one. */
const ARGUMENT_SIGN = /--(?:block-size|page-size|kv-cache-dtype|kv-transfer-config|kv-events-config)\b/;

/** The kind of an object in JSON: any other key may be called `kind`, as a word of a tokenizer is. */
const JSON_KIND = /"kind"\s*:\s*"[A-Z]/;

/** What a text of JSON has that starts a program which is known here, or configures one. */
const JSON_START =
  /\bvllm["',\s]{1,10}serve\b|-m["',\s]{1,10}(?:vllm|sglang|dynamo|tensorrt_llm)\b|launch_server|trtllm-(?:serve|llmapi)|EndpointPickerConfig|context_servers|llm_configs|build_pd_openai_app|servingEngineSpec|(?:vllm-openai|lmsysorg\/sglang|tensorrt-llm\/release)[:@"]/;

/** Characters from which on a text of JSON is looked at more closely: lists of packages, tokenizers and dashboards have megabytes. */
const LARGE_JSON = 64 * 1024;

/** Objects that describe other objects: the longest of all manifests, and nothing in them runs. */
const SCHEMA = /^["']?kind["']?\s*:\s*["']?CustomResourceDefinition\b/m;

/** Whether a text names a program that is known here. In one that does not, nothing is found. */
export function namesProgram(text: string): boolean {
  return PROGRAM_SIGN.test(text);
}

/** A text with blanks for the documents that describe other objects: every other character keeps its place. */
export function withoutSchemas(text: string): string {
  if (!SCHEMA.test(text) || text.startsWith('%')) return text;
  return text
    .split(/^(?=---(?:\s|$))/m)
    .map((document) => (SCHEMA.test(document) ? document.replace(/[^\r\n]/g, ' ') : document))
    .join('');
}

/** Whether a manifest is worth its parsing: most of the YAML and JSON in a repository is neither an object nor about engines. */
export function isWorthReading(file: string, text: string): boolean {
  if (text.length >= LARGE_JSON && file.endsWith('.json') && /^\s*[[{]/.test(text))
    return ARGUMENT_SIGN.test(text) || JSON_KIND.test(text) || JSON_START.test(text);
  return (
    namesProgram(text) ||
    OBJECT_SIGN.test(text) ||
    ARGUMENT_SIGN.test(text) ||
    /kustomization[^/]*$/i.test(file)
  );
}
