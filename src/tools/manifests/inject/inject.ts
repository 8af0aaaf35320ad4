import type { GivenFile } from '../lint/config/tree-files.js';
import { readSourceFile, type SourceFile } from '../source-file.js';
import { isTemplateText, templateKindOf } from '../template-text.js';
import { applyChanges } from './apply-changes.js';
import { removeBlocks } from './blocks.js';
import type { Note } from './draft.js';
import type { InjectOptions } from './options.js';
import { type ObjectName, planInject } from './plan.js';
import { InjectRefusal } from './refusal.js';

/** A file with its text before and after. */
export interface InjectedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** A file that cannot be changed, and why. */
export interface RefusedFile {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** What came of a set of manifests. */
export interface InjectResult {
  readonly files: readonly InjectedFile[];
  readonly refused: readonly RefusedFile[];
  readonly notes: readonly Note[];
  readonly unknownNames: readonly string[];
  /** What there is to name with `--is-worker` and `--is-frontend`: `RoleBasedGroup qwen/prefill`. */
  readonly pods: readonly string[];
  /** Objects of custom kinds in which no pod spec is seen. */
  readonly podless: readonly ObjectName[];
}

interface Given {
  readonly file: string;
  readonly text: string;
}

/**
 * Adds sidecars and gates to manifests. What an earlier run added is taken out
 * first, so that a second run with the same options changes nothing and one
 * with others brings everything up to date. `readByPrograms` are files that engines read, and that stay as they are.
 */
export function injectManifests(
  given: readonly Given[],
  options: InjectOptions,
  readByPrograms: readonly GivenFile[] = [],
): InjectResult {
  const refused: RefusedFile[] = [];
  const sources: { readonly source: SourceFile; readonly before: string }[] = [];
  for (const { file, text } of given) {
    orRefused(refused, file, () => {
      const source = readSourceFile(file, removeBlocks(text));
      const [problem] = source.problems;
      if (problem !== undefined) {
        const why = isTemplateText(
          text,
          text
            .split('\n')
            .slice(Math.max(0, problem.line - 2), problem.line)
            .join('\n'),
          problem.message,
        )
          ? `is ${['a template', templateKindOf(text, file).name].join(' ').trim()}, not YAML: run inject on what it makes`
          : `is no YAML: ${problem.message}`;
        throw new InjectRefusal(problem.line, why);
      }
      sources.push({ source, before: text });
    });
  }
  const plan = planInject(
    sources.map(({ source }) => source),
    options,
    readByPrograms,
  );
  const files: InjectedFile[] = [];
  for (const { source, before } of sources) {
    orRefused(refused, source.file, () => {
      const { changes, documents } = plan.planOf(source);
      files.push({ file: source.file, before, after: applyChanges(source, changes, documents) });
    });
  }
  const { notes, unknownNames, pods, podless } = plan;
  return { files, refused, notes, unknownNames, pods, podless };
}

/** Takes out all that `injectManifests` added; every other byte stays. */
export function removeFromManifests(given: readonly Given[]): InjectResult {
  const refused: RefusedFile[] = [];
  const files: InjectedFile[] = [];
  for (const { file, text } of given) {
    orRefused(refused, file, () => {
      files.push({ file, before: text, after: removeBlocks(text) });
    });
  }
  return { files, refused, notes: [], unknownNames: [], pods: [], podless: [] };
}

function orRefused(refused: RefusedFile[], file: string, change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!(error instanceof InjectRefusal)) throw error;
    refused.push({ file, line: error.line, message: error.message });
  }
}
