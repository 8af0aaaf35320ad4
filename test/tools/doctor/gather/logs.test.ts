import { afterEach, expect, it } from 'vitest';
import { gatherLog } from '../../../../src/tools/doctor/gather/logs.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { TestFolder } from '../support/folder.js';

const folder = new TestFolder();
afterEach(() => folder.clear());
const modules = { clock: new FakeClock(), signal: new AbortController().signal };

it('reads a page of metrics that is given as a log as what it is, and says so', async () => {
  const page = '# HELP a b\n# TYPE inference_pool_ready_pods gauge\ninference_pool_ready_pods{name="p"} 4\n';
  const part = await gatherLog(folder.write('page.log', page), modules);
  expect(part.source).toMatchObject({ kind: 'metrics', status: 'read' });
  expect(part.source.detail).toContain('it is a page of metrics, no log (--metrics)');
  expect(part.metrics?.[0]?.program).toBe('llm-d');
});

it('reads every byte of a log behind the piece that it looked at', async () => {
  const lines = Array.from({ length: 30_000 }, (_, at) => `INFO 07-08 11:49:03 [engine.py:458] line ${at}`);
  const part = await gatherLog(folder.write('a.log', `${lines.join('\n')}\n`), modules);
  expect(part.logs?.[0]).toMatchObject({ lines: 30_000, isWhole: true });
});
