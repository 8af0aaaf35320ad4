import { describe, expect, it } from 'vitest';
import { lintTexts } from '../../../src/manifests/lint/lint-texts.js';

const ROUTER = 'python3 -m dynamo.router --endpoint dynamo.backend.generate';

function found(file: string, text: string): readonly string[] {
  return lintTexts([{ file, text }]).map(({ ruleId }) => ruleId);
}

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
