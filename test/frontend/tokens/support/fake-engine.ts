import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came. */
export interface Asked {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer; `hang` sends none, `raw` sends what is no JSON. */
export type Answer =
  | { readonly status?: number; readonly json: unknown }
  | { readonly status?: number; readonly raw: string }
  | 'hang'
  | 'reset';

/** An engine that answers what a test wants by path; what it has no answer for is 404. */
export class FakeEngine {
  readonly asked: Asked[] = [];
  readonly answers: Record<string, Answer | ((body: Readonly<Record<string, unknown>>) => Answer)>;
  readonly #server: Server;

  private constructor(answers: FakeEngine['answers']) {
    this.answers = answers;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(answers: FakeEngine['answers']): Promise<FakeEngine> {
    const engine = new FakeEngine(answers);
    engine.#server.listen(0, '127.0.0.1');
    await once(engine.#server, 'listening');
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How often one path was asked. */
  count(path: string): number {
    return this.asked.filter((asked) => asked.path === path).length;
  }

  get connections(): Promise<number> {
    return new Promise((resolve) => this.#server.getConnections((_error, count) => resolve(count)));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const piece of request) text += piece;
    const path = request.url ?? '';
    const body = text === '' ? {} : JSON.parse(text);
    this.asked.push({ path, body });
    const found = this.answers[path] ?? { status: 404, json: { detail: 'Not Found' } };
    const answer = typeof found === 'function' ? found(body) : found;
    if (answer === 'hang') return;
    if (answer === 'reset') return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
    response.end('raw' in answer ? answer.raw : JSON.stringify(answer.json));
  }
}

export const VLLM_MODELS: Answer = { json: { object: 'list', data: [{ id: 'tiny', owned_by: 'vllm' }] } };
export const SGLANG_MODELS: Answer = { json: { object: 'list', data: [{ id: 'tiny', owned_by: 'sglang' }] } };
