import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { joined } from '../support/evidence.js';

import { summaryOf } from './summaries.js';

const FOLDER = new URL('../../../fixtures/doctor-public-logs/', import.meta.url);

const BUSY = [
  '[pod/busy-0/main] INFO:     10.0.0.7:40000 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
  '[pod/busy-0/main] INFO 11-20 10:00:00 [loggers.py:215] Engine 000: Avg prompt throughput: 30.3 tokens/s, Avg generation throughput: 9.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.1%, Prefix cache hit rate: 0.0%',
];

async function diagnosisOf(lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
}

/** Each line behind the name of its pod, with as many lines of another pod behind it. */
function mixed(lines: readonly string[], others: number): readonly string[] {
  const between = Array.from({ length: others }, (_, at) => BUSY[at % BUSY.length] ?? '');
  return lines.flatMap((line) => [`[pod/some-0/main] ${line}`, ...between]);
}

describe('lines of several programs in one file', () => {
  it.each([
    ['a traceback with what it asserts', 'vllm-offload-uneven-blocks'],
    ['a traceback with its exception', 'sglang-bootstrap-without-answer'],
    ['a message below its error', 'lmcache-peers-without-controller'],
    ['the message of a panic', 'kvbm-panic-without-blocks'],
  ])('do not part %s', async (_what, name) => {
    const lines = readFileSync(new URL(`${name}.txt`, FOLDER), 'utf8')
      .trimEnd()
      .split('\n');
    const alone = await diagnosisOf(lines);
    for (const others of [1, 5]) {
      const { assessments, headline } = await diagnosisOf(mixed(lines, others));
      expect(assessments[0]?.cause).toBe(alone.assessments[0]?.cause);
      expect(headline).toBe(alone.headline);
    }
  });

  const FRAME = '    port = transfer_spec.receiver_init_port[self.tp_rank]';
  const LAST = 'IndexError: list index out of range';
  const FAULT = 'lmcache_pd_fewer_receiver_ports';

  it.each([
    ['of the same pod', [`[pod/a-0/main] ${FRAME}`, `[pod/b-0/main] x`, `[pod/a-0/main] ${LAST}`], true],
    ['of another pod', [`[pod/b-0/main] ${FRAME}`, `[pod/a-0/main] ${LAST}`], false],
    ['of no named pod', [FRAME, `[pod/a-0/main] ${LAST}`], true],
    ['of a pod, above a line of no named one', [`[pod/a-0/main] ${FRAME}`, LAST], true],
    [
      'of one of very many pods',
      [...Array.from({ length: 200 }, (_, at) => `[pod/p-${at}/main] ${FRAME}`), `[pod/p-150/main] ${LAST}`],
      true,
    ],
  ])('have what a known fault wants above it, %s', async (_what, lines, isFault) => {
    const { knownFaults = [] } = await summaryOf(`${lines.join('\n')}\n`);
    expect(knownFaults.map(({ fault }) => fault.id)).toEqual(isFault ? [FAULT] : []);
  });

  it('are not what a frontend speaks of, where it names nobody', async () => {
    const refused =
      '2026-03-03T10:00:00.000114Z ERROR dynamo_llm::discovery::watcher: Checksum for new model does not match existing model. model_name="m"';
    const failed =
      '2026-03-03T10:00:00.000114Z ERROR dynamo_llm::discovery::watcher: Error adding model from discovery error: no tokenizer.json';
    for (const line of [refused, failed])
      expect((await diagnosisOf([`[pod/frontend-0/main] ${line}`])).headline).not.toContain('frontend-0');
  });
});
