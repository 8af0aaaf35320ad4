import { once } from 'node:events';
import { existsSync, renameSync } from 'node:fs';
import { connect } from 'node:http2';
import { createServer } from 'node:net';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Address } from '../../../src/edge/platform/address.js';
import { ListenError } from '../../../src/edge/platform/net/listen.js';
import { readPeerReason } from '../../../src/edge/rpc/errors.js';
import { wrapServerStream, wrapUnary } from '../../../src/edge/rpc/handlers.js';
import type { RpcLimits } from '../../../src/edge/rpc/limits.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { BytesClient, BytesService } from './bytes-service.js';
import { TestFolder } from './certificates.js';
import { collect, unary } from './rpc-calls.js';
import { cleanUp, createTestServer, dial } from './rpc-test-server.js';

/** A server that echoes, holds unary calls named "hold" until they are let go, and watches in silence. */
async function startedServer(options: { limits?: Partial<RpcLimits>; listen?: string } = {}) {
  const insisted = createPlaintextSecurity({ allowsPlaintext: true });
  const { server, logger } = createTestServer(options, insisted);
  const held: (() => void)[] = [];
  server.addService(BytesService, {
    echo: wrapUnary(server.edge, async (request: Buffer) => {
      if (request.toString() === 'hold') await new Promise<void>((resolve) => held.push(resolve));
      return request;
    }),
    watch: wrapServerStream(server.edge, { mode: 'every' }, (_request: Buffer, stream) => {
      stream.send(Buffer.from('first'));
    }),
  });
  const at = await server.start();
  return { server, logger, at, held };
}

function client(at: Address): BytesClient {
  return dial(at).createClient(BytesClient);
}

function echo(from: BytesClient, text: string | Buffer, metadata = new Metadata()): Promise<string> {
  return unary<Buffer | undefined>((done) => from.echo(Buffer.from(text), metadata, done)).then(String);
}

async function failure(call: Promise<unknown>): Promise<{ error: ServiceError; reason: string | undefined }> {
  const error: ServiceError = await call.then(
    () => expect.fail('the call was answered'),
    (thrown) => thrown,
  );
  return { error, reason: readPeerReason(error)?.reason };
}

describe('windows', () => {
  it('let callers send as much ahead as HTTP/2 itself says, or as the server wants', async () => {
    for (const [limits, stream, connection] of [
      [{}, 65_535, 65_535],
      [{ windowBytes: 100_000 }, 100_000, 400_000],
    ] as const) {
      const { at } = await startedServer({ limits });
      const session = connect(`http://${at.text}`);
      cleanUp(() => session.destroy());
      await once(session, 'remoteSettings');
      expect(session.remoteSettings.initialWindowSize).toBe(stream);
      // What widens a connection comes behind the settings.
      await new Promise((resolve) => session.ping((_, duration) => resolve(duration)));
      expect(session.state.remoteWindowSize).toBe(connection);
    }
  });
});

describe('listening', () => {
  for (const listen of ['127.0.0.1:0', '[::1]:0', 'localhost:0', '0.0.0.0:0']) {
    it(`takes a free port on ${listen} and says which`, async () => {
      const { at } = await startedServer({ listen });
      expect(at.text).toMatch(new RegExp(`^${listen.slice(0, -2).replace(/[[\].]/g, '\\$&')}:[1-9]\\d*$`));
      if (at.type !== 'tcp') expect.fail('a port was asked for');
      const reachable =
        at.host === '0.0.0.0' ? { ...at, host: '127.0.0.1', text: `127.0.0.1:${at.port}` } : at;
      expect(await echo(client(reachable), 'hello')).toBe('hello');
    });
  }

  it('serves on a Unix socket and removes it afterwards', async () => {
    const path = new TestFolder().path('rpc.sock');
    const { server, at } = await startedServer({ listen: `unix:${path}` });
    expect(await echo(client(at), 'hello')).toBe('hello');
    await server.stop(1_000);
    expect(existsSync(path)).toBe(false);
  });

  it('takes the place of a Unix socket that a killed process left behind', async () => {
    const path = new TestFolder().path('rpc.sock');
    await leaveStaleSocket(path);
    const { at } = await startedServer({ listen: `unix:${path}` });
    expect(await echo(client(at), 'hello')).toBe('hello');
  });

  it('leaves a Unix socket alone on which a server answers', async () => {
    const path = new TestFolder().path('rpc.sock');
    const { at } = await startedServer({ listen: `unix:${path}` });
    const error: unknown = await createTestServer({ listen: `unix:${path}` })
      .server.start()
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ListenError);
    expect(await echo(client(at), 'hello')).toBe('hello');
  });

  it('says of a Unix socket in a folder that does not exist which folder that is', async () => {
    const folder = new TestFolder().path('nowhere');
    const error: unknown = await createTestServer({ listen: `unix:${folder}/rpc.sock` })
      .server.start()
      .catch((thrown) => thrown);
    expect((error as Error).message).toContain(`the folder ${folder} does not exist`);
  });

  it('says of a port that is taken what to do about it', async () => {
    const { at } = await startedServer();
    const error: unknown = await createTestServer({ listen: at.text })
      .server.start()
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'ListenError', code: 'EADDRINUSE' });
    expect((error as Error).message).toBe(
      `--listen: cannot listen on ${at.text}: another process listens on it; ` +
        'stop that process or choose another port (0 picks a free one)',
    );
  });

  it('says of an address that is not of this machine what to do about it', async () => {
    const insisted = createPlaintextSecurity({ allowsPlaintext: true });
    const { server } = createTestServer({ listen: '192.0.2.1:0' }, insisted);
    await expect(server.start()).rejects.toThrow(
      '--listen: cannot listen on 192.0.2.1:0: this machine has no such address; ' +
        '127.0.0.1 is always there, 0.0.0.0 means all of them',
    );
  });
});

describe('exposure', () => {
  it('refuses to start in plaintext where other machines could reach it', async () => {
    const { server } = createTestServer({ listen: '0.0.0.0:0' });
    await expect(server.start()).rejects.toMatchObject({
      name: 'SecurityError',
      code: 'exposed',
      field: '--listen',
      message: expect.stringMatching(/^--listen 0\.0\.0\.0:0: other machines could reach it/),
    });
  });
});

describe('limits', () => {
  it('refuse a message that is too large, and the connection goes on', async () => {
    const { at } = await startedServer({ limits: { maxMessageBytes: 1_000 } });
    const caller = client(at);
    const { error } = await failure(echo(caller, Buffer.alloc(2_000)));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error.details).toMatch(/larger than max/);
    expect(await echo(caller, 'small')).toBe('small');
  });

  it('refuse metadata that is too large', async () => {
    const { at } = await startedServer({ limits: { maxMetadataBytes: 1_000 } });
    const metadata = new Metadata();
    metadata.set('x-large', 'x'.repeat(1_000));
    const { error, reason } = await failure(echo(client(at), 'hello', metadata));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error.details).toMatch(/^the call's metadata has 1\d\d\d bytes, at most 1000 are taken$/);
    expect(reason).toBe('metadata_too_large');
  });

  it('refuse one stream too many on a connection, with the reason', async () => {
    const { server, at } = await startedServer({ limits: { maxOpenCallsPerConnection: 3 } });
    const caller = client(at);
    const open = [1, 2, 3].map(() => collect(caller.watch(Buffer.alloc(0))));
    for (const stream of open) await stream.next();
    const { error, reason } = await failure(echo(caller, 'hello'));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error.details).toBe('3 calls are open on this connection, at most 3 may be');
    expect(reason).toBe('too_many_calls_on_connection');
    expect(server.refusals.get('too_many_calls_on_connection')).toBe(1);
    // Another connection is not to suffer for it, and neither is this one afterwards.
    expect(await echo(client(at), 'hello')).toBe('hello');
    open[0]?.cancel();
    await expect.poll(() => server.openCalls).toBe(2);
    expect(await echo(caller, 'hello')).toBe('hello');
    for (const stream of open) stream.cancel();
  });

  it('refuse calls beyond what all connections may have open', async () => {
    const { at } = await startedServer({ limits: { maxOpenCalls: 2 } });
    const open = [1, 2].map(() => collect(client(at).watch(Buffer.alloc(0))));
    for (const stream of open) await stream.next();
    const { error, reason } = await failure(echo(client(at), 'hello'));
    expect(error.details).toBe('2 calls are open on this server, at most 2 may be');
    expect(reason).toBe('too_many_calls');
    for (const stream of open) stream.cancel();
  });

  it('refuse calls that come too fast on one connection', async () => {
    const { at } = await startedServer({ limits: { maxCallsPerSecondPerConnection: 5 } });
    const caller = client(at);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => echo(caller, 'hello')));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(14);
    const { error, reason } = await failure(Promise.reject(refused[0]?.reason));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(reason).toBe('calls_too_fast');
    expect(await echo(client(at), 'hello')).toBe('hello');
  });

  it('close connections beyond the most, and tell the log once', async () => {
    const { logger, at } = await startedServer({ limits: { maxConnections: 1 } });
    expect(await echo(client(at), 'hello')).toBe('hello');
    for (let i = 0; i < 3; i += 1) await failure(dial(at).waitForReady());
    expect(logger.messages('warn')).toEqual([
      'More gRPC connections than allowed: further ones are closed immediately',
    ]);
  });
});

describe('stopping', () => {
  it('lets a running call finish and refuses nothing of it', async () => {
    const { server, at, held } = await startedServer();
    const caller = client(at);
    const running = echo(caller, 'hold');
    await expect.poll(() => held.length).toBe(1);
    const stopped = server.stop(5_000);
    held[0]?.();
    expect(await running).toBe('hold');
    await stopped;
    expect(server.openConnections).toBe(0);
  });

  it('ends open streams in order', async () => {
    const { server, at } = await startedServer();
    const watch = collect(client(at).watch(Buffer.alloc(0)));
    await watch.next();
    await server.stop(5_000);
    expect((await watch.ended).code).toBe(status.OK);
  });

  it('closes what has not ended when the time is over', async () => {
    const { server, at, held } = await startedServer();
    const running = failure(echo(client(at), 'hold'));
    await expect.poll(() => held.length).toBe(1);
    await server.stop(50);
    expect([status.CANCELLED, status.UNAVAILABLE]).toContain((await running).error.code);
    expect(server.openConnections).toBe(0);
  });

  it('is harmless before the start and when it comes twice', async () => {
    const { server } = createTestServer();
    await server.stop(1_000);
    await server.stop(1_000);
  });
});

describe('a fault in a handler', () => {
  it('reaches the caller as a number, and the log with its words', async () => {
    const { server, logger } = createTestServer();
    server.addService(BytesService, {
      echo: wrapUnary(server.edge, () => {
        throw new Error('password=hunter2 in /etc/secret');
      }),
      watch: wrapServerStream(server.edge, { mode: 'every' }, async () => {
        throw new Error('password=hunter2 in /etc/secret');
      }),
    });
    const caller = client(await server.start());
    const { error } = await failure(echo(caller, 'hello'));
    const stream = await collect(caller.watch(Buffer.alloc(0))).ended;
    for (const [at, seen] of [error, stream].entries()) {
      expect(seen.code).toBe(status.INTERNAL);
      const id = logger.lines[at]?.fields['correlationId'];
      expect(seen.details).toBe(`internal error; the server's log has it under ${id}`);
      expect(JSON.stringify(seen.metadata)).not.toContain('hunter2');
    }
    expect(logger.messages('error')).toHaveLength(2);
    expect(logger.lines[0]?.fields['error']).toMatchObject({ message: expect.stringContaining('hunter2') });
  });
});

/** Makes what a process killed with SIGKILL leaves behind: a socket file on which nobody listens. */
async function leaveStaleSocket(path: string): Promise<void> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen({ path: `${path}.live` }, resolve));
  // Node removes the name that it made; under another name the file stays.
  renameSync(`${path}.live`, path);
  await new Promise<void>((resolve) => listener.close(() => resolve()));
}
