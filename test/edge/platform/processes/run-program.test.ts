import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../../src/edge/platform/processes/run-program.js';

const BOUNDS = {
  environment: { PATH: '/usr/bin:/bin', GREETING: 'hello' },
  timeoutMs: 10_000,
  maxOutputBytes: 1_000,
};

describe('a program', () => {
  it('is run to its end, with the environment given and an empty standard input', async () => {
    expect(await runProgram('sh', ['-c', 'cat; echo $GREETING; echo oops >&2'], BOUNDS)).toEqual({
      output: 'hello\n',
      errors: 'oops\n',
      problem: undefined,
    });
  });

  it.each([
    [['-c', 'exit 7'], 'it ended with status 7'],
    [['-c', 'kill -TERM $$'], 'it was ended by SIGTERM'],
    [['-c', 'head -c 5000 /dev/zero'], 'it wrote more than 1000 bytes'],
  ])('that does %j failed in words', async (args, problem) => {
    expect((await runProgram('sh', args, BOUNDS)).problem).toBe(problem);
  });

  it('that does not end is ended', async () => {
    const { problem } = await runProgram('sleep', ['60'], { ...BOUNDS, timeoutMs: 100 });
    expect(problem).toBe('it did not end within 0.1 s');
  });

  it('that nobody waits for any longer is ended, with what it has started left alone', async () => {
    const stop = new AbortController();
    const running = runProgram('sh', ['-c', 'sleep 3; true'], { ...BOUNDS, signal: stop.signal });
    stop.abort();
    expect((await running).problem).toBe('nobody waits for it any longer');
  });

  it.each([
    ['/no/such/program', 'it is not there'],
    ['/etc/passwd', 'it may not be run by this user'],
  ])('%s cannot be run, and says why', async (command, problem) => {
    expect((await runProgram(command, [], BOUNDS)).problem).toBe(problem);
  });

  it('with an invalid name is reported as well', async () => {
    expect((await runProgram('a\0b', [], BOUNDS)).problem).toContain('null bytes');
  });
});
