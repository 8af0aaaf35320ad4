import { describe, expect, it } from 'vitest';
import { installFilesOf } from '../../../../../src/tools/manifests/lint/launches/installed-version.js';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { buildFilesIn } from '../../../../../src/tools/manifests/lint/readers/compose-builds.js';
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

  it.each([
    ['requirements.txt', 'ai-dynamo[sglang]==1.5.0\n'],
    ['requirements.txt', 'ai-dynamo ~= 1.5.0\n'],
    ['pyproject.toml', '[project]\ndependencies = [\n  "ai-dynamo[sglang]==1.5.0",\n]\n'],
    [
      'pyproject.toml',
      '[tool.poetry.dependencies]\nai-dynamo = { version = "1.5.0", extras = ["sglang"] }\n',
    ],
    ['pyproject.toml', '[project]\nname = "ai-dynamo"\nversion = "1.5.0"\n'],
    ['Dockerfile', 'ARG TAG=1.5.0\nFROM nvcr.io/nvidia/ai-dynamo/sglang-runtime:$TAG\n'],
    ['Dockerfile', 'FROM python:3.12\nRUN pip install ai-dynamo==1.5.0\n'],
  ])('is that of the nearest %s', (name, text) => {
    const near = (files: Readonly<Record<string, string>>, script: string): readonly string[] =>
      inspectTexts(
        [{ file: script, text: FLEET }, ...Object.entries(files).map(([file, one]) => ({ file, text: one }))],
        { given: new Map(Object.keys(files).map((file) => [file, [file]])) },
      ).findings.map(({ severity: one }) => one);
    expect(near({ [name]: text }, 'x.sh')).toEqual(['warning']);
    expect(near({ [`a/${name}`]: text }, 'a/b/scripts/x.sh')).toEqual(['warning']);
    expect(near({ [`a/${name}`]: text }, 'b/x.sh')).toEqual(['error']);
    expect(
      near(
        { [name]: text.replaceAll('==', '>=').replaceAll('~=', '>=').replaceAll('1.5.0', '1.1.0') },
        'x.sh',
      ),
    ).toEqual(['error']);
  });

  it('is looked for in the folders of a script, up to the one that holds all', () => {
    const script = { file: 'a/b/x.sh', text: FLEET };
    expect(installFilesOf(script, 'a')).toEqual(
      ['a/b', 'a'].flatMap((folder) =>
        ['requirements.txt', 'pyproject.toml', 'Dockerfile', 'Containerfile'].map(
          (name) => `${folder}/${name}`,
        ),
      ),
    );
    expect(installFilesOf({ ...script, text: 'vllm serve m\n' }, 'a')).toEqual([]);
    expect(installFilesOf({ ...script, file: 'a/b/x.yaml' }, 'a')).toEqual([]);
  });

  it('is that of the image which a compose file builds', () => {
    const compose = `services:
  frontend: {build: ., command: python3 -m dynamo.frontend --router-mode kv, network_mode: host}
  worker: {build: {context: ., dockerfile: docker/Dockerfile}, command: python3 -m dynamo.sglang --model m, network_mode: host}
`;
    const severities = (version: string): readonly string[] =>
      inspectTexts(
        [
          { file: 'x/compose.yaml', text: compose },
          { file: 'x/docker/Dockerfile', text: `FROM nvcr.io/nvidia/ai-dynamo/sglang-runtime:${version}\n` },
        ],
        { given: new Map([['x/docker/Dockerfile', ['x/docker/Dockerfile']]]) },
      ).findings.map(({ severity: one }) => one);
    expect(buildFilesIn(compose)).toEqual(['Dockerfile', 'docker/Dockerfile']);
    expect(severities('1.5.0')).toEqual(['warning']);
    expect(severities('1.1.0')).toEqual(['error']);
  });

  it('is not that of a container', () => {
    const run = (module: string): string => `docker run --network host my/image python3 -m ${module} &\n`;
    const script = `pip install ai-dynamo==1.5.0\n${run('dynamo.frontend --router-mode kv')}${run('dynamo.sglang --model m')}`;
    expect(severity({ 'x.sh': script })).toEqual(['error']);
  });
});
