import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { readBareSentences, saysNothing } from '../../../../src/tools/doctor/gather/bare-sentences.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

function readBare(text: string) {
  return readBareSentences('issue.txt', text, { clock: new FakeClock() });
}

async function findingOf(text: string): Promise<string | undefined> {
  const log = await readBare(text);
  if (log === undefined) return undefined;
  const { verdict, headline } = diagnose(joined({ logs: [log] }));
  return verdict === 'findings' ? headline : undefined;
}

const SENTENCES: readonly (readonly [sentence: string, headline: string])[] = [
  [
    '--enable-unified-memory is not yet compatible with PD disaggregation.',
    'A program refuses its settings: --enable-unified-memory is not yet compatible',
  ],
  ['frob_widget_size must be a power of two', 'A program refuses its settings'],
  [
    'consumer tp_size 6 must be a multiple of producer tp_size 4 for heterogeneous-TP P/D',
    'Prefill and decode engines refuse',
  ],
  ['[Errno 98] Address already in use', 'a port is in use ([Errno 98] Address already in use)'],
  ['NPU out of memory: 1.17 GiB asked for, 0.55 of 60.97 GiB free', 'no memory left'],
  ['NCCL error: unhandled system error', 'A program does not start or has ended'],
  ['CUDA out of memory. Tried to allocate 2.00 GiB', 'its GPU has no memory left'],
  ['The engine ends with this:\nUnsupported kv_cache_dtype: fp8_e3m4.', 'A program refuses its settings'],
];

describe('a text that is nothing but a sentence', () => {
  it.each(SENTENCES)('is read as the error that it is, without its type: %s', async (sentence, headline) => {
    expect(saysNothing(await summaryOf(`${sentence}\n`))).toBe(true);
    expect(await findingOf(sentence)).toContain(headline);
  });

  it('is quoted as it stands: nobody wrote a type', async () => {
    const log = await readBare('[Errno 98] Address already in use');
    expect(JSON.stringify([log, [...(log?.signals ?? [])]])).not.toContain('RuntimeError');
  });

  it.each([
    'Prefix cache hit rate: 2.9%, External prefix cache hit rate: 70.8%',
    'Failed requests: 0',
    'no errors, 0 failed',
    'Total tokens 614, LMCache hit tokens: 512, need to load: 496',
    'INFO 03-03 10:00:00 [api_server.py:1] the flag is not supported here',
    '2026-03-03 10:00:00 the flag is not supported here',
    '  Warning  Unhealthy  13m (x6 over 14m)  kubelet  Startup probe failed: connection refused',
    '$ curl -i http://localhost:8000/health; it must be 200',
    '- max_model_len must be 4096',
    'raise RuntimeError("descriptors require contiguous tensors")',
    'address: <IPv4>  # must be a valid address',
    '--checksum TYPE required for the store',
    '2026/11/02 10:00:00 http: TLS handshake error from 10.0.0.1:51234: tls: first record does not look like one',
    'Nothing happens',
  ])('is none where it is a figure, a line of a log, a command, or says of no fault: %s', async (text) => {
    expect(await readBare(text)).toBeUndefined();
  });

  it('is none among more than twelve lines', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => `a line ${at}`);
    expect(await readBare([...lines, 'frob_widget_size must be a power of two'].join('\n'))).toBeUndefined();
  });

  it('is none of which no rule knows the kind', async () => {
    expect(await readBare('the frobnicator of block 7 is not in tune')).toBeUndefined();
  });
});

describe('a log of which nothing was understood', () => {
  it('is none with a line of a program, an error or a setting', async () => {
    for (const line of [
      'INFO 03-03 10:00:00 [api_server.py:1] vLLM API server version 0.11.0',
      'ValueError: the frobnicator of block 7 is out of tune',
    ])
      expect(saysNothing(await summaryOf(`${line}\n`))).toBe(false);
  });
});
