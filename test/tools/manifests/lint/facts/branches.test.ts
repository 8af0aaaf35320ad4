import { describe, expect, it } from 'vitest';
import { deployment, found, inspect } from '../support.js';

const ROUTER = 'python3 -m dynamo.router --block-size 16 &\n';
const worker = (tokens: number, more = ''): string =>
  `python3 -m dynamo.vllm --model m --block-size ${tokens} ${more}--kv-events-config '{"enable_kv_cache_events":true}' &\n`;

/** Why programs of a script were compared with nothing. */
function reasons(script: string): readonly string[] {
  return inspect({ 'a.sh': script }).notChecked.map(
    ({ program, reason, count }) => `${count} ${program}: ${reason}`,
  );
}

describe('programs in the branches of a script', () => {
  it.each([
    ['if', `${ROUTER}if [ $X = 1 ]; then\n${worker(64)}fi\n`, ['block-size-mismatch a.sh:1 error']],
    ['else', `${ROUTER}if x; then\n:\nelse\n${worker(64)}fi\n`, ['block-size-mismatch a.sh:1 error']],
    ['case', `${ROUTER}case $E in a)\n${worker(64)};; esac\n`, ['block-size-mismatch a.sh:1 error']],
    ['a test', `${ROUTER}[ -n "$X" ] && ${worker(64)}`, ['block-size-mismatch a.sh:1 error']],
    ['a failure', `${ROUTER}${worker(64).replace(' &', ' || exit 1')}`, ['block-size-mismatch a.sh:1 error']],
    ['the right size', `${ROUTER}if x; then\n${worker(16)}else\n${worker(16)}fi\n`, []],
  ])('are compared with what is outside of every branch: %s', (_name, script, expected) => {
    expect(found({ 'a.sh': script })).toEqual(expected);
  });

  it.each([
    ['two branches', `if x; then\n${ROUTER}else\n${worker(64)}fi\n`],
    ['two sizes', `if x; then\n${worker(64)}else\n${worker(16)}fi\n`],
    ['two statements', `if x; then\n${ROUTER}fi\nif y; then\n${worker(64)}fi\n`],
    ['a branch within one and its other one', `if x; then\nif y; then\n${ROUTER}fi\nelse\n${worker(64)}fi\n`],
  ])('are never compared with those of another branch: %s', (_name, script) => {
    expect(found({ 'a.sh': script })).toEqual([]);
  });

  it('are together in one branch, and with the branch around it', () => {
    expect(found({ 'a.sh': `if x; then\n${ROUTER}${worker(64)}fi\n` })).toHaveLength(1);
    expect(found({ 'a.sh': `if x; then\n${ROUTER}if y; then\n${worker(64)}fi\nfi\n` })).toHaveLength(1);
  });

  it('get no change that may be wrong for another branch', () => {
    const fixes = (script: string): readonly boolean[] =>
      inspect({ 'a.sh': script }).findings.map(({ fix }) => fix !== undefined);
    expect(fixes(`${ROUTER}if x; then\n${worker(64)}fi\n`)).toEqual([true]);
    expect(fixes(`${ROUTER}if x; then\n${worker(64)}else\n${worker(32)}fi\n`)).toEqual([false, false]);
  });

  it('are named where nothing else is beside them', () => {
    const why = 'it stands in a branch of a script, which is compared with no other branch';
    expect(reasons(`if x; then\n${worker(64)}else\n${worker(16)}fi\n`)).toEqual([`2 dynamo.vllm: ${why}`]);
    expect(reasons(`if x; then\n${ROUTER}else\n${worker(16)}fi\n`)).toEqual([
      `1 dynamo.router: ${why}`,
      `1 dynamo.vllm: ${why}`,
    ]);
    expect(reasons(`${worker(16)}if x; then\n${ROUTER}fi\n`)).toEqual([]);
  });

  it('are found in the script of a container', () => {
    const text = deployment(
      'a',
      `command: [sh, -c, 'if x; then exec python3 -m dynamo.vllm --model m --block-size 64; fi']`,
    );
    const router = deployment('r', 'command: [python3, -m, dynamo.router, --block-size, "16"]');
    expect(found({ 'a.yaml': `${text}${router}` })).toContain('block-size-mismatch a.yaml:21 error');
  });
});

describe('a router without workers', () => {
  it.each([
    ['dynamo.router', ROUTER],
    ['dynamo.frontend', 'python3 -m dynamo.frontend --router-mode kv\n'],
  ])('is named: %s', (program, script) => {
    expect(reasons(script)).toEqual([`1 ${program}: no worker is beside it in these files`]);
  });

  it.each([
    'python3 -m dynamo.frontend\n',
    'python3 -m dynamo.frontend --router-mode kv --no-kv-events\n',
    `${ROUTER}${worker(16)}`,
  ])('is not where it asks for none: %j', (script) => {
    expect(reasons(script)).toEqual([]);
  });
});
