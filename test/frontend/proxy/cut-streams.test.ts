import { afterEach, describe, expect, it } from 'vitest';
import { OpenThings } from '../../support/open-things.js';
import { ProxyHarness, ScriptedWorker } from './proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** Streams of each API as engines send them, with letters of several bytes and a comment. */
const STREAMS = {
  '/v1/chat/completions': [
    'data: {"choices":[{"delta":{"content":"é"}}]}\n\n',
    ': a comment\n\n',
    'data: {"choices":[{"delta":{"content":"\\n\\n"}}]}\r\n\r\n',
  ],
  '/v1/responses': [
    'event: response.created\ndata: {"type":"response.created","response":{"id":"r-1"}}\n\n',
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"漢"}\n\n',
  ],
  '/v1/messages': [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m-1"}}\n\n',
    'event: ping\ndata: {"type": "ping"}\n\n',
  ],
} as const;

/** What the last event of a stream that was cut says. */
const ENDS: Readonly<Record<keyof typeof STREAMS, object>> = {
  '/v1/chat/completions': { error: { code: 'worker_cut', type: 'server_error' } },
  '/v1/responses': { type: 'error', code: 'worker_cut' },
  '/v1/messages': { type: 'error', error: { type: 'api_error' } },
};

describe('a stream that its worker cuts after any of its bytes', () => {
  it.each(Object.keys(STREAMS) as (keyof typeof STREAMS)[])(
    'of %s has its whole events, and then an error',
    async (path) => {
      const events = STREAMS[path];
      const whole = Buffer.from(events.join(''));
      const worker = await ScriptedWorker.raw((socket, request) => {
        const bytes = whole.subarray(0, Number(/x-cut: (\d+)/.exec(request)?.[1]));
        socket.write(HEAD);
        if (bytes.length > 0) socket.write(chunk(bytes));
        socket.end();
      });
      open.add(() => worker.stop());
      const gateway = await ProxyHarness.start({ workers: [worker.url] });
      open.add(() => gateway.stop());
      const ask = async (cut: number): Promise<void> => {
        const answer = await fetch(gateway.url + path, {
          method: 'POST',
          body: '{}',
          headers: { 'x-cut': String(cut) },
        });
        const text = await answer.text();
        const passed = events
          .filter((_, at) => Buffer.byteLength(events.slice(0, at + 1).join('')) <= cut)
          .join('');
        expect(text.startsWith(passed), `cut after ${cut} bytes: ${text}`).toBe(true);
        const end = text.slice(passed.length);
        expect(end.endsWith('\n\n')).toBe(true);
        const data = end.split('\n').filter((line) => line.startsWith('data: '));
        expect(data, `cut after ${cut} bytes: ${text}`).toHaveLength(1);
        expect(JSON.parse((data[0] ?? '').slice('data: '.length))).toMatchObject(ENDS[path]);
      };
      await Promise.all(Array.from({ length: whole.length + 1 }, (_, cut) => ask(cut)));
      expect(gateway.outcomes.every(({ ended }) => ended === 'upstream_broke')).toBe(true);
      expect(gateway.routes.every(({ releases, faults }) => releases === 1 && faults[0] === 'cut')).toBe(
        true,
      );
    },
  );
});
