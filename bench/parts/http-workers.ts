/**
 * Engines that do nothing but answer, with the sidecars that speak for them:
 * the least that a gateway in front of them can wait for.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { FakeSidecar } from '../../test/support/fake-sidecar.js';
import { makeWireReport } from '../../test/support/reports.js';
import { servePart } from '../support/part.js';

/** One engine. */
export interface HttpWorker {
  readonly url: string;
  /** Address of its sidecar. */
  readonly sidecar: string;
}

const HEARTBEAT_MS = 5_000;
const MODEL = 'tiny';

const answer = (type: string, body: string): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
const json = (value: unknown): Buffer => answer('application/json', JSON.stringify(value));
const text = (page: string): Buffer => answer('text/plain; version=0.0.4', page);

/** About 250 bytes of body. */
const ANSWER = json({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 0,
  model: MODEL,
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 500, completion_tokens: 1, total_tokens: 501, prompt_tokens_details: null },
});
/** What gateways ask before they send anything. */
const ABOUT: Readonly<Record<string, Buffer>> = {
  '/v1/models': json({ object: 'list', data: [{ id: MODEL, object: 'model', owned_by: 'bench' }] }),
  '/get_server_info': json({
    model_path: MODEL,
    served_model_name: MODEL,
    version: '0',
    dp_size: 1,
    tp_size: 1,
  }),
  // What the reference Endpoint Picker reads of each engine twenty times a second.
  '/metrics': text(
    ['num_requests_waiting', 'num_requests_running', 'kv_cache_usage_perc']
      .map((name) => `# TYPE vllm:${name} gauge\nvllm:${name}{model_name="${MODEL}"} 0\n`)
      .join(''),
  ),
  '/get_model_info': json({ model_path: MODEL, is_generation: true }),
};
const EMPTY = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');

/** What a vLLM with `--enable-scale-out` renders a chat to: about as many tokens as the prompt has words, the first by its number. */
function render(request: Buffer, length: number): Buffer {
  const number = Number(/"content":"(\d+)/.exec(request.toString('latin1'))?.[1] ?? 0);
  const tokens = Array.from({ length: Math.ceil(length / CHARS_PER_TOKEN) }, (_, at) => 1_000 + at);
  return json({ token_ids: [number, ...tokens] });
}

const RENDER = '/v1/chat/completions/render';
const TOKENIZE = '/tokenize';
const NO_TOKENS = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
const CHARS_PER_TOKEN = 4.5;

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const EVENTS = 100;
const chunk = (text: string): Buffer => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`);
const EVENT = chunk(
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: MODEL, choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] })}\n\n`,
);
const LAST_CHUNK = '\r\n0\r\n\r\n';
const STREAM_END = Buffer.concat([chunk('data: [DONE]\n\n'), Buffer.from('0\r\n\r\n')]);

/** Sends event after event, each in a packet of its own. */
function stream(socket: Socket): void {
  socket.write(STREAM_HEAD);
  let sent = 0;
  const next = (): void => {
    if (socket.destroyed) return;
    socket.write(EVENT);
    sent += 1;
    if (sent < EVENTS) setImmediate(next);
    else socket.write(STREAM_END);
  };
  setImmediate(next);
}

function serve(socket: Socket, hasTokens: boolean): void {
  let held: Buffer | undefined;
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (piece) => {
    const all = held === undefined ? piece : Buffer.concat([held, piece]);
    held = all;
    const head = all.indexOf('\r\n\r\n');
    if (head === -1) return;
    const text = all.toString('latin1', 0, head);
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    if (all.length < head + 4 + length) return;
    if (/transfer-encoding: *chunked/i.test(text) && !all.subarray(head).includes(LAST_CHUNK)) return;
    held = undefined;
    const [method, path = ''] = text.slice(0, text.indexOf('\r\n')).split(' ');
    if (method !== 'POST') socket.write(ABOUT[path] ?? EMPTY);
    else if (!hasTokens && (path === RENDER || path === TOKENIZE)) socket.write(NO_TOKENS);
    else if (path === RENDER) socket.write(render(all.subarray(head), length));
    else if (all.includes('"stream":true', head)) stream(socket);
    else socket.write(ANSWER);
  });
}

async function startWorker(name: string, hasTokens: boolean): Promise<HttpWorker> {
  const server = createServer((socket) => serve(socket, hasTokens));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sidecar = await FakeSidecar.start({ report: makeWireReport(name, { model: MODEL }) });
  setInterval(() => sidecar.sendHeartbeat(), HEARTBEAT_MS);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sidecar: sidecar.address };
}

servePart({
  /** Starts so many. `hasTokens`: whether they turn prompts into tokens; default true. */
  start: ({ count, hasTokens = true }: { count: number; hasTokens?: boolean }) =>
    Promise.all(Array.from({ length: count }, (_, n) => startWorker(`worker-${n}`, hasTokens))),
});
