import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpGet } from '../../../../src/edge/platform/net/http-get.js';
import { gatherEngine } from '../../../../src/tools/doctor/gather/engine.js';
import { gatherMetrics } from '../../../../src/tools/doctor/gather/metrics.js';
import { OpenThings } from '../../../support/open-things.js';
import { TestFolder } from '../support/folder.js';

const folder = new TestFolder();
const open = new OpenThings();
afterEach(async () => {
  folder.clear();
  await open.close();
});

const PAGE = 'dynamo_frontend_model_kv_cache_block_size{model="tiny"} 16\n';
const modules = {
  get: createHttpGet({ totalTimeoutMs: 1_000, maxBodyBytes: 100_000 }),
  signal: new AbortController().signal,
};

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a page of metrics', () => {
  it('comes from an address, at /metrics unless a path is named', async () => {
    const asked: (string | undefined)[] = [];
    const base = await serve(({ url }, response) => {
      asked.push(url);
      response.end(PAGE);
    });
    const part = await gatherMetrics(base, modules);
    expect(part.source).toMatchObject({ status: 'read', name: `${base}/metrics` });
    expect(part.sizes).toMatchObject([{ tokensPerBlock: 16, origin: { place: `${base}/metrics` } }]);
    await gatherMetrics(`${base}/own/path`, modules);
    expect(asked).toEqual(['/metrics', '/own/path']);
  });

  it('comes from a file, also when it is packed', async () => {
    const [plain, packed] = [folder.write('m.txt', PAGE), folder.write('m.txt.gz', gzipSync(PAGE))];
    for (const path of [plain, packed])
      expect((await gatherMetrics(path, modules)).source).toMatchObject({ name: path, status: 'read' });
  });

  it.each([
    ['404', (base: string) => `${base}/404`, /answers with status 404: "gone".*give the whole path/],
    ['a login', (base: string) => `${base}/401`, /status 401.*behind a login/],
    ['a page of something else', (base: string) => `${base}/html`, /is no page of metrics/],
    ['metrics of something else', (base: string) => `${base}/other`, /has metrics, but none of Dynamo/],
    ['JSON', (base: string) => `${base}/json`, /is JSON and no page of metrics.*\/prometheus\/metrics/],
    ['samples without their types', (base: string) => `${base}/bare`, /has metrics, but none of Dynamo/],
    [
      'a part of a page',
      (base: string) => `${base}/part`,
      /first is dynamo_component_router_kv_hit_rate.*whole page/,
    ],
    ['more than is read', (base: string) => `${base}/huge`, /answers more than 100000 bytes/],
    ['silence', (base: string) => `${base}/silent`, /no complete answer within 1000 ms/],
    ['nobody', () => 'http://127.0.0.1:1', /ECONNREFUSED/],
    ['credentials in the address', () => 'http://u:secret@127.0.0.1:1', /user name in the address/],
    ['a file that is not there', () => `${folder.path}/none`, /does not exist/],
    ['a folder', () => folder.path, /is not a plain file/],
    ['damaged gzip', () => folder.write('x.gz', gzipSync(PAGE).subarray(0, 20)), /is damaged gzip/],
    ['something that is no text', () => folder.write('x', Buffer.from([1, 0, 2])), /is no text/],
  ])('that is %s is reported', async (_what, place, words) => {
    const base = await serve(({ url = '' }, response) => {
      const status = Number(url.slice(1)) || 200;
      if (url === '/silent') return;
      const bodies: Readonly<Record<string, string>> = {
        '/html': '<html>',
        '/other': '# HELP go_info x\ngo_info 1\n',
        '/json': '[]',
        '/bare': 'pytrtllm:num_requests_running{model_name="m"} 1.0\n',
        '/part':
          '# TYPE dynamo_component_router_kv_hit_rate histogram\ndynamo_component_router_kv_hit_rate_bucket{le="0"} 0\n',
        '/huge': 'x'.repeat(200_000),
      };
      response.writeHead(status).end(bodies[url] ?? 'gone');
    });
    const { source } = await gatherMetrics(place(base), modules);
    expect(source.status).toBe('not_read');
    expect(source.detail).toMatch(words);
    expect(`${source.name} ${source.detail}`).not.toContain('secret');
  });
});

describe('an engine by HTTP', () => {
  const info =
    '{"page_size":32,"tp_size":2,"mem_fraction_static":0.8,"disable_radix_cache":true,"api_key":"k"}';

  it('reports its metrics and what it was started with', async () => {
    const base = await serve(({ url }, response) => {
      if (url === '/v1/models') response.end('{"data":[{"id":"tiny","owned_by":"sglang"}]}');
      else if (url === '/metrics') response.end('sglang:page_size{engine_type="unified"} 32\n');
      else if (url === '/server_info') response.end(info);
      else response.writeHead(404).end();
    });
    const part = await gatherEngine(base, modules);
    expect(part.source).toMatchObject({ kind: 'engine', status: 'read' });
    const settings = Object.fromEntries((part.settings ?? []).map(({ name, value }) => [name, value]));
    expect(settings).toEqual({
      tensor_parallel_size: '2',
      gpu_memory_utilization: '0.8',
      prefix_caching: 'false',
    });
    expect(part.sizes?.map(({ tokensPerBlock, basis }) => [tokensPerBlock, basis])).toEqual([
      [32, 'in_use'],
      [32, 'in_use'],
    ]);
  });

  it('is never asked for statistics that others would miss', async () => {
    const asked: string[] = [];
    const base = await serve(({ url = '' }, response) => {
      asked.push(url);
      if (url === '/v1/models') response.end('{"data":[{"owned_by":"tensorrt_llm"}]}');
      else if (url === '/prometheus/metrics') response.end('trtllm_kv_cache_tokens_per_block 32.0\n');
      else response.writeHead(404).end();
    });
    expect((await gatherEngine(base, modules)).source.status).toBe('read');
    expect(asked).not.toContain('/metrics');
  });

  it.each([
    ['while it starts', 503],
    ['under a model list without an owner', 200],
  ])('that may be TensorRT-LLM, %s, is not asked for them either', async (_when, status) => {
    const asked: string[] = [];
    const base = await serve(({ url = '' }, response) => {
      asked.push(url);
      if (url === '/v1/models') response.writeHead(status).end('{"data":[]}');
      else if (url === '/version') response.end('{"version":"1.2.0"}');
      else response.writeHead(404).end();
    });
    await gatherEngine(base, modules);
    expect(asked).toContain('/prometheus/metrics');
    expect(asked).not.toContain('/metrics');
  });

  it('that is not there is reported', async () => {
    const { source } = await gatherEngine('http://127.0.0.1:1', modules);
    expect(source).toMatchObject({ kind: 'engine', status: 'not_read' });
    expect(source.detail).toContain('ECONNREFUSED');
  });

  it('that shows nowhere which one it is is reported with what each path answered', async () => {
    const base = await serve(({ url }, response) =>
      response.writeHead(url === '/version' ? 410 : 404).end('no'),
    );
    const { source } = await gatherEngine(base, modules);
    expect(source).toMatchObject({ kind: 'engine', name: base, status: 'not_read' });
    expect(source.detail).toMatch(/^no engine is recognised there: /);
    for (const answer of ['/v1/models answers with status 404', '/version answers with status 410'])
      expect(source.detail).toContain(answer);
    expect(source.detail).toContain('/metrics: answers with status 404: "no"');
    expect(source.detail).not.toMatch(/SGLang|--engine-api-key-file/);
  });

  it.each([
    ['sglang', 404, /SGLang needs --enable-metrics for it$/],
    ['vllm', 404, /status 404: ""$/],
    ['sglang', 403, /name the file with its API key by --engine-api-key-file$/],
  ])('of %s whose metrics answer %d is reported with what helps', async (owner, status, detail) => {
    const base = await serve(({ url }, response) => {
      if (url === '/v1/models') response.end(`{"data":[{"owned_by":"${owner}"}]}`);
      else response.writeHead(status).end();
    });
    expect((await gatherEngine(base, modules)).source.detail).toMatch(detail);
  });

  it('that refuses its model list alone is reported with the key that it asks for', async () => {
    const base = await serve(({ url }, response) =>
      response.writeHead(url === '/v1/models' ? 401 : 404).end(),
    );
    expect((await gatherEngine(base, modules)).source.detail).toMatch(/--engine-api-key-file$/);
  });

  it('that answers nonsense everywhere is reported', async () => {
    const base = await serve((_, response) => response.end('{"owned_by":'));
    expect((await gatherEngine(base, modules)).source).toMatchObject({ kind: 'engine', status: 'not_read' });
  });
});
