import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Something that answers as a vLLM would and that a test can stop, start
 * again on the same port, and start with another block size.
 */
export class FakeVllm {
  tokensPerBlock: number;
  /** What `/kv_event_sources` answers; undefined as of one that has no such endpoint. */
  kvEventSources: object | undefined;
  /** Paths that were asked, in order. */
  readonly asked: string[] = [];
  #server: Server | undefined;
  #port = 0;
  #starts = 0;

  constructor(tokensPerBlock: number) {
    this.tokensPerBlock = tokensPerBlock;
  }

  /** Takes a port without listening yet, so that its address is known before it is up. */
  async reserve(): Promise<string> {
    await this.start();
    await this.stop();
    this.#starts = 0;
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#starts += 1;
    const answers: Record<string, string> = {
      '/v1/models':
        '{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm","root":"tiny","max_model_len":2048}]}',
      '/version': '{"version":"0.32.0"}',
      '/metrics': [
        `process_start_time_seconds ${1_795_000_000 + this.#starts}`,
        `vllm:cache_config_info{block_size="${this.tokensPerBlock}",effective_attention_block_size="${this.tokensPerBlock}",engine="0",num_gpu_blocks="64"} 1.0`,
        '',
      ].join('\n'),
    };
    if (this.kvEventSources !== undefined) {
      answers['/kv_event_sources'] = JSON.stringify(this.kvEventSources);
    }
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      this.asked.push(path);
      const body = answers[path];
      response.writeHead(body === undefined ? 404 : 200, {
        'content-type': path === '/metrics' ? 'text/plain' : 'application/json',
      });
      response.end(body ?? '{"detail":"Not Found"}');
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}
