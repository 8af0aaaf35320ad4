import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function diagnosisOf(text: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${text}\n`)] }));
}

const CONSEQUENCES = [
  '(APIServer pid=1) RuntimeError: Frontend process failed during engine core initialization. See root cause above.',
  '(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
  '(EngineCore_0 pid=12) ERROR 11-02 10:00:00 [multiproc_executor.py:316] Worker proc VllmWorker-1 died unexpectedly (exit code: 1), shutting down executor.',
  'ray.exceptions.RayActorError: The actor died because of an error raised in its creation task, ray::RayWorkerWrapper.__init__()',
  'torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nserve.py FAILED',
  'torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 1',
  '[2026-11-02 10:00:00] Received sigquit from a child process. It usually means the child failed.',
  'EOFError\n[2026-11-02 10:00:00] Rank 0 scheduler is dead. Please check if there are relevant logs.',
  'RuntimeError: Initialization failed. Please see the error messages above.',
  'mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated.',
  'ERROR: Server process died',
  'ERROR:    Application startup failed. Exiting.',
  '  Warning  BackOff  2m (x12 over 5m)  kubelet  Back-off restarting failed container main in pod vllm-0_default(0a1b)',
  'NAME     READY   STATUS             RESTARTS      AGE\nvllm-0   0/1     CrashLoopBackOff   5 (40s ago)   6m',
  'vllm-1 exited with code 1',
];

describe('a program that has ended', () => {
  it.each(CONSEQUENCES)('has its first error elsewhere where a log only says: %s', async (text) => {
    const { assessments, headline, advice } = await diagnosisOf(text);
    expect(assessments[0]?.cause).toBe('program_ended');
    expect(headline).toContain('its first error is not in what was given');
    expect(advice).toContain('kubectl logs POD --previous');
  });

  it('is no program that somebody stopped', async () => {
    for (const text of [
      '(EngineCore_0 pid=12) ERROR 11-02 10:00:00 [multiproc_executor.py:316] Worker proc VllmWorker-1 died unexpectedly (exit code: -15), shutting down executor.',
      'vllm-1 exited with code 0',
      'vllm-1 exited with code 143',
    ])
      expect((await diagnosisOf(text)).verdict).toBe('unknown');
  });

  it('of which only a parent speaks may have been killed: the system says so', async () => {
    const { headline, advice } = await diagnosisOf(
      'ERROR 11-02 10:00:00 [multiproc_executor.py:180] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.',
    );
    expect(headline).toContain('what was given does not say why');
    expect(advice).toMatch(/--previous.*kubectl describe pod/);
  });

  const OF_CONNECTOR = [
    '(EngineCore_DP0 pid=9) Traceback (most recent call last):',
    '(EngineCore_DP0 pid=9)   File "/opt/vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py", line 12, in get_finished',
    "(EngineCore_DP0 pid=9) KeyError: 'cmpl-1'",
  ].join('\n');
  const OF_ITS_OWN = [
    '(EngineCore_DP0 pid=7) ERROR [core.py:900] IndexError: list index out of range',
    '(EngineCore_DP0 pid=7) ERROR [core.py:901] EngineCore encountered a fatal error.',
  ].join('\n');

  async function causesOf(...texts: readonly string[]): Promise<readonly string[]> {
    const logs = await Promise.all(texts.map((text) => summaryOf(`${text}\n`)));
    return diagnose(joined({ logs })).assessments.map(({ cause }) => cause);
  }

  it('by an error of its own is found beside the log of another program that has a better sign', async () => {
    expect(await causesOf(OF_CONNECTOR, OF_ITS_OWN)).toEqual(
      expect.arrayContaining(['connector_crashed', 'program_ended']),
    );
  });

  it('for the reason of another program is no finding beside it', async () => {
    for (const follows of [
      '(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
      'ERROR [router.py:1] RuntimeError: cannot connect to the engine: connection refused\nERROR: Server process died',
    ])
      expect(await causesOf(OF_CONNECTOR, follows)).not.toContain('program_ended');
  });

  it.each([
    ['kubectl logs --prefix', (pod: string, line: string) => `[pod/${pod}/main] ${line}`],
    ['docker compose logs', (pod: string, line: string) => `${pod}  | ${line}`],
  ])(
    'has a reason of its own in a file of %s, whose lines of programs are mixed',
    async (_name, prefixed) => {
      const own = OF_ITS_OWN.split('\n').map((line) => prefixed('decode-1', line));
      const other = [
        'ERROR [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
        'ERROR [core.py:2] EngineCore failed to start.',
      ].map((line) => prefixed('prefill-1', line));
      const mixed = own.flatMap((line, at) => [line, other[at] ?? '']);
      const { headline } = await diagnosisOf(mixed.join('\n'));
      expect(headline).toContain('its GPU has no memory left');
      expect(headline).toContain('IndexError: list index out of range');
    },
  );

  it('is not ended by the error of another one in the same file', async () => {
    const lines = [
      '[pod/router-0/main] ERROR [x.py:1] RuntimeError: NCCL error: unhandled system error',
      '[pod/decode-1/main] ERROR: Server process died',
    ];
    const { failures } = await summaryOf(`${lines.join('\n')}\n`);
    expect(failures?.map(({ who, ends, sentence }) => [who, ends, sentence?.includes('NCCL')])).toEqual([
      ['router-0', 0, true],
      ['decode-1', 1, undefined],
    ]);
  });

  it('has a reason for each program that ended by another one', async () => {
    const ofMemory =
      'ERROR [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nERROR [core.py:2] EngineCore failed to start.';
    const logs = await Promise.all([OF_ITS_OWN, ofMemory].map((text) => summaryOf(`${text}\n`)));
    const { headline, assessments } = diagnose(joined({ logs }));
    expect(headline).toMatch(
      /its GPU has no memory left.*; another one: a fault of the program itself \(IndexError/,
    );
    expect(assessments[0]?.fixes).toHaveLength(2);
  });
});

describe('a program without IPv6', () => {
  it('is named with what switches IPv6 on, without a word of a library that was not seen, and no setting is refused', async () => {
    const { assessments } = await diagnosisOf(
      [
        'Traceback (most recent call last):',
        '  File "/usr/lib/python3.12/site-packages/uvicorn/config.py", line 496, in bind_socket',
        '    sock = socket.socket(family=family)',
        'OSError: [Errno 97] Address family not supported by protocol',
        '',
        '[2026-02-27 11:31:26] Received sigquit from a child process. It usually means the child failed.',
      ].join('\n'),
    );
    expect(assessments[0]?.headline).toContain('a socket of IPv6 is opened where there is no IPv6');
    expect(assessments[0]?.fixes[0]?.says).toContain('net.ipv6.conf.all.disable_ipv6=0');
    expect(assessments[0]?.fixes[0]?.says).not.toContain('Mooncake');
    expect(assessments.map(({ cause }) => cause)).not.toContain('settings_refused');
  });
});
