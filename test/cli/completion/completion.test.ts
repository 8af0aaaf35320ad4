import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.js';
import { completionScript } from '../../../src/cli/completion/script.js';

const CAPTURE = fileURLToPath(new URL('./capture.zsh', import.meta.url));
const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kv-accord-'));
  for (const shell of SHELLS)
    writeFileSync(join(folder, `script.${shell}`), completionScript(shell, commands));
  // fish looks whether the program is there; no script may ever start it.
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'kv-accord'), `#!/bin/sh\ntouch '${folder}/was-started'\n`);
  chmodSync(join(folder, 'bin', 'kv-accord'), 0o755);
  mkdirSync(join(folder, 'certs'));
  writeFileSync(join(folder, 'certs.pem'), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What a shell offers when Tab is pressed at the end of a line. */
function offered(shell: Shell, line: string): string[] {
  const script = join(folder, `script.${shell}`);
  const words = line.split(' ');
  // As readline does it: the line is split at spaces and at each equals sign.
  const split = words.flatMap((word) => word.split(/(=)/).filter((part, i) => part !== '' || i === 0));
  const argv: Record<Shell, string[]> = {
    bash: ['--norc', '-c', BASH_CAPTURE, 'bash', script, ...split],
    zsh: ['-f', CAPTURE, script, line],
    fish: ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script, line],
  };
  const output = execFileSync(shell, argv[shell], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 15_000,
    env: { PATH: `${folder}/bin:${process.env['PATH']}`, HOME: folder, TERM: 'dumb' },
  });
  const lines = output.split(/\r?\n/).map(
    (offer) =>
      offer
        .split('\t')[0]
        ?.replace(/^--[\w-]+=/, '')
        .trim() ?? '',
  );
  return [...new Set(lines.filter((offer) => offer !== ''))];
}

const BASH_CAPTURE = `
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kv_accord
printf '%s\\n' "\${COMPREPLY[@]}"
# Nothing said: bash would offer paths, as "complete -o default" has it.
if ((\${#COMPREPLY[@]} == 0)) && complete -p kv-accord | grep -q -- '-o default'; then compgen -f -- "\${@: -1}"; fi
true
`;

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['--version']).status === 0;

describe.each(SHELLS)('%s', (shell) => {
  describe.skipIf(!isInstalled(shell))('completes', () => {
    test('the names of commands', () => {
      const names = [
        'aggregator',
        'completion',
        'demo',
        'doctor',
        'epp',
        'exec',
        'frontend',
        'help',
        'inject',
        'lint',
        'sidecar',
        'status',
        'top',
        'wait',
      ];
      const all = offered(shell, 'kv-accord ').filter((offer) => !offer.startsWith('-'));
      expect(all.sort()).toEqual(names);
      expect(offered(shell, 'kv-accord sid')).toEqual(['sidecar']);
    });

    test("a command's own flags", () => {
      const engine = [
        '--engine',
        '--engine-api-key-file',
        '--engine-devices',
        '--engine-grpc',
        '--engine-kind',
        '--engine-tls-ca',
      ];
      expect(offered(shell, 'kv-accord sidecar --eng').sort()).toEqual(engine);
      expect(offered(shell, 'kv-accord sidecar --json --engine-k')).toEqual(['--engine-kind']);
      expect(offered(shell, 'kv-accord aggregator --eng')).toEqual([]);
    });

    test('the words that a value can be, after a space and after the sign', () => {
      expect(offered(shell, 'kv-accord sidecar --engine-kind ').sort()).toEqual([
        'auto',
        'dynamo',
        'other',
        'sglang',
        'trtllm',
        'vllm',
      ]);
      expect(offered(shell, 'kv-accord wait --on-missing p')).toEqual(['proceed']);
      expect(offered(shell, 'kv-accord wait --on-missing=').sort()).toEqual(['proceed', 'quorum', 'wait']);
      expect(offered(shell, 'kv-accord wait --on-missing=w')).toEqual(['wait']);
    });

    test('paths where a path is asked for, and nowhere else', () => {
      expect(offered(shell, 'kv-accord wait --tls-ca cert').map(withoutSlash).sort()).toEqual([
        'certs',
        'certs.pem',
      ]);
      expect(offered(shell, 'kv-accord sidecar --topology a')).toEqual(['auto']);
      if (shell !== 'bash') expect(offered(shell, 'kv-accord sidecar --listen cert')).toEqual([]);
    });

    test('files and folders as operands of commands that read files, and flags behind a dash', () => {
      for (const line of [
        'kv-accord lint cert',
        'kv-accord inject --insecure cert',
        'kv-accord lint certs.pem cert',
      ])
        expect(offered(shell, line).map(withoutSlash).sort()).toEqual(['certs', 'certs.pem']);
      expect(offered(shell, 'kv-accord lint --fi')).toEqual(['--fix']);
      expect(offered(shell, 'kv-accord lint --format sar')).toEqual(['sarif']);
      if (shell !== 'bash') expect(offered(shell, 'kv-accord status cert')).toEqual([]);
    });

    test('shells, and commands to get help on', () => {
      expect(offered(shell, 'kv-accord completion z')).toEqual(['zsh']);
      expect(offered(shell, 'kv-accord help exe')).toEqual(['exec']);
    });

    test('the program behind exec --', () => {
      expect(offered(shell, 'kv-accord exec --json -- kv-accor')).toEqual(['kv-accord']);
      expect(offered(shell, 'kv-accord exec -- kv-accord --eng')).toEqual([]);
    });

    test('without running what stands in the line', () => {
      const line = `kv-accord sidecar --engine $(touch\${IFS}${folder}/was-run) --eng`;
      offered(shell, line);
      expect(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout.split('\n')).not.toContain('was-run');
      expect(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout.split('\n')).not.toContain('was-started');
    });
  });
});

const withoutSlash = (path: string): string => path.replace(/\/$/, '');
