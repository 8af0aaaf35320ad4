import { describe, expect, test } from 'vitest';
import { describeError } from '../../../src/edge/platform/describe-error.js';
import { createLogger } from '../../../src/edge/platform/logger.js';

function recorder(): { lines: string[]; write: (line: string) => void } {
  const lines: string[] = [];
  return { lines, write: (line) => void lines.push(line) };
}

describe('the logger', () => {
  test('clears what a program shows in the line before it, when it is asked to', async () => {
    const out = recorder();
    const options = { isTerminal: true, colours: false, clearsLine: true };
    (await createLogger(options, { destination: out })).info({}, 'x');
    expect(out.lines.join('').startsWith('\u001b[K[')).toBe(true);
  });

  test('writes one JSON line with time, level name, fields and sentence when nobody watches', async () => {
    const out = recorder();
    const logger = await createLogger({ isTerminal: false }, { destination: out });
    logger.child({ group: 'llama' }).info({ tokens_per_block: 32 }, 'Auto-configured');
    expect(out.lines).toHaveLength(1);
    const line = JSON.parse(out.lines[0] ?? '');
    expect(line).toMatchObject({
      level: 'info',
      group: 'llama',
      tokens_per_block: 32,
      msg: 'Auto-configured',
    });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(line).not.toHaveProperty('pid');
  });

  test('writes for people on a terminal, immediately', async () => {
    const out = recorder();
    const logger = await createLogger({ isTerminal: true, colours: false }, { destination: out });
    logger.warn({ worker: 'w-1' }, 'Waiting');
    expect(out.lines.join('')).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: Waiting \{"worker":"w-1"\}\n$/);
  });

  test('writes one line for an event on a terminal, and more only for an error that says what to do', async () => {
    const out = recorder();
    const logger = await createLogger({ isTerminal: true, colours: false }, { destination: out });
    logger.warn({ worker: 'w-1', epoch: 1 }, 'first\nsecond');
    expect(out.lines.join('').split('\n')).toHaveLength(2);
    logger.error({ worker: 'w-1' }, 'what is wrong\nwhat to do');
    expect(out.lines.join('')).toContain('what is wrong\n');
    expect(out.lines.join('')).toContain('what to do');
  });

  test('writes JSON on a terminal and pretty lines to a pipe when asked to', async () => {
    const json = recorder();
    (await createLogger({ isTerminal: true, format: 'json' }, { destination: json })).info({}, 'x');
    expect(() => JSON.parse(json.lines[0] ?? '')).not.toThrow();
    const pretty = recorder();
    (await createLogger({ isTerminal: false, format: 'pretty' }, { destination: pretty })).info({}, 'x');
    expect(pretty.lines.join('')).toContain('INFO: x');
    expect(pretty.lines.join('')).not.toContain('\u001b');
  });

  test.each([
    ['debug', ['d', 'i', 'w', 'e']],
    ['info', ['i', 'w', 'e']],
    ['warn', ['w', 'e']],
    ['error', ['e']],
  ] as const)('at level %s lets through %j', async (level, expected) => {
    const out = recorder();
    const logger = await createLogger({ isTerminal: false, level }, { destination: out });
    logger.debug({}, 'd');
    logger.info({}, 'i');
    logger.warn({}, 'w');
    logger.error({}, 'e');
    expect(out.lines.map((line) => JSON.parse(line).msg)).toEqual(expected);
  });

  test('never writes a secret, however deep in the first levels', async () => {
    for (const isTerminal of [true, false]) {
      const out = recorder();
      const logger = await createLogger({ isTerminal, level: 'debug' }, { destination: out });
      logger.error({ token: 's3cret', headers: { authorization: 'Bearer s3cret' } }, 'no');
      logger.error({ request: { headers: { authorization: 's3cret' } } }, 'no');
      logger.child({ password: 's3cret' }).info({}, 'no');
      expect(out.lines.join('')).not.toContain('s3cret');
      expect(out.lines.join('')).toContain('[redacted]');
    }
  });

  test('lets no escape sequence from a worker through to a terminal', async () => {
    const out = recorder();
    const logger = await createLogger({ isTerminal: true, colours: false }, { destination: out });
    logger.error({ worker: 'a\u001b[2Jb' }, 'first\nworker \u001b[31mred\u0007');
    for (const control of ['\u001b', '\u0007']) expect(out.lines.join('')).not.toContain(control);
    expect(out.lines.join('')).toContain('first\n');
  });

  test.each(['\u009b2J', '\u202e', '\u200b', '\u2028'])(
    'writes %j of a worker as an escape where programs read',
    async (steering) => {
      const out = recorder();
      const logger = await createLogger({ isTerminal: false }, { destination: out });
      logger.error({ worker: `a${steering}b` }, `first${steering}`);
      expect(out.lines.join('')).not.toContain(steering);
      expect(JSON.parse(out.lines[0] ?? '')).toMatchObject({
        worker: `a${steering}b`,
        msg: `first${steering}`,
      });
      const pretty = recorder();
      const person = await createLogger({ isTerminal: true, colours: false }, { destination: pretty });
      person.error({ worker: `a${steering}b` }, `first${steering}`);
      expect(pretty.lines.join('')).not.toContain(steering[0]);
    },
  );

  test('reports an error in one line, and its stack only at debug level', async () => {
    const error = new Error('cannot dial', { cause: new Error('ECONNREFUSED') });
    for (const [level, stack] of [
      ['info', false],
      ['debug', true],
    ] as const) {
      const out = recorder();
      (await createLogger({ isTerminal: false, level }, { destination: out })).error({ error }, 'failed');
      const errorText = JSON.parse(out.lines[0] ?? '').error as string;
      expect(errorText.includes('logger.test')).toBe(stack);
      if (!stack) expect(errorText).toBe('cannot dial: ECONNREFUSED');
    }
    expect(describeError('text')).toBe('text');
  });
});
