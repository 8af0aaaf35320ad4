import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

async function refusedBy(text: string): Promise<readonly string[]> {
  const { signals } = await summaryOf(`${text}\n`);
  return [...(signals.get('settings_refused')?.values.keys() ?? [])];
}

describe("the plain exception in which Dynamo's Rust hands its errors to Python", () => {
  it.each([
    '--block-size is required when --workers is specified',
    '--tls-client-ca-cert-path requires --tls-cert-path and --tls-key-path',
    "Invalid DYN_KUBE_DISCOVERY_MODE value 'containers'. Valid values: 'pod', 'container'",
  ])('is read as a setting that is refused: %s', async (sentence) => {
    expect(await refusedBy(`Exception: ${sentence}`)).toEqual([sentence]);
    expect(await refusedBy(`[pod/frontend-0/main] Exception: ${sentence}`)).toEqual([sentence]);
  });

  it.each([
    'Exception: Call to collective_rpc method failed: CUDA out of memory',
    'fastapi.exceptions.HTTPException: --a-flag requires --b-flag',
    'Ignoring optional part: Exception: --a-flag requires --b-flag',
    'WARNING 11-01 10:00:00 [x.py:1] Exception: KV connector does not support this yet, the next one is tried',
  ])('is not where it says something else: %s', async (line) => {
    expect(await refusedBy(line)).toEqual([]);
  });

  it('ends a program where a traceback from its start ends with it', async () => {
    const sentence = 'instance watcher closed before 2 workers appeared';
    const { failures } = await summaryOf(
      [
        'Traceback (most recent call last):',
        '  File "<frozen runpy>", line 88, in _run_code',
        '  File "/opt/dynamo/venv/lib/python3.12/site-packages/dynamo/frontend/__main__.py", line 8, in <module>',
        '    main()',
        `Exception: ${sentence}`,
        '',
      ].join('\n'),
    );
    expect(failures?.map((failure) => failure.sentence)).toEqual([`Exception: ${sentence}`]);
    const caught = await summaryOf(`10:00:00 INFO retries it: Exception: ${sentence}\n`);
    expect(caught.failures).toBeUndefined();
  });
});
