import { afterEach, describe, expect, test } from 'vitest';
import { SettingError } from '../../src/app/setting-error.js';
import type { CommandBody, CommandContext } from '../../src/cli/command.js';
import { defineCommand } from '../../src/cli/command.js';
import { commands as realCommands } from '../../src/cli/commands.js';
import { type CliModules, runCli } from '../../src/cli/run.js';
import type { SettingsTable } from '../../src/cli/settings/setting.js';
import type { Environment } from '../../src/edge/platform/processes/environment.js';
import { exitCodeOfSignal, StoppedBySignal } from '../../src/edge/platform/processes/process-signals.js';
import { FakeClock } from '../support/fake-clock.js';
import { TextRecorder } from '../support/text-recorder.js';

const settings = {
  'probe-interval': { kind: 'duration', default: '10s', help: 'Time between looks.' },
  mode: { kind: 'enum', choices: ['wait', 'proceed'], default: 'wait', help: 'What to do.' },
} as const satisfies SettingsTable;

type Body = CommandBody<typeof settings>;

let body: Body = async () => 0;
let loads = 0;
afterEach(() => {
  body = async () => 0;
  loads = 0;
});

const load = async (): Promise<Body> => {
  loads += 1;
  return body;
};
const common = { summary: 'Tries the frame', description: 'Tries the frame.', settings, examples: [] };
const testCommands = [
  defineCommand({ ...common, name: 'try' }, load),
  defineCommand({ ...common, name: 'one', operands: { syntax: '[HOST:PORT]', help: 'where' } }, load),
  defineCommand(
    { ...common, name: 'run', operands: { syntax: '<CMD...>', help: 'what', passesThrough: true } },
    load,
  ),
  defineCommand(
    {
      ...common,
      name: 'picky',
      check: (values, reject) => {
        if (values.mode === 'proceed') throw reject('mode', 'wait today');
      },
    },
    load,
  ),
];

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let log: string[] = [];

interface Given {
  readonly environment?: Environment;
  readonly files?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly commands?: CliModules['commands'];
}

async function cli(argv: readonly string[], given: Given = {}): Promise<Outcome> {
  const stdout = new TextRecorder();
  const stderr = new TextRecorder();
  const files = given.files ?? {};
  log = [];
  const code = await runCli(argv, {
    commands: given.commands ?? testCommands,
    clock: new FakeClock(),
    environment: given.environment ?? {},
    stdout,
    stderr,
    signal: given.signal ?? new AbortController().signal,
    takeOverSignals: () => undefined,
    version: '9.8.7',
    logDestination: { write: (line) => void log.push(line) },
    readTextFile: async (path) => files[path] ?? Promise.reject(new Error('gone')),
    findPathProblem: (path) => (path in files ? undefined : 'does not exist'),
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

describe('a command', () => {
  test('gets its settings with their types, what stands beside them, and the way to refuse', async () => {
    let seen: CommandContext<typeof settings> | undefined;
    body = async (values, context) => {
      seen = context;
      expect(values.probeIntervalMs).toBe(500);
      expect(values.logLevel).toBe('error');
      return 42;
    };
    const argv = ['one', '--probe-interval', '500ms', '--log-level=error', '127.0.0.1:5'];
    expect(await cli(argv, { environment: { HOME: '/h' } })).toEqual({ code: 42, stdout: '', stderr: '' });
    expect(seen?.operands).toEqual(['127.0.0.1:5']);
    expect(seen?.environment).toEqual({ HOME: '/h' });
    expect(seen?.version).toBe('9.8.7');
    expect(seen?.isTerminal).toBe(false);
  });

  test('reads flags, environment and file together', async () => {
    body = async (values, { stdout }) => {
      stdout.write(JSON.stringify([values.probeIntervalMs, values.mode, values.json]));
      return 0;
    };
    const files = { 'kv.yaml': 'mode: proceed\nprobe-interval: 1s\njson: true\n' };
    const environment = { KV_ACCORD_PROBE_INTERVAL: '2s', KV_ACCORD_CONFIG: 'kv.yaml' };
    const { stdout } = await cli(['try', '--no-json'], { environment, files });
    expect(JSON.parse(stdout)).toEqual([2000, 'proceed', false]);
  });

  test('passes everything after the program to the program, with -- and without', async () => {
    let operands: readonly string[] = [];
    body = async (_values, context) => {
      operands = context.operands;
      return 0;
    };
    await cli([
      'run',
      '--mode',
      'proceed',
      '--',
      'python3',
      '-m',
      'x',
      '--mode',
      '{tokens_per_block}',
      '--',
      'y',
    ]);
    expect(operands).toEqual(['python3', '-m', 'x', '--mode', '{tokens_per_block}', '--', 'y']);
    await cli(['run', '--mode', 'proceed', 'python3', '--no-such', '--help']);
    expect(operands).toEqual(['python3', '--no-such', '--help']);
  });

  test('is refused before its body is even loaded', async () => {
    for (const argv of [
      ['try', '--mode', 'x'],
      ['try', '--config', 'none.yaml'],
      ['picky', '--mode', 'proceed'],
      ['try', '--tls-client-auth', 'require'],
      ['run'],
      ['one', 'a', 'b'],
    ]) {
      expect((await cli(argv)).code).toBe(2);
    }
    expect(loads).toBe(0);
  });

  test('that refuses a value itself ends with code 2 and one line', async () => {
    body = async (_values, context) => {
      throw context.reject('mode', 'something else');
    };
    expect(await cli(['try', '--mode', 'wait'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'kv-accord try: --mode "wait" (on the command line): must be something else\n',
    });
  });

  test('that a signal ends has 128+n', async () => {
    const controller = new AbortController();
    body = async (_values, { signal }) => {
      controller.abort(new StoppedBySignal('SIGTERM'));
      signal.throwIfAborted();
      return 0;
    };
    expect((await cli(['try'], { signal: controller.signal })).code).toBe(exitCodeOfSignal('SIGTERM'));
  });
});

describe('what is wrong is printed in one line with code 2', () => {
  test.each([
    [[], 'kv-accord: a command must be given: try, one, run, picky (kv-accord --help)'],
    [
      ['tri'],
      'kv-accord: unknown command "tri": must be one of try, one, run, picky, completion, help; did you mean try?',
    ],
    [
      ['try', '--probe-intervall', '1s'],
      'kv-accord try: unknown flag "--probe-intervall" (on the command line): must be one that kv-accord try --help lists; did you mean --probe-interval?',
    ],
    [
      ['try', '--no-mode'],
      'kv-accord try: unknown flag "--no-mode" (on the command line): must be one that kv-accord try --help lists; did you mean --mode?',
    ],
    [
      ['--mode', 'wait', 'try'],
      'kv-accord: unknown flag "--mode" (on the command line): must be --help or --version; it must stand after the command',
    ],
    [
      ['try', '--json=false'],
      'kv-accord try: --json "false" (on the command line): must be --json alone, it takes no value',
    ],
    [
      ['try', '--mode'],
      'kv-accord try: --mode (on the command line): must be followed by its value, one of wait, proceed',
    ],
    [
      ['try', '--probe-interval'],
      'kv-accord try: --probe-interval (on the command line): must be followed by its value, a duration from 0 to 24d, such as 500ms, 30s or 5m',
    ],
    [
      ['try', '--tls-server-name'],
      'kv-accord try: --tls-server-name (on the command line): must be followed by its value, <TEXT>',
    ],
    [
      ['-v'],
      'kv-accord: unknown flag "-v" (on the command line): must be --help or --version; did you mean --version?',
    ],
    [
      ['version'],
      'kv-accord: unknown command "version": must be one of try, one, run, picky, completion, help; did you mean --version?',
    ],
    [
      ['try', 'extra'],
      'kv-accord try: "extra" (on the command line): must be left out; lists are separated by commas without spaces, or their flag is repeated',
    ],
    [['run', '--json'], 'kv-accord run: CMD... (on the command line): must be given, after --'],
    [
      ['picky', '--mode', 'proceed'],
      'kv-accord picky: --mode "proceed" (on the command line): must be wait today',
    ],
    [
      ['try', '--config', 'none.yaml'],
      'kv-accord try: --config "none.yaml" (on the command line): must be a file that can be read, and it does not exist',
    ],
    [
      ['completion', 'tcsh'],
      'kv-accord completion: shell "tcsh" (on the command line): must be bash, zsh or fish',
    ],
    [
      ['completion', 'bash', 'zsh'],
      'kv-accord completion: "zsh" (on the command line): must be left out; one shell at a time',
    ],
    [
      ['try', '--tls-cert', 'kv.yaml'],
      'kv-accord try: --tls-key (not set): must be given together with --tls-cert',
    ],
  ])('%j', async (argv, expected) => {
    const files = { 'kv.yaml': '' };
    expect(await cli(argv, { files })).toEqual({ code: 2, stdout: '', stderr: `${expected}\n` });
  });

  test('a line feed in a flag does not make it two', async () => {
    const { stderr } = await cli(['try', "--x\n'y"]);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('a flag in place of a value says that the value is missing', async () => {
    expect(await cli(['try', '--probe-interval', '--mode', 'wait'])).toMatchObject({
      code: 2,
      stderr:
        'kv-accord try: --probe-interval (on the command line): must be followed by its value, not by --mode; if it came from a variable, that is empty\n',
    });
    expect((await cli(['try', '--mode', '--log-level=debug'])).stderr).toContain('not by --log-level;');
  });

  test('help of a command that is none names those that are', async () => {
    expect(await cli(['help', 'pikcy'])).toMatchObject({
      code: 2,
      stderr:
        'kv-accord help: unknown command "pikcy": must be one of try, one, run, picky, completion; did you mean picky?\n',
    });
  });

  test('what turns out wrong later says where it came from, unless that is the command line', async () => {
    body = async () => {
      throw new SettingError('--mode "wait" leads nowhere');
    };
    expect((await cli(['try', '--mode', 'wait'])).stderr).toBe(
      'kv-accord try: --mode "wait" leads nowhere\n',
    );
    const { code, stderr } = await cli(['try'], { environment: { KV_ACCORD_MODE: 'wait' } });
    expect(code).toBe(2);
    expect(stderr).toBe('kv-accord try: --mode "wait" leads nowhere (--mode is from KV_ACCORD_MODE)\n');
    const inFile = await cli(['try', '--config', 'f.yaml'], { files: { 'f.yaml': 'mode: wait\n' } });
    expect(inFile.stderr).toBe('kv-accord try: --mode "wait" leads nowhere (--mode is from f.yaml:1)\n');
  });

  test('a value that turns out wrong later says where it came from as one that is wrong by itself', async () => {
    body = async () => {
      throw new SettingError('--mode "a \\"b\\" must" must be something else');
    };
    expect((await cli(['try', '--mode', 'wait'])).stderr).toBe(
      'kv-accord try: --mode "a \\"b\\" must" (on the command line): must be something else\n',
    );
    expect((await cli(['try'], { environment: { KV_ACCORD_MODE: 'wait' } })).stderr).toBe(
      'kv-accord try: --mode "a \\"b\\" must" (from KV_ACCORD_MODE): must be something else\n',
    );
  });

  test('an address beyond this machine needs TLS, or --insecure', async () => {
    const commands = realCommands;
    const argv = ['sidecar', '--print-config', '--http-listen', '0.0.0.0:9464'];
    expect(await cli(argv, { commands })).toMatchObject({
      code: 2,
      stderr:
        'kv-accord sidecar: --http-listen "0.0.0.0:9464" (on the command line): must be a loopback address, unless there is --tls-cert with --tls-key, or --insecure for plaintext\n',
    });
    expect((await cli([...argv, '--insecure'], { commands })).code).toBe(0);
    const tls = ['--tls-cert', 'a', '--tls-key', 'b'];
    expect(
      (await cli([...argv, ...tls, '--host-root', 'r'], { commands, files: { a: '', b: '', r: '' } })).code,
    ).toBe(0);
  });

  test('two settings do not listen in one place', async () => {
    const ports = ['--listen', '127.0.0.1:7000', '--http-listen'];
    const argv = (...more: string[]) => [
      'epp',
      '--workers',
      '127.0.0.1:1',
      '--print-config',
      ...ports,
      ...more,
    ];
    for (const [same, shown] of [
      ['127.0.0.1:7000', '127.0.0.1:7000'],
      ['0.0.0.0:7000', '0.0.0.0:7000'],
    ] as const)
      expect(await cli(argv(same, '--insecure'), { commands: realCommands })).toMatchObject({
        code: 2,
        stderr: `kv-accord epp: --http-listen "${shown}" (on the command line): must be another address than that of --listen, 127.0.0.1:7000\n`,
      });
    for (const other of ['127.0.0.1:0', '127.0.0.2:7000', 'unix:/tmp/x'])
      expect((await cli(argv(other), { commands: realCommands })).code).toBe(0);
  });

  test('the way to the fleet is exactly one', async () => {
    const commands = realCommands;
    const refused = async (...argv: string[]): Promise<string> => {
      const { code, stderr } = await cli(argv, { commands, files: { f: '' } });
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused('aggregator')).toContain('--workers (not set): must be given, such as');
    expect(await refused('wait')).toContain('--workers-file, --dynamo-graph or --aggregator');
    expect(await refused('wait', '--workers', 'a:1', '--workers-file', 'f')).toContain('--workers-file "f"');
    expect(await refused('exec', '--workers', 'a:1', '--aggregator', 'b:1', 'x')).toContain(
      '--workers "a:1"',
    );
    expect(await refused('wait', '--dynamo-graph', 'g', '--aggregator', 'b:1')).toContain(
      '--dynamo-graph "g"',
    );
  });

  test('is printed before anything is started where workers are to be found in a cluster', async () => {
    const refused = async (...argv: string[]): Promise<string> => {
      const given = ['wait', '--insecure', ...argv];
      const { code, stderr } = await cli(given, { commands: realCommands, files: { f: '', k: '' } });
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused('--workers', 'k8s://ns')).toContain(
      'kv-accord wait: --workers "k8s://ns" (on the command line): must be k8s://NAMESPACE/SERVICE:PORT or k8s://NAMESPACE?selector=',
    );
    expect(await refused('--dynamo-graph', 'a/b/c')).toContain(
      '--dynamo-graph "a/b/c" (on the command line): must be NAME or NAMESPACE/NAME',
    );
    expect(await refused('--workers', 'dns:///w:1', '--min-workers', 'auto')).toContain(
      '--min-workers auto needs a Kubernetes workload to count by',
    );
    expect(await refused('--workers', 'a:1', '--min-workers', 'atuo')).toContain(
      '--min-workers "atuo" (on the command line): must be auto, or an integer from 1 to 100000; did you mean auto?',
    );
    expect(await refused('--workers', 'k8s://ns/w:1', '--kubeconfig', '/nowhere')).toContain('--kubeconfig');
  });
});

describe('a fault', () => {
  const fault = new Error('no such module\nat x');

  test('before there is a log is one line on standard error and code 1', async () => {
    const check = (): void => {
      throw fault;
    };
    const commands = [defineCommand({ ...common, name: 'try', check }, load)];
    expect(await cli(['try'], { commands })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'kv-accord try: no such module at x\n',
    });
  });

  test('of a running command is one line in the log, its stack only at debug level', async () => {
    body = () => Promise.reject(fault);
    expect(await cli(['try'])).toEqual({ code: 1, stdout: '', stderr: '' });
    expect(log.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error', msg: 'kv-accord try: no such module at x' },
    ]);
    expect(log.join('')).not.toContain('run.test');
    expect((await cli(['try', '--log-level', 'debug'])).code).toBe(1);
    expect(log.join('')).toContain('run.test');
  });
});

test('an unknown variable of ours is a warning, and the command runs', async () => {
  expect((await cli(['try'], { environment: { KV_ACCORD_MOOD: 'x', KV_ACCORD_CONFIG: '' } })).code).toBe(0);
  expect(log.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: expect.stringContaining('"KV_ACCORD_MOOD" is no setting') },
  ]);
});

describe('help', () => {
  test('lists the commands, and answers for each one', async () => {
    const all = await cli(['--help']);
    expect(all.code).toBe(0);
    expect(all.stdout).toContain('  try ');
    for (const argv of [
      ['try', '--help'],
      ['try', '-h'],
      ['help', 'try'],
    ]) {
      const { code, stdout } = await cli(argv);
      expect(code).toBe(0);
      expect(stdout).toContain('--probe-interval <DURATION>  Time between looks. (default: 10s)');
      expect(stdout).toContain('--mode <WORD>');
      expect(stdout).toContain('KV_ACCORD_SOME_FLAG');
      expect(stdout).not.toContain('--no-json');
    }
    expect(loads).toBe(0);
  });

  test('prints the version', async () => {
    expect(await cli(['-V'])).toEqual({ code: 0, stdout: '9.8.7\n', stderr: '' });
  });
});

describe('--print-config', () => {
  const environment = { KV_ACCORD_PROBE_INTERVAL: '1m30s' };
  const files = { 'kv.yaml': '# mine\nlog-level: debug\n' };

  test('prints each value with where it came from, and starts nothing', async () => {
    const { code, stdout } = await cli(['try', '--print-config', '--mode', 'wait', '--config', 'kv.yaml'], {
      environment,
      files,
    });
    expect(code).toBe(0);
    expect(loads).toBe(0);
    const lines = stdout.split('\n').map((line) => line.replace(/ {2,}/g, '  '));
    expect(lines).toContain('probe-interval: 90s  # KV_ACCORD_PROBE_INTERVAL');
    expect(lines).toContain('mode: wait  # flag');
    expect(lines).toContain('log-level: debug  # kv.yaml:2');
    expect(lines).toContain('log-format: auto  # default');
    expect(lines).toContain('# tls-cert:  # not set (KV_ACCORD_TLS_CERT)');
  });

  test('is a configuration file itself, with the same values', async () => {
    const commands = realCommands;
    const argv = ['sidecar', '--engine', 'http://h:1,http://h:2', '--model', 'a: "b" #c', '--print-config'];
    const first = await cli(argv, { commands });
    const second = await cli(['sidecar', '--print-config', '--config', 'again.yaml'], {
      commands,
      files: { 'again.yaml': first.stdout, '/': '' },
    });
    const values = (text: string): string[] =>
      text.split('\n').flatMap((line) => (/^[a-z]/.test(line) ? [line.replace(/ +# [^#]*$/, '')] : []));
    expect(second.stderr).toBe('');
    expect(values(second.stdout)).toEqual(values(first.stdout));
    expect(values(first.stdout)).toContain('model: "a: \\"b\\" #c"');
  });

  test('names a variable that is no setting, as the log does later', async () => {
    const { code, stderr } = await cli(['try', '--print-config'], {
      environment: { KV_ACCORD_PROBE_INTERVALL: '1s' },
    });
    expect(code).toBe(0);
    expect(stderr).toBe(
      'kv-accord try: environment variable "KV_ACCORD_PROBE_INTERVALL" is no setting and is ignored; did you mean KV_ACCORD_PROBE_INTERVAL?\n',
    );
  });

  test('is JSON with --json', async () => {
    const { stdout } = await cli(['try', '--print-config', '--json'], { environment });
    expect(JSON.parse(stdout)).toMatchObject({
      'probe-interval': { value: '90s', origin: 'environment', source: 'KV_ACCORD_PROBE_INTERVAL' },
      config: { value: null, origin: 'default', source: 'default' },
    });
  });

  test('shows no password', async () => {
    const argv = ['frontend', '--worker-urls', 'w=http://user:s3cret@h:1', '--print-config'];
    for (const extra of [[], ['--json']]) {
      const { stdout } = await cli([...argv, ...extra], { commands: realCommands });
      expect(stdout).toContain('http://user:***@h:1');
      expect(stdout).not.toContain('s3cret');
    }
  });
});
