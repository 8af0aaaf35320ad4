import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Publisher, Router } from 'zeromq';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { describeEndpoints } from '../../../../src/worker/kv-events/sockets/endpoint-check.js';
import { probeEndpoint } from '../../../../src/worker/kv-events/sockets/zmtp-probe.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const probe = (endpoint: string) =>
  probeEndpoint(endpoint, { clock: systemClock }, new AbortController().signal);

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => void server.close());
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bound(socket: Publisher | Router): Promise<string> {
  await socket.bind('tcp://127.0.0.1:*');
  open.add(() => socket.close());
  return socket.lastEndpoint as string;
}

describe('a look at an endpoint', () => {
  it('names the type of a ZeroMQ socket, by what libzmq itself says', async () => {
    expect(await probe(await bound(new Publisher()))).toEqual({ type: 'zmq', socketType: 'PUB' });
    expect(await probe(await bound(new Router()))).toEqual({ type: 'zmq', socketType: 'ROUTER' });
  });

  it('leaves the publisher at work for others', async () => {
    const publisher = new Publisher();
    const endpoint = await bound(publisher);
    await probe(endpoint);
    await publisher.send(['topic', 'number', 'payload']);
    expect(await probe(endpoint)).toMatchObject({ type: 'zmq' });
  });

  it('recognises an HTTP server', async () => {
    expect(await probe(await listen(createHttpServer((_, response) => response.end())))).toEqual({
      type: 'http',
    });
  });

  it.each([
    ['closes', Buffer.alloc(0)],
    ['says something else', Buffer.from('SSH-2.0\r\n')],
    ['sends a broken greeting', Buffer.alloc(4_096, 0xff)],
  ])('says of a server that %s that it is none', async (_how, said) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(said);
    });
    expect(await probe(await listen(server))).toEqual({ type: 'other' });
  });

  it('says that nobody listens, and of what is no address', async () => {
    expect(await probe('tcp://127.0.0.1:1')).toMatchObject({
      type: 'none',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    expect(await probe('tcp://127.0.0.1:99999')).toMatchObject({ type: 'none' });
    expect(await probe('ipc:///nowhere/at/all')).toMatchObject({ type: 'none' });
  });
});

describe('the endpoints of a rank', () => {
  const source = { rank: 0, endpoint: 'tcp://e:5557', replayEndpoint: 'tcp://e:5558', topic: '' };
  const pub = { type: 'zmq', socketType: 'PUB' } as const;
  const router = { type: 'zmq', socketType: 'ROUTER' } as const;

  it('are right where one publishes and the other answers, or where their versions do not say', () => {
    expect(describeEndpoints(source, pub, router)).toBeUndefined();
    expect(describeEndpoints(source, { type: 'zmq', socketType: 'XPUB' }, undefined)).toBeUndefined();
    expect(
      describeEndpoints(source, { type: 'zmq', socketType: '' }, { type: 'zmq', socketType: '' }),
    ).toBeUndefined();
  });

  it('are swapped, and the cure is the flags as they should be', () => {
    expect(describeEndpoints(source, router, pub)).toBe(
      'the two endpoints are swapped: give --kv-event-sources tcp://e:5558 and --kv-replay-sources tcp://e:5557',
    );
  });

  it.each([
    [
      router,
      undefined,
      /^tcp:\/\/e:5557 is a replay endpoint \(ROUTER\) and gives no KV events; .*--kv-event-sources$/,
    ],
    [
      pub,
      pub,
      /^tcp:\/\/e:5558 is an endpoint of KV events \(PUB\) and gives no replay; .*--kv-replay-sources$/,
    ],
    [{ type: 'http' }, router, /^tcp:\/\/e:5557 is the port of an HTTP server and not of KV events/],
    [pub, { type: 'other' }, /^what listens at tcp:\/\/e:5558 does not speak ZeroMQ/],
    [
      { type: 'none', reason: 'connect ECONNREFUSED' },
      router,
      /^nothing listens at tcp:\/\/e:5557 \(connect ECONNREFUSED\)/,
    ],
    [
      { type: 'zmq', socketType: 'PULL' },
      router,
      /^tcp:\/\/e:5557 is a ZeroMQ socket of another kind \(PULL\)/,
    ],
  ] as const)('are %j and %j', (events, replay, sentence) => {
    expect(describeEndpoints(source, events, replay)).toMatch(sentence);
  });
});
