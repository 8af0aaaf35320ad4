import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../../src/tools/doctor/diagnosis.js';
import { unreachedPeerIn } from '../../../../../src/tools/doctor/logs/general/unreached-peers.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

async function diagnosisOf(...lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(lines.map((line) => `${line}\n`).join(''))] }));
}

const ENGINES: readonly (readonly [value: string, message: string])[] = [
  [
    'an engine is not reached at http://10.0.0.5:30000 (no connection)',
    'Failed to send typed request worker_url=http://10.0.0.5:30000 error=error sending request for url (http://10.0.0.5:30000/generate)',
  ],
  [
    'an engine is not reached at http://gen0:8002 (nothing listens there)',
    "Client error to http://gen0:8002/v1/completions: Cannot connect to host gen0:8002 ssl:default [Connect call failed ('10.0.0.5', 8002)]",
  ],
  [
    'an engine is not reached at http://10.0.0.7:8000 (no answer in time)',
    'failed to reach worker http://10.0.0.7:8000/health: dial tcp 10.0.0.7:8000: i/o timeout',
  ],
  [
    'an engine is not reached at qwen-decode:8000 (its name does not resolve)',
    "decode: HTTPConnectionPool(host='qwen-decode', port=8000): Max retries exceeded with url: /v1/models (Name or service not known)",
  ],
];

describe('a program that another one does not reach', () => {
  it.each(ENGINES)('is %s', (value, message) => {
    expect(unreachedPeerIn(message)?.fault).toEqual({ signal: 'role_missing', value });
  });

  it.each([
    ['Redis at redis-server:6379', 'Error adding blocks: redis: dial tcp redis-server:6379: i/o timeout'],
    ['NATS', 'Failed to generate completions: no responders: no responders'],
    ['etcd', 'etcd: failed to connect to all addresses; Connection refused'],
    [
      'Prometheus at prometheus.svc:9090',
      "Error getting length: HTTPConnectionPool(host='prometheus.svc', port=9090): Max retries exceeded with url: /api/v1/query",
    ],
  ])('is %s', (value, message) => {
    expect(unreachedPeerIn(message)?.fault).toEqual({ signal: 'control_plane_unreachable', value });
  });

  it.each([
    ['decode', "can't schedule to target pod: no decode pods found"],
    ['prefill', 'prefill routing failed: No workers available for prefill'],
    ['prefill', 'failed to filter pods: prefill pods are not ready: prefill=0, decode=2'],
    ['any', 'no available pods for model server: default/deepseek'],
  ])('is one of role %s that is not there', (value, message) => {
    expect(unreachedPeerIn(message)?.fault).toEqual({ signal: 'role_missing', value });
  });

  it.each([
    'Failed to fetch https://huggingface.co/api/models: Connection refused',
    'dial unix /run/worker.sock: connect: connection refused',
    'the worker is out of tune',
    'No available backend found, please create backend first',
  ])('is none of %s', (message) => {
    expect(unreachedPeerIn(message)).toBeUndefined();
  });

  const POLL =
    "[2026-10-20 09:12:14,318] ERROR: frob of the worker: HTTPConnectionPool(host='10.42.1.14', port=8000): Max retries exceeded with url: /metrics (a.py:1:b)";

  it('counts from the third poll on, and from the first line where a request failed', async () => {
    expect((await diagnosisOf(POLL, POLL)).verdict).toBe('unknown');
    const { headline, advice } = await diagnosisOf(POLL, POLL, POLL);
    expect(headline).toContain('does not reach an engine at 10.42.1.14:8000: no connection');
    expect(advice).toContain('curl -v http://10.42.1.14:8000/v1/models');
    const request =
      '2026-01-20 10:00:00 ERROR router: Failed to send typed request worker_url=http://10.0.0.5:30000 error=error sending request for url (http://10.0.0.5:30000/generate)';
    expect((await diagnosisOf(request)).assessments[0]?.cause).toBe('role_missing');
  });

  const RECONCILED =
    'E0124 22:18:21.350006       1 controller.go:329] "msg"="Reconciler error" "error"="failed to update metrics for scale target reference: failed to fetch metrics from source http://10.0.1.26:8000/metrics: Get \\"http://10.0.1.26:8000/metrics\\": dial tcp 10.0.1.26:8000: connect: connection refused" "controller"="podautoscaler"';
  const SCALED = 'I0124 22:25:51.877636       1 kpa.go:343] "Operating in stable mode." desiredPodCount=3';

  it.each([POLL, RECONCILED])('is none once polls have ended: %s', async (poll) => {
    const polls = [poll, SCALED, SCALED, poll, poll, SCALED, poll];
    expect((await diagnosisOf(...polls, ...new Array(60).fill(SCALED))).verdict).toBe('unknown');
    const { assessments } = await diagnosisOf(...polls, ...new Array(20).fill(SCALED));
    expect(assessments[0]?.cause).toBe('role_missing');
  });

  it('is one whose polls come seldom, and go on', async () => {
    const minute = [...new Array(60).fill(SCALED), POLL];
    const log = [...minute, ...minute, ...minute, ...new Array(90).fill(SCALED)];
    expect((await diagnosisOf(...log)).assessments[0]?.cause).toBe('role_missing');
  });

  it('is none while another try follows', async () => {
    const line =
      "[05/20/2026-10:00:00] [TRT-LLM] [E] Client error to http://gen0:8002/v1/completions: Cannot connect to host gen0:8002 ssl:default [Connect call failed ('10.0.0.5', 8002)] - retry 0 of 1";
    expect((await diagnosisOf(line)).verdict).not.toBe('findings');
  });

  it('is a server with its name and address', async () => {
    const line =
      'E1127 10:00:00.123456       1 router.go:152] failed to configure rate limiter: redis: dial tcp 10.0.0.9:6379: i/o timeout';
    const { headline, advice } = await diagnosisOf(line, line, line);
    expect(headline).toContain('Redis at 10.0.0.9:6379 cannot be reached');
    expect(advice).toContain('Start Redis so that it answers at 10.0.0.9:6379');
  });
});
