import { describe, expect, it } from 'vitest';
import { envInFront } from '../../../../../src/tools/manifests/lint/launches/env-in-front.js';
import { readShellCommands } from '../../../../../src/tools/manifests/lint/shell/shell-commands.js';

/** The variables that the words in front of a program give, whether it has no others, and whether it may have some. */
function inFront(text: string): unknown {
  const source = { file: 'x.sh', text, placeOf: () => ({ line: 1, column: 1 }) };
  const script = {
    value: text,
    spanOf: (start: number, end: number) => ({ source, start, end, isExact: true }),
  };
  const words = readShellCommands(script, new Map())[0]?.words ?? [];
  const { env, isCleared, hasUnseen } = envInFront(words);
  return [Object.fromEntries([...env].map(([name, { value }]) => [name, value])), isCleared, hasUnseen];
}

describe('what stands in front of a program', () => {
  it.each([
    ['env A=1 B=2 p', [{ A: '1', B: '2' }, false, false]],
    ['/usr/bin/env A=1 p', [{ A: '1' }, false, false]],
    ['env -u A p', [{ A: '' }, false, false]],
    ['env --unset=A -uB p', [{ A: '', B: '' }, false, false]],
    ['env -i A=1 p', [{ A: '1' }, true, false]],
    ['env $OPTIONS p', [{}, false, true]],
    ['env A=$X p', [{ A: undefined }, false, false]],
    ['sudo A=1 p', [{ A: '1' }, false, false]],
    ['srun -N1 --export=ALL,A=1 p', [{ A: '1' }, false, false]],
    ['srun --export ALL,A=1,B=2 p', [{ A: '1', B: '2' }, false, false]],
    ['srun --export=A=1 p', [{ A: '1' }, true, true]],
    ['srun --export=NONE p', [{}, true, true]],
    ['srun -N1 p', [{}, false, false]],
    ['mpirun -n 2 -x A=1 -x B p', [{ A: '1' }, false, false]],
    ['mpiexec -genv A 1 p', [{ A: '1' }, false, false]],
    ['systemd-run --setenv=A=1 -E B=2 p', [{ A: '1', B: '2' }, false, false]],
    ['numactl --cpunodebind=0 p A=1', [{}, false, false]],
  ])('%s', (text, expected) => {
    expect(inFront(text)).toEqual(expected);
  });
});
