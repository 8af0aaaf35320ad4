import { IS_TWICE, yamlErrorsOf } from './source-file.js';

/** Marks of templates that YAML cannot be read with: Helm and Go, Jinja, ERB, Terraform. In quotes they are text. */
const BREAKING = /^[^"'#\n]{0,2000}?(?:\{\{|\{%|<%|%\{)/m;

/** What something fills in, and YAML reads as text unless it stands where the fault is: names in capitals, and names in braces; a line that is one variable may be any number of lines. */
const PLACEHOLDER =
  /\$\{[A-Za-z_]+\}|<[A-Z][A-Z_-]{2,}>|\b__[A-Z_]+__\b|(?:^|\s)(?:@@?[A-Z][A-Z0-9_]*@@?|%[A-Z][A-Z0-9_]*%)|^[ \t]*\$[A-Z][A-Z0-9_]*[ \t]*$|:\s*\{[A-Za-z][\w-]*\}[^\s,}]/m;

/** Lines of ytt, which are comments to YAML; their values end a text of one line. */
const YTT = /^[ \t]*#@(?:[ \t]|$)/m;

/** Branches that stand in comments of YAML: of two keys only one is left. */
const COMMENTED = /^[ \t]*#[^\n]{0,200}?(?:\{%|<%|\{\{-?\s{0,9}(?:if|else|end|range|with)\b|\{\{[#^])/m;

/** One mark of a template. */
const MARK = /\{\{[^}]{0,2000}?\}\}\}?|\{%[^%]{0,2000}?%\}|<%[^%]{0,2000}?%>|%\{[^}]{0,2000}?\}/g;

/** A line that is nothing but a mark, of which a template leaves nothing or any number of lines. */
const OWN_LINE = /^([ \t]*)~+[ \t]*$/gm;

/**
 * Whether a text that cannot be read as YAML is a template that makes a manifest: the reason is a mark in it. `around` are the lines in which
 * it cannot be read, and `message` is what the parser says.
 */
export function isTemplateText(text: string, around: string, message: string): boolean {
  const isTwice = message.endsWith(IS_TWICE);
  if (YTT.test(text) || (isTwice && COMMENTED.test(text))) return true;
  const hasMarks = BREAKING.test(text) || around.includes('{{');
  // The message has the key itself, which may be what is filled in.
  return PLACEHOLDER.test(isTwice ? message : around) || (hasMarks && !areMarksRead(text));
}

/**
 * Whether YAML reads all marks of a text, as in quotes, in a block of text and in comments: with other text in their places the parser says the
 * same, and nothing about a mark.
 */
function areMarksRead(text: string): boolean {
  const marks = [...text.matchAll(MARK)].map(({ index, 0: mark }) => ({
    start: index,
    end: index + mark.length,
  }));
  const plain = text
    .replace(MARK, (mark) => mark.replace(/[^\n]/g, '~'))
    .replace(OWN_LINE, (line, indent: string) => `${indent}#${line.slice(indent.length + 1)}`);
  const before = yamlErrorsOf(text);
  const after = yamlErrorsOf(plain);
  return (
    before !== undefined &&
    after?.length === before.length &&
    before.every(
      ({ code, at }, index) =>
        code === after[index]?.code &&
        at === after[index]?.at &&
        !marks.some(({ start, end }) => start <= at && at < end),
    )
  );
}

/** What makes manifests of a template: its name in messages, and how they are had. */
export interface TemplateKind {
  readonly name: string;
  readonly advice: string;
}

const OF_CHART = 'Render it first: helm template CHART | kv-accord lint -';
const RENDERED = 'Render it first, and give kv-accord lint the result.';

/** Characters between braces that are looked at. */
const IN = '[^}]{0,200}?';

/** Kinds by what only they write, the surest first. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\{\{[{#>^!]|\{\{\/[a-z]/, 'of Handlebars or Mustache'],
  [/\{%|\{\{-?\s{0,9}[A-Za-z_][\w.]{0,99}\s{0,9}\|\s{0,9}[a-z_]/, 'of Jinja'],
  [YTT, 'of ytt'],
  [/<%/, 'of ERB'],
  [/%\{/, 'of Terraform'],
  [
    /\{\{=|\{\{-?\s{0,9}(?:inputs|workflow|item|outputs|steps|tasks|pod)(?:\.[\w.-]{1,99})?\s{0,9}\}\}/,
    'of Argo Workflows',
  ],
  [/\{\{-?\s{0,9}(?:\(?\s{0,9}(?:ds|datasource|getenv|env\.Getenv)\b|\.Env\.)/, 'of gomplate'],
  [new RegExp(`\\{\\{${IN}(?:\\brequiredEnv\\b|\\.StateValues\\b|\\.Environment\\.)`), 'of helmfile'],
];

/** Functions and values that Helm alone gives to Go's templates. */
const HELM_ALONE = new RegExp(
  `\\{\\{${IN}(?:\\.(?:Release|Chart|Capabilities|Files|Template)\\.|\\binclude\\s"|\\btoYaml\\b|\\bnindent\\b|\\btpl\\s)`,
);

/** What Helm gives to each template of a chart, or a template that it calls. */
const OF_HELM = new RegExp(
  `\\{\\{${IN}(?:\\.(?:Values|Release|Chart|Capabilities|Files|Template|Subcharts)\\b|\\binclude\\s"|\\btpl\\s)`,
);

/** A value that a program gives to its own template, by a name that Helm does not have. */
const OWN_FIELD = new RegExp(`\\{\\{(?:${IN}[\\s($])?\\.[A-Z]`);

/** Go's own, with a value of a chart or without. */
const GO =
  /\{\{-?\s{0,9}(?:[.$"(]|\/\*|(?:if|else|end|with|range|template|define|block)\b|[a-z]\w{0,99}\s{1,9}[.$"(])/;

/** A name between braces, as many write it. */
const NAME = /\{\{-?\s{0,9}[A-Za-z_][\w.]{0,99}\s{0,9}-?\}\}/;

/**
 * What a template is, by its text and the path of its file: `of Helm` for one in a chart, and for one that only Helm can fill in. A program
 * may have templates of its own in a folder of that name, and with those functions.
 */
export function templateKindOf(text: string, file: string): TemplateKind {
  const isOfProgram = !OF_HELM.test(text) && OWN_FIELD.test(text);
  const isInChart = /(?:^|\/)templates\//.test(file) && (GO.test(text) || HELM_ALONE.test(text));
  if (isInChart && !isOfProgram) return { name: 'of Helm', advice: OF_CHART };
  const kind = /\.j2\b|\.jinja2?\b/i.test(file)
    ? 'of Jinja'
    : KINDS.find(([pattern]) => pattern.test(text))?.[1];
  if (kind !== undefined) return { name: kind, advice: RENDERED };
  if (HELM_ALONE.test(text) && !isOfProgram) return { name: 'of Helm', advice: OF_CHART };
  if (GO.test(text))
    return { name: 'of Go', advice: `${RENDERED} In a chart: helm template CHART | kv-accord lint -` };
  return { name: NAME.test(text) ? 'with names in braces' : '', advice: RENDERED };
}
