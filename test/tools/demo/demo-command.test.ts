import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/cli/commands.js';
import { type CliModules, runCli } from '../../../src/cli/run.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { StoppedBySignal } from '../../../src/edge/platform/processes/process-signals.js';
import { TextRecorder } from '../../support/text-recorder.js';

interface Run {
  readonly exitCode: Promise<number>;
  readonly stdout: TextRecorder;
  readonly log: string[];
}

/** `kv-accord demo` as the program runs it, in this process. */
function runDemo(args: readonly string[], changes: Partial<CliModules> = {}): Run {
  const stdout = new TextRecorder();
  const log: string[] = [];
  const exitCode = runCli(['demo', ...args], {
    commands,
    clock: systemClock,
    environment: {},
    stdout,
    stderr: new TextRecorder(),
    signal: new AbortController().signal,
    takeOverSignals: () => {},
    version: '0.0.0',
    readTextFile: async () => '',
    findPathProblem: () => undefined,
    logDestination: { write: (line) => void log.push(line) },
    ...changes,
  });
  return { exitCode, stdout, log };
}

describe('kv-accord demo', () => {
  it('shows one scene with the table of kv-accord status, and ends with 0', async () => {
    const { exitCode, stdout, log } = runDemo(['--scenario', 'override']);
    expect(await exitCode).toBe(0);
    expect(stdout.text).toContain('the KV blocks');
    expect(stdout.text).toContain('An operator insists');
    expect(stdout.text).toMatch(/WORKER +STATE +TOKENS\/BLOCK/);
    expect(stdout.text).toMatch(/worker-b {2}dissenting {2}32 .*load only/);
    expect(stdout.text).toMatch(/The scene went as expected: \d+ checks/);
    expect(stdout.text).not.toContain('A fleet that does not agree');
    // What the processes log is in the story; the demo's own log has nothing to say.
    expect(log).toEqual([]);
  });

  it('prints one JSON document with --json, and every line of every process at --log-level debug', async () => {
    const { exitCode, stdout, log } = runDemo([
      '--scenario',
      'late-joiner',
      '--json',
      '--log-level',
      'debug',
    ]);
    expect(await exitCode).toBe(0);
    const result = JSON.parse(stdout.text);
    expect(result).toMatchObject({ ok: true, scenes: [{ scene: 'late-joiner', ok: true }] });
    expect(result.scenes[0].log).toContainEqual({
      level: 'error',
      message: expect.stringContaining('Worker worker-trt has KV block size (tokens_per_block) 32'),
    });
    expect(log.map((line) => JSON.parse(line).from)).toContain('sidecar worker-trt');
  });

  it('stays with --keep, says how to look at it, and ends with 0 when it is asked to', async () => {
    const controller = new AbortController();
    class Watching extends TextRecorder {
      override write(text: string): void {
        super.write(text);
        if (text.includes('Ctrl-C ends it')) controller.abort(new StoppedBySignal('SIGINT'));
      }
    }
    const stdout = new Watching();
    const { exitCode } = runDemo(['--scenario', 'override', '--keep'], { stdout, signal: controller.signal });
    expect(await exitCode).toBe(0);
    expect(stdout.text).toMatch(/grpcurl -plaintext 127\.0\.0\.1:\d+ kvaccord\.v1\.Fleet\/GetAgreement/);
    expect(stdout.text).toMatch(
      /grpcurl -plaintext 127\.0\.0\.1:\d+ kvaccord\.v1\.Capabilities\/GetCapabilities/,
    );
  });

  it('ends with 130 when Ctrl-C comes in the middle', async () => {
    const controller = new AbortController();
    class Watching extends TextRecorder {
      override write(text: string): void {
        super.write(text);
        if (text.includes('SHUT')) controller.abort(new StoppedBySignal('SIGINT'));
      }
    }
    const { exitCode, log } = runDemo([], { stdout: new Watching(), signal: controller.signal });
    expect(await exitCode).toBe(130);
    expect(log).toEqual([]);
  });
});
