import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const PATHS: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/responses',
]);

/** One request as the engine got it. */
export interface EngineRequest {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An engine's OpenAI server, as far as a frontend needs one: a token per character, and an immediate answer. */
export class FakeOpenAiEngine {
  readonly requests: EngineRequest[] = [];
  /** The `Authorization` of everybody who asked for tokens. */
  readonly tokenizeKeys: (string | undefined)[] = [];
  /** Answers in place of the engine's own; undefined for the usual. */
  answer: ((request: EngineRequest, response: ServerResponse) => void) | undefined;
  readonly #server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      this.#respond({ url: request.url ?? '', headers: request.headers, body }, response);
    });
  });

  static async start(): Promise<FakeOpenAiEngine> {
    const engine = new FakeOpenAiEngine();
    await new Promise<void>((resolve) => engine.#server.listen(0, '127.0.0.1', resolve));
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #respond(request: EngineRequest, response: ServerResponse): void {
    if (request.url === '/tokenize') {
      this.tokenizeKeys.push(request.headers.authorization);
      const tokens = Array.from(request.body, (character) => character.charCodeAt(0));
      json(response, 200, { count: tokens.length, max_model_len: 4_096, tokens });
    } else if (!PATHS.has(request.url)) json(response, 404, { detail: 'Not Found' });
    else {
      this.requests.push(request);
      if (this.answer === undefined) json(response, 200, { id: '1', object: 'chat.completion', choices: [] });
      else this.answer(request, response);
    }
  }
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
