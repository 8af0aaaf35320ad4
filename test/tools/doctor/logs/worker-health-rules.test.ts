import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

const lost = (worker: string): string =>
  `2025-07-31 11:22:02  WARN sglang_router_rs::core::worker: src/core/worker.rs:441: Worker ${worker} health check failed: Health check failed for worker ${worker}: Health check request failed: error sending request for url (${worker}/health)`;
const healthy = (worker: string): string =>
  `2025-07-31 11:23:02  INFO sglang_router_rs::core::worker: src/core/worker.rs:436: Worker ${worker} is now healthy`;

async function failingOf(lines: readonly string[]): Promise<readonly [string, number][]> {
  const { signals } = await summaryOf(lines.map((line) => `${line}\n`).join(''));
  return [...(signals.get('worker_unreachable')?.byWorker ?? [])];
}

describe('health checks of workers', () => {
  it('count for the worker that they name', async () => {
    expect(await failingOf([lost('http://a:1'), lost('http://b:1')])).toEqual([
      ['http://a:1', 3],
      ['http://b:1', 3],
    ]);
  });

  it('are taken back where the worker is healthy again', async () => {
    expect(await failingOf([lost('http://a:1'), healthy('http://a:1')])).toEqual([]);
  });

  it('do not count while a worker starts', async () => {
    const waits =
      '2025-03-08 02:33:09  INFO sglang_router_rs::routers::router: Worker http://a:1 health check is pending with error: error sending request for url (http://a:1/health)';
    expect(await failingOf([waits, waits, waits])).toEqual([]);
  });

  it('do not count where they only took too long', async () => {
    const busy =
      '2026-03-03 10:03:00  WARN smg::worker: HTTP health check failed for http://a:1/health: reqwest::Error { kind: Request, url: "http://a:1/health", source: TimedOut }';
    expect(await failingOf([busy, busy, busy])).toEqual([]);
  });

  it("of vLLM's production stack end with a check that passes, and with a request that is sent there", async () => {
    const said = (words: string): string =>
      `[2026-02-11 10:00:00,101] WARNING: Qwen/Qwen3-8B at http://a:1 ${words} (service_discovery.py:265:vllm_router.service_discovery)`;
    const failing = [said('not healthy!'), said('not healthy!')];
    expect(await failingOf(failing)).toEqual([['http://a:1', 4]]);
    expect(await failingOf([...failing, said('is healthy')])).toEqual([]);
    const sent =
      '[2026-02-11 10:03:30,101] INFO: Routing request 1b to http://a:1 at 1770804000.1, process time = 0.0004 (request.py:301:vllm_router.services.request_service.request)';
    expect(await failingOf([...failing, sent])).toEqual([]);
  });
});
