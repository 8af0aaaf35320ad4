import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

/**
 * llm-d's routing sidecar with its `nixlv2` connector, as far as a picker meets it: llm-d/llm-d-router (22 August 2026),
 * `pkg/sidecar/proxy/chat_completions.go` and `connector_nixlv2.go`. It stands before a decode engine, asks the prefill engine that
 * a header names first, hands an error of it on as it is, and writes the prefill engine's cached tokens into the answer. A small
 * stand-in of the tests' own, and nothing of llm-d's: no registry has that program.
 */
export class RoutingSidecar {
  /** The prefill engines that it asked, in order. */
  readonly prefills: string[] = [];
  /** Requests to be answered that it passed to its own engine. */
  decodes = 0;
  readonly #engineUrl: string;
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  constructor(engineUrl: string) {
    this.#engineUrl = engineUrl;
  }

  static async start(engineUrl: string): Promise<RoutingSidecar> {
    const sidecar = new RoutingSidecar(engineUrl);
    await new Promise<void>((resolve) => sidecar.#server.listen(0, '127.0.0.1', resolve));
    return sidecar;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const body = Buffer.concat(pieces).toString();
      const named = request.headers['x-prefiller-host-port'];
      const prefiller = (Array.isArray(named) ? named[0] : named)?.split(',')[0]?.trim() ?? '';
      if (prefiller === '') await this.#pass(request, response, body, gone.signal);
      else await this.#split(request, response, JSON.parse(body), prefiller, gone.signal);
    } catch {
      if (!response.headersSent) response.writeHead(502);
      response.end();
    }
  }

  async #pass(
    { method = 'GET', url = '/' }: IncomingMessage,
    response: ServerResponse,
    body: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (/^\/v1\/(?:chat\/)?completions$/.test(url)) this.decodes += 1;
    const answer = await fetch(`${this.#engineUrl}${url}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
      signal,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    if (answer.body === null) response.end();
    else Readable.fromWeb(answer.body).pipe(response);
  }

  async #split(
    request: IncomingMessage,
    response: ServerResponse,
    asked: Record<string, unknown>,
    prefiller: string,
    signal: AbortSignal,
  ): Promise<void> {
    this.prefills.push(prefiller);
    const { stream_options: _, ...first } = asked;
    const prefill = await fetch(`http://${prefiller}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...first,
        stream: false,
        max_tokens: 1,
        max_completion_tokens: 1,
        min_tokens: 1,
        kv_transfer_params: {
          do_remote_decode: true,
          do_remote_prefill: false,
          remote_engine_id: null,
          remote_block_ids: null,
          remote_host: null,
          remote_port: null,
        },
      }),
      signal,
    });
    const text = await prefill.text();
    if (prefill.status >= 400) {
      response.writeHead(prefill.status).end(text);
      return;
    }
    const computed = JSON.parse(text) as {
      readonly kv_transfer_params?: unknown;
      readonly usage?: { readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null };
    };
    this.decodes += 1;
    const decode = await fetch(`${this.#engineUrl}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...asked, kv_transfer_params: computed.kv_transfer_params }),
      signal,
    });
    const cached = computed.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    const withCached = (text: string): string =>
      text.replace(/"cached_tokens": ?\d+/g, `"cached_tokens":${cached}`);
    response.writeHead(decode.status, { 'content-type': decode.headers.get('content-type') ?? '' });
    response.flushHeaders();
    // Streams go on line by line, as they come.
    let rest = '';
    for await (const piece of decode.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const whole = rest + piece;
      const end = whole.lastIndexOf('\n') + 1;
      rest = whole.slice(end);
      if (end > 0) response.write(withCached(whole.slice(0, end)));
    }
    response.end(withCached(rest));
  }
}
