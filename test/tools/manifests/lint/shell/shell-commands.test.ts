import { describe, expect, it } from 'vitest';
import { readShellCommands } from '../../../../../src/tools/manifests/lint/shell/shell-commands.js';
import { textOfWord } from '../../../../../src/tools/manifests/lint/shell/words.js';
import type { InnerText } from '../../../../../src/tools/manifests/lint/text/scalar-text.js';
import type { Located } from '../../../../../src/tools/manifests/lint/text/span.js';

function inner(value: string): InnerText {
  const source = { file: 'x.sh', text: value, placeOf: () => ({ line: 1, column: 1 }) };
  return { value, spanOf: (start, end) => ({ source, start, end, isExact: true }) };
}

function read(
  script: string,
  env: Readonly<Record<string, string | undefined>> = {},
): readonly (readonly (string | undefined)[])[] {
  const known = new Map(
    Object.entries(env).map(([name, value]): [string, Located | undefined] => [
      name,
      value === undefined ? undefined : { value, span: inner(value).spanOf(0, value.length) },
    ]),
  );
  return readShellCommands(inner(script), known).map(({ words }) => words.map(({ value }) => value));
}

describe('the commands of a script', () => {
  it.each([
    ['a --b 1', [['a', '--b', '1']]],
    ['a \\\n  --b \\\n  1', [['a', '--b', '1']]],
    ['a && b || c; d & e | f', [['a'], ['b'], ['c'], ['d'], ['e'], ['f']]],
    ['if a; then b; else c; fi', [['a'], ['b'], ['c']]],
    ['for i in 1 2; do a $i; done', [['a', undefined]]],
    ['f() { a; }\n(b; { c; })', [['a'], ['b'], ['c']]],
    [`a 'b c' "d e" f\\ g`, [['a', 'b c', 'd e', 'f g']]],
    ['# a comment\na # another', [['a']]],
    ['a $(b c)', [['a', undefined]]],
    ['', []],
  ])('reads %j', (script, words) => {
    expect(read(script)).toEqual(words);
  });

  it('puts in variables that are known, and says undefined for the others', () => {
    expect(read(`a $X "$Y" \${Z:-7} \${X:-8} $Q`, { X: '1', Y: undefined })).toEqual([
      ['a', '1', undefined, '7', '1', undefined],
    ]);
    expect(read(`X=2\na $X\nX=3\na "\${X}"`)).toEqual([
      ['a', '2'],
      ['a', '3'],
    ]);
  });

  it('splits what a variable without quotes holds', () => {
    expect(read('ARGS="--b 1"\na $ARGS "$ARGS"')).toEqual([['a', '--b', '1', '--b 1']]);
  });

  it('knows words that may stand for any number', () => {
    const more = (script: string): readonly boolean[] =>
      readShellCommands(inner(script), new Map())[0]?.words.map(({ mayBeMore }) => mayBeMore) ?? [];
    expect(more(`a "$@" $X "$Y" "\${Z[@]}" b`)).toEqual([false, true, true, false, true, false]);
  });

  it('knows which variables a command gets', () => {
    const envs = (script: string): readonly (readonly string[])[] =>
      readShellCommands(inner(script), new Map()).map(({ env }) =>
        [...env].map(([name, { value }]) => `${name}=${value}`),
      );
    expect(envs('A=1 a; b')).toEqual([['A=1'], []]);
    expect(envs('export A=1 B=2\na')).toEqual([['A=1', 'B=2']]);
    expect(envs('A=1\na\nexport A\nb')).toEqual([[], ['A=1']]);
    expect(envs('set -a\nA=1\nb')).toEqual([[], ['A=1']]);
  });

  it('locates a word, inside of its quotes', () => {
    const script = `a --b "32" '--c' `;
    const words = readShellCommands(inner(script), new Map())[0]?.words ?? [];
    expect(words.map(({ span }) => script.slice(span.start, span.end))).toEqual(['a', '--b', '32', '--c']);
  });

  it('knows which commands run under a condition', () => {
    const conditional = (script: string): readonly boolean[] =>
      readShellCommands(inner(script), new Map()).map(({ branch }) => branch.length > 0);
    expect(conditional('a\nif b; then c; else d; fi\ne')).toEqual([false, true, true, true, false]);
    expect(conditional('case $1 in x) a ;; *) b ;; esac')).toEqual([true, true]);
    expect(conditional('cd x && a')).toEqual([false, false]);
    // The first of a list runs in any case.
    expect(conditional('[ -n "$X" ] && a')).toEqual([false, true]);
    expect(conditional('a || b')).toEqual([false, true]);
    expect(conditional('a || { b; exit 1; }')).toEqual([false, true, true]);
  });

  it('knows which commands stand in one branch', () => {
    const branches = (script: string): readonly string[] =>
      readShellCommands(inner(script), new Map()).map(({ branch }) => branch.join(' '));
    const [a, b, c] = branches('if true; then a; b; else c; fi').slice(1);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
    const [outer = '', nested = ''] = branches('if true; then a; if true; then b; fi; fi').filter(
      (_one, at) => at % 2 === 1,
    );
    expect(nested.startsWith(`${outer} `)).toBe(true);
  });

  it('knows in a branch what that branch has set, and behind it no more', () => {
    expect(read('N=0\nif x; then N=1; a $N; else a $N; N=2; a $N; fi\na $N').slice(1)).toEqual([
      ['a', '1'],
      ['a', '0'],
      ['a', '2'],
      ['a', undefined],
    ]);
    expect(read('if x; then export E=1; a; fi\nb').length).toBe(3);
    expect(read(`case $1 in x) A=(--b 1); a "\${A[@]}" ;; esac`).at(-1)).toEqual(['a', '--b', '1']);
  });

  it('knows the beginning of a text that a branch may have made longer', () => {
    const script = 'C="a --b 1"\nif x; then C="$C --c"; fi\n';
    expect(read(`${script}$C`).at(-1)).toEqual(['a', '--b', '1', undefined]);
    const [, word] = readShellCommands(inner(`${script}eval "$C"`), new Map()).at(-1)?.words ?? [];
    expect(word === undefined ? '' : textOfWord(word)).toMatch(/^a --b 1 ./);
    expect(read('C="a --b 1"\nif x; then C="--c $C"; fi\n$C').at(-1)).toEqual([undefined]);
  });

  it('knows in a pass of a loop what that pass has set, and neither before it nor behind the loop', () => {
    const words = read('A=1\nB=1\nfor i in 1 2; do x $A $B; A=2; y $A; A=$((A + 1)); done\nz $A $B');
    expect(words).toEqual([
      ['x', undefined, '1'],
      ['y', '2'],
      ['z', undefined, '1'],
    ]);
  });

  it('knows of a text that a loop makes longer what it was', () => {
    const loop = 'C="vllm serve m"\nfor a in 1 2; do C="$C --x $a"; eval "$C"; done';
    const [command] = readShellCommands(inner(loop), new Map());
    expect(command?.words.map(textOfWord)[1]).toMatch(/^vllm serve m \uE000/);
  });

  it('passes over what only talks, but for what it writes', () => {
    expect(read('echo a\nsay() { echo "$1"; }\nsay b\nprintf c > f\nd')).toEqual([['printf', 'c'], ['d']]);
  });

  it('does not know a variable that may have been set or not', () => {
    expect(read('if x; then N=1; else N=2; fi\na $N').at(-1)).toEqual(['a', undefined]);
    expect(read('[ -n "$M" ] || N=1\na $N').at(-1)).toEqual(['a', undefined]);
    expect(read('cd x && N=1\na $N').at(-1)).toEqual(['a', '1']);
    expect(read('(N=1)\na $N').at(-1)).toEqual(['a', undefined]);
  });

  it('does not let variables in variables grow beyond any measure', () => {
    const lines = Array.from({ length: 60 }, (_, n) => `V${n + 1}="$V${n}$V${n}$V${n}$V${n}"`);
    expect(read(`V0=xxxxxxxxxxxxxxxx\n${lines.join('\n')}\na $V60`)).toEqual([['a', undefined]]);
  });
});

describe('variables that the shell changes by itself', () => {
  it.each([
    ['N=1\nread -r N', undefined],
    ['N=1\nread -p "how many: " N', undefined],
    ['N=1\nmapfile -t N < x', undefined],
    ["N=1\nprintf -v N '%d' 7", undefined],
    ["N=1\nprintf '%d' N", '1'],
    ['N=1\nlet N=N*4', undefined],
    ['N=1\nlet M=N*4', '1'],
    ['N=1\n(( N *= 4 ))', undefined],
    ['N=1\n((N++))', undefined],
    ['N=1\n(( N == 4 ))', '1'],
    ['N=1\nfor N in 2 3; do b; done', undefined],
    ['N=1\nsource ./x.env', undefined],
    ['N=1\n. ./x.env', undefined],
    ['N=1\nsource .venv/bin/activate', '1'],
    [`N=1\neval "N=\\$\{P}_N"`, undefined],
    ['N=1\neval "M=2"', '1'],
    ['N=1\neval "$COMMAND"', undefined],
    ['N=1\ndeclare -n M=N\nM=4', undefined],
    ['N=1\nunset N', undefined],
    ['N=1\n(N=2; export N)', '1'],
    ['N=1\n{ N=2; }', '2'],
    ['N=1\n{ N=2; } &', '1'],
  ])('%j', (script, value) => {
    expect(read(`${script}\na $N`).at(-1)).toEqual([
      'a',
      ...(script.endsWith('unset N') ? [undefined] : [value]),
    ]);
  });

  it('have their defaults only where nothing may have set them', () => {
    expect(read(`a \${N:-7}`).at(-1)).toEqual(['a', '7']);
    expect(read(`N=\na \${N:-7} \${N-8}`).at(-1)).toEqual(['a', '7']);
    expect(read(`source ./x.env\na \${N:-7}`).at(-1)).toEqual(['a', undefined]);
    expect(read(`read N\na \${N:-7}`).at(-1)).toEqual(['a', undefined]);
    expect(read(`unset N\na \${N:-7}`, { N: '1' }).at(-1)).toEqual(['a', '7']);
  });

  it('are those that a file sets which is there, and no others', () => {
    const commands = readShellCommands(inner(`N=1\nM=2\nexport M\nsource x.env\na $N $M`), new Map(), {
      fileAt: (path) => (path === 'x.env' ? inner('export N=4\nK=5\n') : undefined),
    });
    expect(commands.at(-1)?.words.map(({ value }) => value)).toEqual(['a', undefined, '2']);
    expect([...(commands.at(-1)?.env ?? [])].map(([name, { value }]) => [name, value])).toEqual([
      ['M', '2'],
      ['N', undefined],
    ]);
    expect(commands.at(-1)?.hasUnseenEnv).toBe(false);
  });

  it('reach programs as they are now', () => {
    const env = (script: string): unknown => {
      const last = readShellCommands(inner(`${script}\nb`), new Map()).at(-1);
      return [last?.env.get('A')?.value, last?.hasUnseenEnv];
    };
    expect(env('export A=1')).toEqual(['1', false]);
    expect(env('export A=1\nunset A')).toEqual(['', false]);
    expect(env('export A=1\nif x; then unset A; fi')).toEqual([undefined, false]);
    expect(env('export A=1\nread A')).toEqual([undefined, false]);
    expect(env('export A=1\nsource x')).toEqual([undefined, true]);
  });
});

describe('functions of a script', () => {
  it('run where they are called, with the arguments of the call', () => {
    expect(read('f() { a "$1"; }\nb\nf 1\nf 2')).toEqual([['b'], ['a', '1'], ['a', '2']]);
    expect(read(`f() { a "\${1:-7}"; }\nf\nf 2`)).toEqual([
      ['a', '7'],
      ['a', '2'],
    ]);
    expect(read('f() { shift; a "$1"; }\nf 1 2').at(-1)).toEqual(['a', undefined]);
    expect(read('f() { N=2; }\nN=1\nf\na $N').at(-1)).toEqual(['a', '2']);
    expect(read('f() { local N=2; }\nN=1\nf\na $N').at(-1)).toEqual(['a', '1']);
    expect(read('f() { f; a; }\nf')).toEqual([['a']]);
  });

  it('run under the condition of their call, and may not run where nothing calls them', () => {
    const conditional = (script: string): readonly boolean[] =>
      readShellCommands(inner(script), new Map()).map(({ branch }) => branch.length > 0);
    expect(conditional('f() { a; }\ncase $1 in x) f ;; esac')).toEqual([true]);
    expect(conditional('f() { a; }\nf')).toEqual([false]);
    expect(conditional('f() { a; }\n"$1"')).toEqual([true, false]);
  });
});

describe('what a script ends', () => {
  const ended = (script: string): readonly number[] => [
    ...(readShellCommands(inner(script), new Map()).at(-1)?.ended ?? []),
  ];

  it.each([
    ['a & A=$!\nb & B=$!\nkill $A\nc', [0]],
    ['a & A=$!\nb & B=$!\nkill -9 "$A" "$B"\nc', [0, 1]],
    [`a & PIDS+=($!)\nb & PIDS+=($!)\nkill "\${PIDS[@]}"\nc`, [0, 1]],
    ['a &\nb &\nwait\nc', [0, 1]],
    ['a &\npkill -f a\nc', [0]],
    ['docker run -d --name a b\ndocker rm -f a\nc', [0]],
    ['a & A=$!\nb & wait $!\nc', [1]],
    ['a & A=$!\nkill -0 $A\nc', []],
    ['a & A=$!\nwait -n\nc', []],
    ['a & A=$!\nif x; then kill $A; fi\nc', []],
    ['f() { kill $A; }\ntrap f EXIT\na & A=$!\nc', []],
  ])('%j', (script, numbers) => {
    expect(ended(script)).toEqual(numbers);
  });
});

describe('arrays of the shell', () => {
  it.each([
    [`A=(--b 1)\na "\${A[@]}" c`, ['a', '--b', '1', 'c']],
    [`A=(--b 1)\na \${A[@]}`, ['a', '--b', '1']],
    [`A=(--b)\nA+=("x y")\na "\${A[@]}"`, ['a', '--b', 'x y']],
    [`declare -a A=(--b 1)\na "\${A[@]}"`, ['a', '--b', '1']],
    [`f() { local A=(--b); a "\${A[@]}"; }`, ['a', '--b']],
    [`A=(--b 1)\na "\${A[@]:-}"`, ['a', '--b', '1']],
    [`A=(--b 1)\na \${A[@]+"\${A[@]}"}`, ['a', '--b', '1']],
    [`A=(python3 -m b)\n"\${A[@]}" --c`, ['python3', '-m', 'b', '--c']],
    [`A=(b c)\na "\${A[1]}" "\${A[*]}"`, ['a', 'c', 'b c']],
    [`A=(b)\nA[1]=c\na "\${A[@]}"`, ['a', 'b', undefined]],
    [`A=()\na "\${A[@]}"`, ['a']],
    ['A="--b 1"\nA+=" --c"\na $A', ['a', '--b', '1', '--c']],
    ['A=--b\na "$A"x', ['a', '--bx']],
  ])('are put in: %j', (script, words) => {
    expect(read(script).at(-1)).toEqual(words);
  });

  it('keep what is certain, and may have more, where something is added under a condition', () => {
    const [words] = readShellCommands(inner(`A=(--b 1)\nif x; then A+=(--c); fi\na "\${A[@]}"`), new Map())
      .slice(-1)
      .map((command) => command.words);
    expect(words?.map(({ value, mayBeMore }) => [value, mayBeMore])).toEqual([
      ['a', false],
      ['--b', false],
      ['1', false],
      [undefined, true],
    ]);
  });

  it('have their words where these are written', () => {
    const script = `A=(--b "32")\na "\${A[@]}"`;
    const words = readShellCommands(inner(script), new Map())[0]?.words ?? [];
    expect(words.map(({ span }) => script.slice(span.start, span.end))).toEqual(['a', '--b', '32']);
  });
});

describe('words that are known in part', () => {
  it('say what is known of them', () => {
    const [command] = readShellCommands(inner('a --size=$N "$DIR/x.yaml"'), new Map());
    expect(command?.words.map(({ value, known }) => value ?? known)).toEqual([
      'a',
      { prefix: '--size=', suffix: '' },
      { prefix: '', suffix: '/x.yaml' },
    ]);
  });
});
