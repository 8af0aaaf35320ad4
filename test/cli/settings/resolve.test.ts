import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { SettingError } from '../../../src/app/setting-error.js';
import { parseConfigFile } from '../../../src/cli/settings/config-file.js';
import { parseDuration, parseSize } from '../../../src/cli/settings/parse-amount.js';
import type { FindPathProblem } from '../../../src/cli/settings/parse-value.js';
import { type Resolved, resolve } from '../../../src/cli/settings/resolve.js';
import type { SettingsTable } from '../../../src/cli/settings/setting.js';
import type { Address } from '../../../src/edge/platform/address.js';

const table = {
  'probe-interval': { kind: 'duration', default: '10s', min: '100ms', max: '1h', help: '.' },
  timeout: { kind: 'duration', help: '.' },
  'max-body': { kind: 'size', default: '1MiB', max: '1GiB', help: '.' },
  'tokens-per-block': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    dynamo: ['DYN_KV_CACHE_BLOCK_SIZE'],
    help: '.',
  },
  mode: { kind: 'enum', choices: ['wait', 'proceed'], default: 'wait', help: '.' },
  order: {
    kind: 'enum',
    choices: ['by-name', 'by-age'],
    aliases: { by_name: 'by-name' },
    dynamo: ['DYN_ORDER'],
    help: '.',
  },
  weight: { kind: 'number', min: 0, max: 1_000, default: 1, help: '.' },
  ratio: { kind: 'number', min: 0, isMinExcluded: true, max: 1, help: '.' },
  workers: { kind: 'list', item: 'target', help: '.' },
  engine: { kind: 'list', item: 'url', words: ['auto', 'none'], default: ['auto'], help: '.' },
  env: { kind: 'list', item: 'env-name', help: '.' },
  events: { kind: 'list', item: 'zmq', words: ['auto', 'off'], default: ['auto'], help: '.' },
  listen: { kind: 'address', use: 'listen', default: '127.0.0.1:1', help: '.' },
  peer: { kind: 'address', use: 'dial', help: '.' },
  topology: { kind: 'file', mustBe: 'file', words: ['auto', 'off'], default: 'auto', help: '.' },
  'token-file': { kind: 'file', mustBe: 'file', holdsSecret: true, help: '.' },
  insecure: { kind: 'boolean', help: '.' },
  model: { kind: 'string', maxLength: 20, help: '.' },
} as const satisfies SettingsTable;

interface Given {
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly file?: string;
  readonly findPathProblem?: FindPathProblem;
}

function resolveGiven(given: Given): Resolved<typeof table> {
  const configFile = given.file === undefined ? undefined : parseConfigFile('kv.yaml', given.file);
  const flags = new Map(Object.entries(given.flags ?? {}));
  const sources = { flags, environment: given.environment ?? {}, configFile };
  return resolve(table, sources, given.findPathProblem ?? (() => undefined));
}

function errorOf(given: Given): string {
  try {
    resolveGiven(given);
  } catch (error) {
    expect(error).toBeInstanceOf(SettingError);
    return (error as Error).message;
  }
  throw new Error('nothing was refused');
}

describe('the values of a table', () => {
  test('have the types and the units that follow from it', () => {
    const { values } = resolveGiven({});
    expectTypeOf(values.probeIntervalMs).toEqualTypeOf<number>();
    expectTypeOf(values.timeoutMs).toEqualTypeOf<number | undefined>();
    expectTypeOf(values.maxBodyBytes).toEqualTypeOf<number>();
    expectTypeOf(values.tokensPerBlock).toEqualTypeOf<number | undefined>();
    expectTypeOf(values.mode).toEqualTypeOf<'wait' | 'proceed'>();
    expectTypeOf(values.order).toEqualTypeOf<'by-name' | 'by-age' | undefined>();
    expectTypeOf(values.weight).toEqualTypeOf<number>();
    expectTypeOf(values.ratio).toEqualTypeOf<number | undefined>();
    expectTypeOf(values.workers).toEqualTypeOf<readonly string[]>();
    expectTypeOf(values.listen).toEqualTypeOf<Address>();
    expectTypeOf(values.peer).toEqualTypeOf<Address | undefined>();
    expectTypeOf(values.topology).toEqualTypeOf<string>();
    expectTypeOf(values.insecure).toEqualTypeOf<boolean>();
    expectTypeOf(values.model).toEqualTypeOf<string | undefined>();
    expect(values).toEqual({
      probeIntervalMs: 10_000,
      timeoutMs: undefined,
      maxBodyBytes: 2 ** 20,
      tokensPerBlock: undefined,
      mode: 'wait',
      order: undefined,
      weight: 1,
      ratio: undefined,
      workers: [],
      engine: ['auto'],
      env: [],
      events: ['auto'],
      listen: { type: 'tcp', host: '127.0.0.1', port: 1, text: '127.0.0.1:1' },
      peer: undefined,
      topology: 'auto',
      tokenFile: undefined,
      insecure: false,
      model: undefined,
    });
  });

  test('are taken from the flag, then KV_ACCORD_…, then DYN_…, then the file, then the default', () => {
    const sources = {
      flags: { 'tokens-per-block': ['1'] },
      environment: { KV_ACCORD_TOKENS_PER_BLOCK: '2', DYN_KV_CACHE_BLOCK_SIZE: '3' },
      file: 'tokens-per-block: 4',
    };
    const found = (given: Given): unknown[] => {
      const entry = resolveGiven(given).entries.find(({ name }) => name === 'tokens-per-block');
      return [entry?.value, entry?.origin];
    };
    expect(found(sources)).toEqual([1, { type: 'flag' }]);
    const { flags, ...noFlag } = sources;
    expect(flags).toBeDefined();
    expect(found(noFlag)).toEqual([2, { type: 'environment', variable: 'KV_ACCORD_TOKENS_PER_BLOCK' }]);
    expect(found({ file: sources.file, environment: { DYN_KV_CACHE_BLOCK_SIZE: '3' } })).toEqual([
      3,
      { type: 'environment', variable: 'DYN_KV_CACHE_BLOCK_SIZE' },
    ]);
    expect(found({ file: sources.file })).toEqual([4, { type: 'config_file', path: 'kv.yaml', line: 1 }]);
    expect(found({})).toEqual([undefined, { type: 'default' }]);
  });

  test('take an empty environment variable for one that is not set', () => {
    expect(resolveGiven({ environment: { KV_ACCORD_MODE: '', KV_ACCORD_MODEL: '' } }).values.mode).toBe(
      'wait',
    );
  });

  test('a list is separated by commas, or repeated, or a YAML list', () => {
    const expected = ['a:1', 'b:2', 'c:3'];
    expect(resolveGiven({ flags: { workers: ['a:1, b:2', 'c:3'] } }).values.workers).toEqual(expected);
    expect(resolveGiven({ environment: { KV_ACCORD_WORKERS: 'a:1,b:2,c:3' } }).values.workers).toEqual(
      expected,
    );
    expect(resolveGiven({ file: 'workers:\n  - a:1\n  - b:2,c:3\n' }).values.workers).toEqual(expected);
    expect(resolveGiven({ file: '{"workers": ["a:1", "b:2", "c:3"]}' }).values.workers).toEqual(expected);
  });

  test('the last of a repeated flag counts', () => {
    expect(resolveGiven({ flags: { mode: ['proceed', 'wait'] } }).values.mode).toBe('wait');
  });

  test.each(['true', 'yes', 'on', '1', 'TRUE'])('a switch is on with %s', (text) => {
    expect(resolveGiven({ environment: { KV_ACCORD_INSECURE: text } }).values.insecure).toBe(true);
    expect(resolveGiven({ file: `insecure: ${text}` }).values.insecure).toBe(true);
  });

  test('a switch that the environment puts on can be put off by a flag', () => {
    const given = { environment: { KV_ACCORD_INSECURE: 'true' }, flags: { insecure: ['false'] } };
    expect(resolveGiven(given).values.insecure).toBe(false);
  });

  test('a word has the spelling of its choice, however and wherever it was given', () => {
    expect(resolveGiven({ flags: { order: ['by_name'] } }).values.order).toBe('by-name');
    expect(resolveGiven({ environment: { KV_ACCORD_ORDER: 'by_name' } }).values.order).toBe('by-name');
    expect(resolveGiven({ environment: { DYN_ORDER: 'by_name' } }).values.order).toBe('by-name');
    expect(resolveGiven({ file: 'order: by_name' }).values.order).toBe('by-name');
    expect(resolveGiven({ file: 'order: by-age' }).values.order).toBe('by-age');
  });

  test.each([
    ['0', 0],
    ['-0', 0],
    ['1.50', 1.5],
    ['.25', 0.25],
    ['3.', 3],
    ['2.5e-3', 0.0025],
    ['1E3', 1_000],
  ])('%s is the number %d', (text, expected) => {
    expect(resolveGiven({ flags: { weight: [text] } }).values.weight).toBe(expected);
    expect(resolveGiven({ file: `weight: ${text}` }).values.weight).toBe(expected);
  });

  test.each([
    '',
    'NaN',
    'Infinity',
    '-Infinity',
    '0x10',
    '1_000',
    '1,5',
    '1 2',
    '--1',
    '1e400',
    '1e',
    'e1',
    '٣',
    '-1',
    '1000.1',
  ])('%j is no number that can be taken', (text) => {
    expect(() => resolveGiven({ flags: { weight: [text] } })).toThrow('--weight');
  });

  test('a number may have to be above its lower bound', () => {
    expect(resolveGiven({ flags: { ratio: ['1'] } }).values.ratio).toBe(1);
    expect(() => resolveGiven({ flags: { ratio: ['0'] } })).toThrow('above 0 and at most 1');
    expect(() => resolveGiven({ flags: { ratio: ['-0'] } })).toThrow('above 0 and at most 1');
  });

  test('URLs lose their trailing slash, words stay', () => {
    expect(resolveGiven({ flags: { engine: ['http://h:1/', 'https://h/base//'] } }).values.engine).toEqual([
      'http://h:1',
      'https://h/base',
    ]);
    expect(resolveGiven({ flags: { engine: ['none'] } }).values.engine).toEqual(['none']);
  });
});

describe('a wrong value is reported in one line, with field, value, source and what is allowed', () => {
  test.each<[Given, string]>([
    [
      { flags: { 'probe-interval': ['10'] } },
      '--probe-interval "10" (on the command line): must be a duration from 100ms to 1h, such as 500ms, 30s or 5m (with its unit: 10s or 10ms)',
    ],
    [
      { environment: { KV_ACCORD_PROBE_INTERVAL: '99ms' } },
      '--probe-interval "99ms" (from KV_ACCORD_PROBE_INTERVAL): must be a duration from 100ms to 1h, such as 500ms, 30s or 5m',
    ],
    [
      { file: '# a comment\n\nprobe-interval: 2h\n' },
      '--probe-interval "2h" (from kv.yaml:3): must be a duration from 100ms to 1h, such as 500ms, 30s or 5m',
    ],
    [
      { environment: { DYN_KV_CACHE_BLOCK_SIZE: '0' } },
      '--tokens-per-block "0" (from DYN_KV_CACHE_BLOCK_SIZE): must be an integer from 1 to 1048576',
    ],
    [
      { file: 'tokens-per-block: 16.0' },
      '--tokens-per-block "16.0" (from kv.yaml:1): must be an integer from 1 to 1048576',
    ],
    [
      { flags: { mode: ['wiat'] } },
      '--mode "wiat" (on the command line): must be one of wait, proceed; did you mean wait?',
    ],
    [
      { environment: { KV_ACCORD_WEIGHT: 'NaN' } },
      '--weight "NaN" (from KV_ACCORD_WEIGHT): must be a number from 0 to 1000, such as 0.5',
    ],
    [
      { flags: { order: ['by_nane'] } },
      '--order "by_nane" (on the command line): must be one of by-name, by-age; did you mean by-name?',
    ],
    [
      { flags: { 'max-body': ['5GB'] } },
      '--max-body "5GB" (on the command line): must be a size from 0 to 1GiB in KiB, MiB or GiB, such as 16MiB',
    ],
    [
      { flags: { peer: ['h:0'] } },
      '--peer "h:0" (on the command line): must be HOST:PORT, [::1]:PORT or unix:/path with a port 1 to 65535',
    ],
    [
      { environment: { KV_ACCORD_WORKERS: 'a:1,,b:2' } },
      '--workers "" (from KV_ACCORD_WORKERS): must be a comma-separated list of HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT or k8s://NAMESPACE/SERVICE:PORT',
    ],
    [
      { flags: { engine: ['auto', 'http://h'] } },
      '--engine "auto,http://h" (on the command line): must be auto alone, or a list without it',
    ],
    [
      { flags: { engine: ['atuo'] } },
      '--engine "atuo" (on the command line): must be auto, or none, or a comma-separated list of URLs such as http://127.0.0.1:8000; did you mean auto?',
    ],
    [
      { flags: { env: ['A,1B'] } },
      '--env "1B" (on the command line): must be a comma-separated list of names of environment variables',
    ],
    [
      { flags: { events: ['http://a:1'] } },
      '--events "http://a:1" (on the command line): must be auto, or off, or a comma-separated list of ZMQ endpoints such as tcp://127.0.0.1:5557 (or @tcp://*:5557 to bind)',
    ],
    [
      { flags: { topology: ['x.xml'] }, findPathProblem: () => 'does not exist' },
      '--topology "x.xml" (on the command line): must be auto, or off, or a file that can be read, and it does not exist',
    ],
    [
      { environment: { KV_ACCORD_INSECURE: 'maybe' } },
      '--insecure "maybe" (from KV_ACCORD_INSECURE): must be true or false (or yes, no, on, off, 1, 0)',
    ],
    [
      { flags: { model: ['x'.repeat(21)] } },
      `--model "${'x'.repeat(21)}" (on the command line): must be text of 1 to 20 characters without control characters`,
    ],
    [
      { file: 'mode: [wait, proceed]' },
      '--config "kv.yaml": line 1: "mode" takes one value, not a list of 2',
    ],
    [
      { file: 'model: x\nprobe-intervall: 1s' },
      '--config "kv.yaml": line 2: unknown name "probe-intervall", must be a flag of this command; did you mean probe-interval?',
    ],
    [
      { file: 'model:\n  name: x' },
      '--config "kv.yaml": line 1: "model" must have a plain value or a list of plain values',
    ],
    [
      { file: 'model:' },
      '--config "kv.yaml": line 1: "model" must have a plain value or a list of plain values',
    ],
    [
      { file: '- model' },
      '--config "kv.yaml": line 1: must be "name: value" lines with the names of the flags',
    ],
    [{ file: 'model: a\nmodel: b' }, '--config "kv.yaml": line 2: not valid YAML: Map keys must be unique'],
  ])('%j', (given, expected) => {
    expect(errorOf(given)).toBe(expected);
  });

  test('a secret that was given in place of its file is not repeated, in any source', () => {
    const findPathProblem = (): string => 'does not exist';
    for (const given of [
      { flags: { 'token-file': ['s3cret'] } },
      { environment: { KV_ACCORD_TOKEN_FILE: 's3cret' } },
      { file: 'token-file: s3cret' },
    ]) {
      const message = errorOf({ ...given, findPathProblem });
      expect(message).not.toContain('s3cret');
      expect(message).toContain('--token-file (not shown, it may be a secret)');
    }
  });

  test('a password in a URL is not repeated', () => {
    expect(errorOf({ flags: { engine: ['http://user:s3cret@h:1?x'] } })).not.toContain('s3cret');
  });

  test('a target with a label selector keeps its commas and spaces, and ends where another target begins', () => {
    const flags = { workers: ['a:1,k8s://ns?selector=app=v,tier in (a, b),!old&port=7,b:2', 'c'] };
    expect(resolveGiven({ flags }).values.workers).toEqual([
      'a:1',
      'k8s://ns?selector=app=v,tier in (a, b),!old&port=7',
      'b:2',
      'c',
    ]);
    expect(errorOf({ flags: { workers: ['a :1'] } })).toContain('--workers "a :1"');
  });

  test('a value that turns out wrong later is refused in the same words', () => {
    const { reject } = resolveGiven({ file: 'workers: [a:1, "k8s://x"]' });
    expect(reject('workers', 'HOST:PORT', 'k8s://x').message).toBe(
      '--workers "k8s://x" (from kv.yaml:1): must be HOST:PORT',
    );
    expect(resolveGiven({ flags: { timeout: ['90s'] } }).reject('timeout', 'left out').message).toBe(
      '--timeout "90s" (on the command line): must be left out',
    );
    expect(reject('peer', 'given').message).toBe('--peer (not set): must be given');
  });

  test('whatever the value, the line stays one line, short and printable', () => {
    const names = Object.keys(table);
    const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 2000 }));
    fc.assert(
      fc.property(fc.constantFrom(...names), anyText, fc.boolean(), (name, text, isFlag) => {
        const variable = `KV_ACCORD_${name.toUpperCase().replaceAll('-', '_')}`;
        try {
          resolveGiven(isFlag ? { flags: { [name]: [text] } } : { environment: { [variable]: text } });
        } catch (error) {
          expect(error).toBeInstanceOf(SettingError);
          const { message } = error as Error;
          expect(message.length).toBeLessThan(1100);
          expect(message).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('whatever the configuration file, it is read or refused in one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        try {
          resolveGiven({ file: text });
        } catch (error) {
          expect(error).toBeInstanceOf(SettingError);
          expect((error as Error).message).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('units', () => {
  test.each([
    ['0', 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1m30s', 90_000],
    ['2d', 172_800_000],
  ])('%s is %d ms', (text, expected) => expect(parseDuration(text)).toBe(expected));

  test.each(['', '10', '-1s', '1 s', '1w', '1y', 's', '1s1', '1S', '1e3s', '١s'])(
    '%j is no duration',
    (text) => expect(parseDuration(text)).toBeUndefined(),
  );

  test.each([
    ['0', 0],
    ['1KiB', 1024],
    ['1.5MiB', 1.5 * 2 ** 20],
    ['2GiB', 2 ** 31],
  ])('%s is %d bytes', (text, expected) => expect(parseSize(text)).toBe(expected));

  test.each(['', '10', '1KB', '1 KiB', '-1KiB', '1kib', 'constructor', '1toString'])(
    '%j is no size',
    (text) => expect(parseSize(text)).toBeUndefined(),
  );
});
