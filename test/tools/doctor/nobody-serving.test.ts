import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

async function diagnosisOf(text: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${text}\n`)] }));
}

const SERVERS: readonly (readonly [string, string])[] = [
  ['Redis or Valkey', '1:M 02 Nov 2026 10:00:00.123 * Ready to accept connections tcp'],
  [
    'etcd',
    '{"level":"info","ts":"2026-11-02T10:00:00.123Z","caller":"embed/etcd.go:250","msg":"starting an etcd server"}',
  ],
  ['NATS', '[1] 2026/11/02 10:00:00.123456 [INF] Server is ready'],
  ['Envoy', '[2026-11-02 10:00:00.123][1][info][main] [source/server/server.cc:412] initializing epoch 0'],
  ['Envoy', '[2026-11-02T10:00:00.123Z] "POST /v1/completions HTTP/1.1" 200 - 120 3400 812 811'],
  ['NCCL', 'node-1:123:456 [0] NCCL INFO NET/IB : No device found.'],
];

describe('a log of neither an engine nor a router', () => {
  it.each(SERVERS)('is said to be of %s, and what to add', async (name, line) => {
    const { verdict, headline, advice } = await diagnosisOf(line);
    expect(verdict).toBe('unknown');
    expect(headline).toBe(
      `Nothing wrong was seen in lines of ${name}; no line of an engine or a router was recognised`,
    );
    expect(advice).toContain('--logs ENGINE.log --logs ROUTER.log');
  });

  it('may be of programs that are not known', async () => {
    const { headline, advice } = await diagnosisOf('hello\nworld');
    expect(headline).toBe('Nothing wrong was seen; no line of an engine or a router was recognised');
    expect(advice).toContain('no line of either was recognised');
  });

  it('is none where an engine writes', async () => {
    const engine = 'INFO 11-02 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.11.0) with config: x';
    const { headline } = await diagnosisOf(`${engine}\nnode-1:123:456 [0] NCCL INFO Init COMPLETE`);
    expect(headline).toMatch(/^Nothing wrong was seen, and not enough/);
  });
});
