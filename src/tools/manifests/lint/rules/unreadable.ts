import { IS_TWICE, type SourceFile } from '../../source-file.js';
import { isTemplateText, templateKindOf } from '../../template-text.js';
import type { Finding, Rule, Severity } from '../findings/finding.js';
import { documentAround } from '../text/document-around.js';
import { namesProgram } from '../text/text-kinds.js';

/** Problems of one file that are reported; the rest mostly follow from the first. */
const MAX_PROBLEMS = 10;

/** YAML that cannot be read. */
export const unreadable: Rule = {
  id: 'unreadable',
  severity: 'error',
  summary: 'A workload in a file that names an engine is no YAML that can be read.',
  explanation:
    'What it says was not looked at; nothing is known of its faults. Its other documents were read.',
};

/** What is said where the document itself is no workload, and one stands behind it. */
const IN_FRONT = {
  consequence:
    'kubectl ends at it, and applies no document of the file that stands behind it. Those were looked at.',
  advice: 'Take what is no YAML out of the file, or write # in front of its lines.',
};

/** A document that was not looked at, and is no fault: it is no workload. */
export interface LeftOut {
  readonly file: string;
  readonly line: number;
  readonly why: string;
}

/** Kinds of which every object serves a model. */
const SERVING_KINDS =
  'LeaderWorkerSet|Dynamo\\w*Deployment\\w*|(?:LLM)?InferenceService|RoleBasedGroup(?:Set)?|StormService|ModelServing|(?:Cluster)?ServingRuntime';

/** Kinds of objects that start containers of anything. */
const POD_KINDS =
  'Pod|Deployment|StatefulSet|DaemonSet|ReplicaSet|(?:Cron)?Job|CloneSet|RoleSet|Rollout|PodClique(?:Set)?|Ray(?:Cluster(?:Fleet|ReplicaSet)?|Service|Job)';

function kindLine(kinds: string): RegExp {
  return new RegExp(`^[\\s{]*["']?kind["']?\\s*:\\s*["']?(?:${kinds})\\b`, 'm');
}

/** An object that starts containers, wherever the line of its kind stands. */
const WORKLOAD = kindLine(`${POD_KINDS}|${SERVING_KINDS}`);

/** One that serves a model. */
const SERVING = kindLine(SERVING_KINDS);

/** The kind of the document itself, not of an object that it names or holds. */
const OWN_KIND = /^[{]?[ ]?["']?kind["']?\s*:/m;

/** An object of Kubernetes: kubectl reads no other document. */
const IS_OBJECT = /^[\s{]*["']?(?:apiVersion|kind)["']?\s*:/m;

/** A list, as a playbook of Ansible is: kubectl reads none, whatever objects stand in it. */
const IS_LIST = /^(?:[ \t]*(?:#.*|---.*)?\n)*-(?:[ \t]|$)/;

/** How a text of JSON begins. */
const JSON_START = /^\s*(?:[[{"]|\/[/*])/;

/** JSON with comments, as editors have their settings. */
const COMMENTED_JSON = /^[ \t]*\/[/*]|["\]},[{\d][ \t]+\/[/*]/m;

/** Results, one text of JSON a line. */
const JSON_LINES = /^\s*\{.*\}[ \t]*\r?\n\s*\{/;

/** A text that is beyond the bounds of what is parsed. */
const IS_BEYOND = /^It (?:has too many|is nested too)/;

/** Its patches have parts of workloads, as texts. */
const KUSTOMIZATION = /\bKustomization\b/;

/** A comment, in which a file may speak of an engine that it does not start. */
const COMMENT = /(?:^|[ \t])#.*$/gm;

/** A line that is none of YAML until a person has removed it: `TBD # Remove this line to enable the template`. */
const EDIT_FIRST = /^(?![ \t]*[#-])[^:\n]*\b(?:remove|delete)[ \t]+this[ \t]+line\b/im;

/** A pod's containers. */
const CONTAINERS = /^[\s{-]*["']?(?:initContainers|containers)["']?\s*:/m;

/**
 * What cannot be read of a file: faults of workloads, and what is left out. Only templates are left out of a file that was named:
 * who names it wants it checked.
 */
export function findUnreadable(
  file: SourceFile,
  isNamed = false,
): { readonly findings: readonly Finding[]; readonly leftOut: readonly LeftOut[] } {
  const findings: Finding[] = [];
  const leftOut: LeftOut[] = [];
  const documents = new Set<string>();
  for (const problem of file.problems.slice(0, MAX_PROBLEMS)) {
    const text = documentAround(file.text, problem.line);
    const isTemplate = isTemplateText(text, linesAround(file.text, problem.line), problem.message);
    // One word about a template is enough: what follows is the same.
    if (isTemplate && documents.has(text)) continue;
    documents.add(text);
    const severity = severityOf(file, text, isTemplate, isNamed);
    const finding =
      severity === undefined ? undefined : findingOf(file.file, problem, severity, text, isTemplate);
    if (!isTemplate && severity !== unreadable.severity && isInFront(file.text, problem.line, text))
      findings.push({
        ...(finding ?? findingOf(file.file, problem, unreadable.severity, text, false)),
        severity: unreadable.severity,
        ...IN_FRONT,
      });
    else if (finding !== undefined) findings.push(finding);
    else
      leftOut.push({
        file: file.file,
        line: problem.line,
        why: isTemplate ? 'a template' : problem.message,
      });
  }
  return { findings, leftOut };
}

/** A template is whole as it is; it is only not what runs, and matters where it names an engine. Undefined for what has nothing to do with engines. */
function severityOf(
  { file, text: whole }: SourceFile,
  text: string,
  isTemplate: boolean,
  isNamed: boolean,
): Severity | undefined {
  const isOfEngine = namesProgram(text.replace(COMMENT, ''));
  if (!isNamed && EDIT_FIRST.test(text)) return undefined;
  if (isTemplate) return isWorkload(text) && (isNamed || namesProgram(text)) ? 'note' : undefined;
  // A file may have its engine in another document, or in what comes behind the place that ends a document too early.
  if (
    isWorkload(text) &&
    !IS_LIST.test(text) &&
    (isNamed || SERVING.test(text) || namesProgram(whole.replace(COMMENT, '')))
  )
    return unreadable.severity;
  if (isNamed) return 'warning';
  return isOfEngine && !(file.endsWith('.json') && isOtherJson(whole)) ? 'note' : undefined;
}

/** What is called JSON, and is read by programs that take more: the output of a test may be called so, and is text. */
function isOtherJson(text: string): boolean {
  return !JSON_START.test(text) || COMMENTED_JSON.test(text) || JSON_LINES.test(text);
}

/** Commands of a shell, as people keep them above a manifest. */
const PASTED =
  /^[ \t]*(?:\$[ \t]+)?(?:sudo[ \t]+)?(?:curl|kubectl|oc|helm|docker|podman|export|python3?|vllm|git|cd)[ \t]+[^\s:]/m;

/** Whether a document is commands that somebody left above a workload of an engine. */
function isInFront(whole: string, line: number, text: string): boolean {
  if (isObjectText(text) || !PASTED.test(text.replace(COMMENT, '')) || EDIT_FIRST.test(text)) return false;
  const behind = whole
    .split('\n')
    .slice(line - 1)
    .join('\n')
    .split(/^---(?:\s|$)/m)
    .slice(1);
  return behind.some((one) => isWorkload(one) && isObjectText(one) && namesProgram(one.replace(COMMENT, '')));
}

function isObjectText(text: string): boolean {
  return IS_OBJECT.test(text) && !IS_LIST.test(text);
}

/** A kustomization and an autoscaler name a workload; of other objects only what has containers holds one. */
function isWorkload(text: string): boolean {
  const own = text.split('\n').filter((line) => OWN_KIND.test(line));
  if (own.some((line) => KUSTOMIZATION.test(line))) return false;
  const isNamed = own.length > 0 && !own.some((line) => WORKLOAD.test(line));
  return WORKLOAD.test(text) && (!isNamed || CONTAINERS.test(text));
}

function findingOf(
  file: string,
  { line, column, message }: SourceFile['problems'][number],
  severity: Severity,
  text: string,
  isTemplate: boolean,
): Finding {
  const kind = isTemplate ? templateKindOf(text, file) : undefined;
  // Seen with kubectl 1.35.
  const isTwice = kind === undefined && message.endsWith(IS_TWICE);
  const isObject = isObjectText(text);
  // Values of a chart have objects of their own in texts.
  const isApplied = isObject && (OWN_KIND.test(text) || text.trimStart().startsWith('{'));
  return {
    ruleId: unreadable.id,
    severity,
    file,
    line,
    column,
    message: kind === undefined ? message : `this is ${['a template', kind.name].join(' ').trim()}, not YAML`,
    consequence: !isTwice
      ? IS_BEYOND.test(message)
        ? 'Nothing there was looked at, in none of its documents: nothing is known of its faults.'
        : unreadable.explanation
      : isApplied
        ? 'kubectl takes the last of them and drops the others without a word, and Kustomize refuses the file. What it says was not looked at.'
        : 'Most programs take the last of them and drop the others without a word, and some refuse the file. What it says was not looked at.',
    advice:
      kind?.advice ??
      (isTwice
        ? 'Leave one of them, with what both should say.'
        : isApplied
          ? 'Write the document so that kubectl apply --dry-run=client reads it.'
          : 'Write the document so that a parser of YAML reads it.'),
  };
}

/** A line, and the one before it: the parser often stops behind what it cannot read. */
function linesAround(text: string, line: number): string {
  return text
    .split('\n')
    .slice(Math.max(0, line - 2), line)
    .join('\n');
}

/** The same of a patch: Kustomize (1.28 to 1.35 seen) builds with it, and takes the first of the two. */
export function ofPatch(finding: Finding): Finding {
  return finding.ruleId === unreadable.id && finding.message.endsWith(IS_TWICE)
    ? {
        ...finding,
        consequence:
          'It is a patch: Kustomize takes the first of them and drops the others without a word. What it says was not looked at.',
      }
    : finding;
}
