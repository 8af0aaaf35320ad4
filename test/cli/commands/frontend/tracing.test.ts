import { afterEach, expect, it } from 'vitest';
import { openTraceReceiver } from '../../../frontend/tracing/trace-receiver.js';
import { CliProcess } from '../../../support/cli-process.js';
import { FakeOpenAiEngine } from '../../../support/fake-openai-engine.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', '0'];

it('frontend sends a collector its requests where the environment names one, the last of them at its end', async () => {
  const receiver = await openTraceReceiver();
  open.add(() => receiver[Symbol.asyncDispose]());
  const engine = await FakeOpenAiEngine.start();
  open.add(() => engine.stop());
  const sidecar = await open.sidecar('a');
  const urls = ['--worker-urls', `${sidecar.address}=${engine.url}`];
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: 'chat' };
  const cli = new CliProcess(['frontend', ...workersOf(sidecar), ...FREE_PORTS, '--settle', '0', ...urls], {
    environment,
  });
  open.add(() => cli.stop());
  await cli.log.until((text) => text.includes('Auto-configured KV block size to 32'));
  await cli.log.until((text) => text.includes("serves OpenAI's API"));
  const line = cli.log.text.split('\n').find((text) => text.includes("serves OpenAI's API")) ?? '{}';
  const { openai } = JSON.parse(line) as { openai: string };
  const response = await fetch(`http://${openai}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(response.status).toBe(200);
  await response.text();
  expect(await cli.stop()).toBe(0);
  expect(receiver.spans).toHaveLength(1);
  const [span] = receiver.spans;
  expect(span).toMatchObject({
    name: 'chat tiny',
    attributes: { 'kv_accord.worker': sidecar.address, 'http.response.status_code': 200 },
    resource: { 'service.name': 'chat', 'service.version': '1.2.3' },
  });
  expect(engine.requests[0]?.headers['traceparent']).toContain(span?.spanId);
});
