import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

const FLEET = `python3 -m dynamo.frontend --router-mode kv &
python3 -m dynamo.sglang --model m &
`;

describe('the release of Dynamo that a script finds installed', () => {
  const severity = (files: Readonly<Record<string, string>>): readonly string[] =>
    found(files).map((one) => one.replace(/^kv-events-off .* /, ''));

  // From 1.4 on leaving events out is documented, and the severity is another one.
  it.each([
    ['that it installs', { 'x.sh': `pip install "ai-dynamo[sglang]==1.5.0"\n${FLEET}` }, 'warning'],
    [
      'that another script of its folder installs',
      { 'x.sh': FLEET, 'install.sh': 'uv pip install ai-dynamo==1.5.0\n' },
      'warning',
    ],
    ['that is older', { 'x.sh': `pip install ai-dynamo[sglang]==1.1.0\n${FLEET}` }, 'error'],
    [
      'of its repository',
      { 'x.sh': FLEET, 'c/Chart.yaml': 'name: dynamo-platform\nversion: 1.5.0\n' },
      'warning',
    ],
  ])('is the one %s', (_, files, expected) => {
    expect(severity(files)).toEqual([expected]);
  });

  it.each([
    ['a range', 'pip install "ai-dynamo>=1.5.0"\n'],
    ['a variable', 'pip install "ai-dynamo==$VERSION"\n'],
    ['a comment', '# pip install ai-dynamo==1.5.0\n'],
    ['two', 'pip install ai-dynamo==1.5.0\npip install ai-dynamo==1.1.0\n'],
  ])('is not known by %s', (_, line) => {
    expect(severity({ 'x.sh': `${line}${FLEET}` })).toEqual(['error']);
  });

  it('is not that of a container', () => {
    const run = (module: string): string => `docker run --network host my/image python3 -m ${module} &\n`;
    const script = `pip install ai-dynamo==1.5.0\n${run('dynamo.frontend --router-mode kv')}${run('dynamo.sglang --model m')}`;
    expect(severity({ 'x.sh': script })).toEqual(['error']);
  });
});
