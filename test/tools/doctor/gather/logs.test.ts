import { gzipSync } from 'node:zlib';
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

it('reads lines of metrics that a person quotes with an indentation', async () => {
  const quoted = '    vllm:prefix_cache_queries_total 1131\n    vllm:prefix_cache_hits_total 0\n';
  const part = await gatherLog(folder.write('quoted.log', quoted), modules);
  expect(part.source).toMatchObject({ kind: 'metrics', status: 'read' });
  expect([...(part.metrics?.[0]?.samples.keys() ?? [])]).toHaveLength(2);
});

it('reads every byte of a log behind the piece that it looked at', async () => {
  const lines = Array.from({ length: 30_000 }, (_, at) => `INFO 07-08 11:49:03 [engine.py:458] line ${at}`);
  const part = await gatherLog(folder.write('a.log', `${lines.join('\n')}\n`), modules);
  expect(part.logs?.[0]).toMatchObject({ lines: 30_000, isWhole: true });
});

it.each([
  ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x00])],
  ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00])],
  ['bzip2', Buffer.from('BZh91AY&SY')],
])('names the program for a log that is packed by %s', async (program, bytes) => {
  const { source } = await gatherLog(folder.write('a.log', bytes), modules);
  expect(source).toMatchObject({ status: 'not_read' });
  expect(source.detail).toBe(`is packed by ${program}: ${program} -dc FILE | kv-accord doctor -`);
});

it.each([
  [
    'a tar archive',
    Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar'), Buffer.alloc(250)]),
    'tar -xf',
  ],
  [
    'a tar archive that is packed by gzip',
    gzipSync(Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar'), Buffer.alloc(250)])),
    'tar -xf',
  ],
  ['a zip archive', Buffer.from('PK\x03\x04\x14\x00'), 'unzip'],
])('says how to read %s', async (_, bytes, command) => {
  const { source } = await gatherLog(folder.write('a.log', bytes), modules);
  expect(source).toMatchObject({ status: 'not_read' });
  expect(source.detail).toMatch(new RegExp(`^is a .*: ${command} FILE .*, then kv-accord doctor FOLDER$`));
});

it('reads a page of metrics that is packed by gzip', async () => {
  const page = '# HELP a b\n# TYPE inference_pool_ready_pods gauge\ninference_pool_ready_pods{name="p"} 4\n';
  const part = await gatherLog(folder.write('page.gz', gzipSync(page)), modules);
  expect(part.metrics?.[0]?.program).toBe('llm-d');
});

it('reads a text that begins with the letters of a packer', async () => {
  const part = await gatherLog(folder.write('a.log', 'BZh is no header of bzip2\n'), modules);
  expect(part.source).toMatchObject({ status: 'read' });
});

it('reads a log that is nothing but a sentence as the error that it is', async () => {
  const part = await gatherLog(folder.write('a.txt', 'Unsupported kv_cache_dtype: fp8_e3m4.\n'), modules);
  expect([...(part.logs?.[0]?.signals.keys() ?? [])]).toEqual(['settings_refused']);
});

it('has what settings lack that a log quotes', async () => {
  const quoted = 'LMCACHE_CHUNK_SIZE=256 vllm serve Qwen/Qwen3-8B --port 8000\n';
  const part = await gatherLog(folder.write('a.txt', quoted), modules);
  expect(part.logs?.[0]?.knownFaults?.map(({ fault }) => fault.id)).toEqual(['lmcache_without_connector']);
});
