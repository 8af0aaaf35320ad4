import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { API_PATHS } from '../../src/core/contract/wire/api-paths.js';
import { CliProcess } from '../support/cli-process.js';
import { OpenThings } from '../support/open-things.js';
import { batchOf, FakePublisher, stored } from '../worker/kv-events/support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
/** Each test starts the program from its sources, several times: on a busy machine that alone takes a while. */
const SLOW_MS = 60_000;
/** Tokens of a block of the engine below. */
const BLOCK = 4;

/** An engine that nobody here knows: OpenAI's API with an owner of its own, no version, no metrics, and KV events over ZeroMQ. */
interface UnknownEngine {
  readonly url: string;
  readonly publisher: FakePublisher;
  /** Paths that were asked beside completions, each once. */
  readonly asked: Set<string>;
  /** Bodies of completions. */
  readonly completions: string[];
}

async function unknownEngine(owner = 'acme'): Promise<UnknownEngine> {
  const asked = new Set<string>();
  const completions: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (url === '/v1/completions') {
        completions.push(Buffer.concat(pieces).toString('utf8'));
        return json(200, { id: '1', object: 'text_completion', choices: [{ index: 0, text: 'a' }] });
      }
      asked.add(url);
      return url === '/v1/models'
        ? json(200, { object: 'list', data: [{ id: 'tiny', object: 'model', owned_by: owner }] })
        : json(404, { error: 'no such path' });
    });
  });
  await listening(server);
  open.add(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const publisher = await FakePublisher.start();
  open.add(() => publisher.stop());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    publisher,
    asked,
    completions,
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

/** Where `kv-accord sidecar` beside the engine serves gRPC. */
async function sidecarOf(engine: UnknownEngine, tokensPerBlock: number): Promise<string> {
  const { endpoint, replayEndpoint = '' } = engine.publisher;
  const cli = new CliProcess([
    'sidecar',
    ...['--engine', engine.url, '--engine-kind', 'other', '--tokens-per-block', String(tokensPerBlock)],
    ...['--kv-event-sources', endpoint, '--kv-replay-sources', replayEndpoint],
    ...['--worker-id', engine.url, '--probe-interval', '100ms', '--topology', 'off', '--json', ...FREE_PORTS],
  ]);
  open.add(() => cli.stop());
  await cli.stdout.until((text) => text.includes('\n'));
  return (JSON.parse(cli.stdout.text) as { readonly grpc: string }).grpc;
}

/** `kv-accord frontend` before the sidecars. */
async function frontendOf(...sidecars: readonly string[]): Promise<{ cli: CliProcess; url: string }> {
  const cli = new CliProcess([
    'frontend',
    ...['--workers', sidecars.join(',')],
    ...[...FREE_PORTS, '--http-port', '0', '--settle', '0', '--decision-headers'],
  ]);
  open.add(() => cli.stop());
  await cli.log.until((text) => text.includes("serves OpenAI's API"));
  const line = cli.log.text.split('\n').find((text) => text.includes("serves OpenAI's API")) ?? '{}';
  return { cli, url: `http://${(JSON.parse(line) as { readonly openai: string }).openai}` };
}

/** Sends a prompt of token ids; the answer. */
function complete(url: string, prompt: readonly number[]): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'tiny', prompt, max_tokens: 1 }),
  });
}

/** Two whole blocks and the beginning of a third. */
const PROMPT = [10, 11, 12, 13, 20, 21, 22, 23, 30];

describe('an engine that nobody here knows', () => {
  it(
    'is routed to by what its events say that it holds',
    async () => {
      const [full, empty] = [await unknownEngine(), await unknownEngine()];
      await full.publisher.publish(batchOf(stored(10), stored(20, 10)));
      await empty.publisher.publish(batchOf(stored(50)));
      const sidecars = await Promise.all([full, empty].map((engine) => sidecarOf(engine, BLOCK)));
      const { cli, url } = await frontendOf(...sidecars);
      await cli.log.until((text) => text.includes(`Auto-configured KV block size to ${BLOCK}`));
      const headers = async (prompt: readonly number[]): Promise<Record<string, string>> => {
        const answer = await complete(url, prompt);
        await answer.text();
        return Object.fromEntries(answer.headers);
      };
      await expect
        .poll(() => headers(PROMPT), { timeout: 15_000 })
        .toMatchObject({ 'x-kv-accord-worker': full.url, 'x-kv-accord-cached-blocks': '2' });
      expect(await headers([50, 51, 52, 53, 54])).toMatchObject({
        'x-kv-accord-worker': empty.url,
        'x-kv-accord-cached-blocks': '1',
      });
      expect(full.completions.length).toBeGreaterThan(0);
      // Besides which paths it has, it is asked for its models, and where other engines make tokens.
      const others = [...full.asked].filter((path) => !(API_PATHS as readonly string[]).includes(path));
      expect(others.sort()).toEqual(['/v1/completions/render', '/v1/models']);
    },
    SLOW_MS,
  );

  it.each(['acme', 'vllm'])(
    'that calls itself %s stays what it was declared as',
    async (owner) => {
      const engine = await unknownEngine(owner);
      const { cli, url } = await frontendOf(await sidecarOf(engine, BLOCK));
      await cli.log.until((text) => text.includes(`Auto-configured KV block size to ${BLOCK}`));
      expect((await complete(url, PROMPT)).status).toBe(200);
      expect(engine.asked).not.toContain('/version');
      expect(engine.asked).not.toContain('/metrics');
    },
    SLOW_MS,
  );

  it(
    'whose events have another block size than was declared is in dissent, with the ERROR that any engine gets',
    async () => {
      const engine = await unknownEngine();
      const { cli } = await frontendOf(await sidecarOf(engine, 2 * BLOCK));
      await cli.log.until((text) => text.includes(`Auto-configured KV block size to ${2 * BLOCK}`));
      await engine.publisher.publish(batchOf(stored(10)));
      await cli.log.until((text) => text.includes('block_size_mismatch'));
      expect(cli.log.text).toContain(
        `Frontend KV block size (${2 * BLOCK}) does not match worker block size (${BLOCK}).`,
      );
    },
    SLOW_MS,
  );
});
