import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { EventStreamRoute, StreamClient } from '../../../src/edge/http/event-stream.js';
import type { HttpAccess, HttpServer } from '../../../src/edge/http/http-server.js';
import type { Clock } from '../../../src/edge/platform/clock.js';
import { Changes } from '../../support/changes.js';
import { FakeClock } from '../../support/fake-clock.js';
import { streamingServer } from '../../support/streaming-server.js';

/** A stream whose clients a test holds. */
class Played implements EventStreamRoute {
  readonly path = '/played/events';
  readonly summary = 'Played.';
  readonly clients: StreamClient[] = [];
  readonly changes = new Changes();
  readonly drains: StreamClient[] = [];
  left = 0;

  open(client: StreamClient): () => void {
    this.clients.push(client);
    this.changes.notify();
    return () => {
      this.left += 1;
      this.changes.notify();
    };
  }

  drained(client: StreamClient): void {
    this.drains.push(client);
    this.changes.notify();
  }
}

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.stop(0);
    expect(server.openConnections).toBe(0);
  }
});

async function serve(
  route: Played,
  modules: { readonly clock?: Clock; readonly access?: HttpAccess } = {},
): Promise<{ readonly url: string; readonly port: number; readonly server: HttpServer }> {
  const server = streamingServer(route, modules);
  servers.push(server);
  const { text } = await server.start();
  return { url: `http://${text}/api/v1/played/events`, port: Number(text.split(':')[1]), server };
}

/** A client that reads nothing until it is asked to. */
async function openSilently(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.pause();
  socket.write('GET /api/v1/played/events HTTP/1.1\r\nhost: x\r\n\r\n');
  return socket;
}

describe('a stream of server-sent events', () => {
  it('is refused to who may not ask, as the API is', async () => {
    const route = new Played();
    const access: HttpAccess = {
      findCallerProblem: (authorization) => (authorization === 'Bearer good' ? undefined : 'show a token'),
    };
    const { url } = await serve(route, { access });
    expect((await fetch(url)).status).toBe(401);
    expect(route.clients).toEqual([]);
    const stop = new AbortController();
    const answer = await fetch(url, { headers: { authorization: 'Bearer good' }, signal: stop.signal });
    expect(answer.status).toBe(200);
    stop.abort();
    await route.changes.until(() => route.left === 1);
  });

  it('is not kept by caches and proxies, and HEAD and POST open none', async () => {
    const route = new Played();
    const { url } = await serve(route);
    const head = await fetch(url, { method: 'HEAD' });
    expect(head.headers.get('content-type')).toBe('text/event-stream');
    expect(head.headers.get('cache-control')).toBe('no-store');
    expect(head.headers.get('x-accel-buffering')).toBe('no');
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    expect(route.clients).toEqual([]);
  });

  it('counts who does not read as behind, and says when that one has read', async () => {
    const route = new Played();
    const { port } = await serve(route);
    const socket = await openSilently(port);
    await route.changes.until(() => route.clients.length === 1);
    const [client] = route.clients;
    const json = JSON.stringify('x'.repeat(256 * 1024));
    let sent = 0;
    while (client?.isBehind === false && sent < 1_000) {
      client.send({ name: 'delta', id: String(sent), json });
      sent += 1;
    }
    expect(client?.isBehind).toBe(true);
    // What the sockets of both sides take, and a bounded buffer.
    expect(sent).toBeLessThan(100);
    socket.resume();
    await route.changes.until(() => route.drains.length === 1);
    expect(client?.isBehind).toBe(false);
    socket.destroy();
    await route.changes.until(() => route.left === 1);
  });

  it('says every 15 seconds that it lives', async () => {
    const clock = new FakeClock();
    const route = new Played();
    const { port } = await serve(route, { clock });
    const socket = await openSilently(port);
    await route.changes.until(() => route.clients.length === 1);
    let text = '';
    const changes = new Changes();
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      changes.notify();
    });
    socket.resume();
    await changes.until(() => text.includes('retry: 2000'));
    await clock.advanceMs(15_000);
    await changes.until(() => text.includes(': heartbeat'));
    socket.destroy();
    await route.changes.until(() => route.left === 1);
    expect(clock.pendingTimers).toBe(0);
  });
});
