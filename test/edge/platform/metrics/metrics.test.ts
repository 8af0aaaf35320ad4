import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createRegistry } from '../../../../src/edge/platform/metrics/metrics.js';

async function read(registry: ReturnType<typeof createRegistry>): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

test('a process reports itself under the usual names, as it is at each scrape', async () => {
  const registry = createRegistry({ version: '1.2.3' });
  const before = await read(registry);
  expect(before.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  expect(before.get(`kv_accord_build_info{version="1.2.3",node_version="${process.version}"}`)).toBe(1);
  const startedAgoSeconds = Date.now() / 1000 - (before.get('process_start_time_seconds') ?? 0);
  expect(startedAgoSeconds).toBeGreaterThan(0);
  expect(startedAgoSeconds).toBeLessThan(3600);

  const opened = openSync('/dev/null', 'r');
  let work = 0;
  for (let i = 0; i < 5e6; i += 1) work += Math.sqrt(i);
  expect(work).toBeGreaterThan(0);
  const after = await read(registry);
  closeSync(opened);
  expect((after.get('process_open_fds') ?? 0) - (before.get('process_open_fds') ?? 0)).toBeGreaterThanOrEqual(
    1,
  );
  const cpu = 'process_cpu_seconds_total';
  expect(after.get(cpu) ?? 0).toBeGreaterThan(before.get(cpu) ?? 0);
});
