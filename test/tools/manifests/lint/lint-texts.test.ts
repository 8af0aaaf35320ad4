import { describe, expect, it } from 'vitest';
import { lintTexts } from '../../../../src/tools/manifests/lint/lint-texts.js';

const ROUTER = 'python3 -m dynamo.router --endpoint dynamo.backend.generate';

function found(file: string, text: string): readonly string[] {
  return lintTexts([{ file, text }]).map(({ ruleId }) => ruleId);
}

describe('the advice to workers of one model', () => {
  const worker = (backend: string, flag: string): string =>
    `python3 -m dynamo.${backend} --model-path tiny --model tiny ${flag} &\n`;
  const advice = (...workers: readonly string[]): readonly string[] =>
    lintTexts([{ file: 'start.sh', text: `#!/bin/sh\n${workers.join('')}` }]).flatMap(
      ({ ruleId, advice: text }) => (ruleId === 'block-size-mismatch' ? [text] : []),
    );

  it('is a size that both engines can take, or that there is none', () => {
    expect(advice(worker('sglang', '--page-size 1'), worker('vllm', '--block-size 32'))).toEqual([
      'Give all workers of one model the same number: --page-size 32, --block-size 32.',
    ]);
    const [none] = advice(worker('sglang', '--page-size 1'), worker('vllm', '--block-size 1056'));
    expect(none).toContain('Give them different served model names: no block size fits all of them');
  });
});

describe('a text', () => {
  it.each([
    ['a script by its name', 'start.sh', `${ROUTER}\n`],
    ['a script by its first line', '-', `#!/usr/bin/env bash\n${ROUTER}\n`],
    ['commands of standard input, which say nothing of what they are', '-', `export A=b\n${ROUTER} &\n`],
    [
      'a manifest of standard input',
      '-',
      `kind: Pod\nspec: {containers: [{name: a, image: b, args: [sh, -c, ${ROUTER}]}]}\n`,
    ],
  ])('is read as %s', (_, file, text) => {
    expect(found(file, text)).toEqual(['router-block-size-default']);
  });

  it('is not read as commands where it is called YAML, or is YAML that is broken', () => {
    expect(found('notes.yaml', `${ROUTER}\n`)).toEqual([]);
    expect(found('-', `a: [\n${ROUTER}\n`)).toEqual(['unreadable']);
  });
});
