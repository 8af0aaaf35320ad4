import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Address } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import type { ConnectError } from '../../../src/edge/rpc/connect-error.js';
import { FIRST_BYTES_TIMEOUT_MS } from '../../../src/edge/rpc/connections.js';
import { readPeerReason } from '../../../src/edge/rpc/errors.js';
import { wrapServerStream, wrapUnary } from '../../../src/edge/rpc/handlers.js';
import { RpcServer } from '../../../src/edge/rpc/server.js';
import type { ServerStream } from '../../../src/edge/rpc/server-stream.js';
import { loadSecurity, type SecurityOptions } from '../../../src/edge/security/load-security.js';
import { createPlaintextSecurity, type Security } from '../../../src/edge/security/security.js';
import {
  HealthClient,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../src/gen/grpc/health/v1/health.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { BytesClient, BytesService } from './bytes-service.js';
import { type Identity, TestAuthority, TestFolder } from './certificates.js';
import { collect, unary } from './rpc-calls.js';
import { address, cleanUp, createTestServer, dial } from './rpc-test-server.js';

const TOKEN = 'a-token-that-is-long-enough';
const HOUR_MS = 3_600_000;

let authority: TestAuthority;
let stranger: TestAuthority;
let serverIdentity: Identity;
let clientIdentity: Identity;
beforeAll(async () => {
  authority = await TestAuthority.create('authority');
  stranger = await TestAuthority.create('stranger');
  serverIdentity = await authority.issue({ name: 'server' });
  clientIdentity = await authority.issue({ name: 'client' });
});

async function load(options: SecurityOptions): Promise<Security> {
  const security = await loadSecurity(options, { clock: systemClock, logger: new RecordingLogger() });
  cleanUp(() => security.close());
  return security;
}

/** Files of server and client in one folder. */
function files() {
  const folder = new TestFolder();
  const tlsCa = folder.write('ca.crt', authority.pem);
  return {
    folder,
    tlsCa,
    server: { ...folder.writeIdentity('server', serverIdentity), tlsCa },
    client: { ...folder.writeIdentity('client', clientIdentity), tlsCa },
    tokenFile: folder.write('token', TOKEN),
  };
}

/** A server that echoes and keeps its watches. */
async function serve(security: Security) {
  const { server } = createTestServer({}, security);
  const streams: ServerStream<Buffer>[] = [];
  let echoes = 0;
  server.addService(BytesService, {
    echo: wrapUnary(server.edge, (request: Buffer) => {
      echoes += 1;
      return request;
    }),
    watch: wrapServerStream(server.edge, { mode: 'every' }, (_request: Buffer, stream) => {
      streams.push(stream);
      stream.send(Buffer.from('first'));
    }),
  });
  const at = await server.start();
  return { server, at, streams, handled: () => echoes };
}

async function echo(at: Address, security: Security, metadata = new Metadata()): Promise<string> {
  const channel = dial(at, security);
  await channel.waitForReady();
  const client = channel.createClient(BytesClient);
  const answer = await unary<Buffer | undefined>((done) => client.echo(Buffer.from('hello'), metadata, done));
  return String(answer);
}

async function connectError(at: Address, security: Security): Promise<ConnectError> {
  return dial(at, security)
    .waitForReady()
    .then(
      () => expect.fail('it connected'),
      (error) => error,
    );
}

describe('TLS', () => {
  it('serves a client that knows the authority', async () => {
    const { server, tlsCa } = files();
    const { at } = await serve(await load(server));
    expect(await echo(at, await load({ tlsCa }))).toBe('hello');
  });

  it('checks that the certificate is for the host that was dialled', async () => {
    const { folder, tlsCa } = files();
    const other = folder.writeIdentity('other', await authority.issue({ hosts: ['worker-1.example'] }));
    const { at } = await serve(await load(other));
    const error = await connectError(at, await load({ tlsCa }));
    expect(error.code).toBe('tls_failed');
    expect(error.message).toMatch(
      /^127\.0\.0\.1:\d+: its certificate is for another name \(.*IP: 127\.0\.0\.1/,
    );
    expect(await echo(at, await load({ tlsCa, tlsServerName: 'worker-1.example' }))).toBe('hello');
  });

  it('refuses a server of another authority', async () => {
    const { folder, server } = files();
    const { at } = await serve(await load(server));
    const error = await connectError(at, await load({ tlsCa: folder.write('other.crt', stranger.pem) }));
    expect(error.code).toBe('tls_failed');
    expect(error.message).toMatch(
      /: its certificate is not signed by a CA that we know \(.*\): set --tls-ca to that CA$/,
    );
  });

  it('shows a plaintext client on a TLS port what is wrong', async () => {
    const { at } = await serve(await load(files().server));
    const error = await connectError(at, createPlaintextSecurity());
    expect(error.code).toBe('not_http2');
    expect(error.message).toMatch(
      /: accepts connections but does not speak plaintext HTTP\/2 \(.*\): does it expect TLS/,
    );
  });

  it('shows a TLS client on a plaintext port what is wrong', async () => {
    const { at } = await serve(createPlaintextSecurity());
    const error = await connectError(at, await load({ tlsCa: files().tlsCa }));
    expect(error.code).toBe('tls_failed');
    expect(error.message).toMatch(/plaintext server\?$|closed during the TLS handshake/);
  });

  for (const [version, accepts] of [
    ['TLSv1', false],
    ['TLSv1.1', false],
    ['TLSv1.2', true],
    ['TLSv1.3', true],
  ] as const) {
    it(`${accepts ? 'accepts' : 'refuses'} ${version}`, async () => {
      const { server, tlsCa } = files();
      const { at } = await serve(await load(server));
      expect(tlsCa).toBeTruthy();
      expect(await speaksTls(at, version)).toBe(accepts ? version : 'refused');
    });
  }
});

describe('client certificates', () => {
  it('are not asked for by default', async () => {
    const { server, tlsCa } = files();
    const { at } = await serve(await load(server));
    expect(await echo(at, await load({ tlsCa }))).toBe('hello');
  });

  it('let a client in where they are required', async () => {
    const { server, client } = files();
    const { at } = await serve(await load({ ...server, tlsClientAuth: 'require' }));
    expect(await echo(at, await load(client))).toBe('hello');
  });

  it('keep a client out that has none where they are required', async () => {
    const { server, tlsCa } = files();
    const { at, handled } = await serve(await load({ ...server, tlsClientAuth: 'require' }));
    const error = await connectError(at, await load({ tlsCa }));
    expect(error.code).toBe('tls_failed');
    expect(error.message).toMatch(/client certificate/);
    expect(handled()).toBe(0);
  });

  for (const [says, identity] of [
    ['of another authority', () => stranger.issue()],
    ['that has expired', () => authority.issue({ validFromMs: -2 * HOUR_MS, validToMs: -HOUR_MS })],
  ] as const) {
    it(`keep a client out with one ${says}`, async () => {
      const { server } = files();
      const { at } = await serve(await load({ ...server, tlsClientAuth: 'require' }));
      const { cert, key } = await identity();
      expect(await speaksHttp2(at, { cert, key, ca: authority.pem })).toBe(false);
      expect(await speaksHttp2(at, { ...clientIdentity, ca: authority.pem })).toBe(true);
    });
  }
});

describe('tokens', () => {
  it('let a caller in, and keep others out before their message is handled', async () => {
    const { server, tlsCa, tokenFile, folder } = files();
    const { at, handled } = await serve(await load({ ...server, tokenFile }));
    expect(await echo(at, await load({ tlsCa, tokenFile }))).toBe('hello');
    const wrong = folder.write('wrong', `${TOKEN}-but-wrong`);
    for (const [options, details] of [
      [{ tlsCa }, 'this server wants a token in the metadata "authorization"'],
      [{ tlsCa, tokenFile: wrong }, 'the token is not one that this server accepts'],
    ] as const) {
      const error: ServiceError = await echo(at, await load(options)).catch((thrown) => thrown);
      expect(error.code).toBe(status.UNAUTHENTICATED);
      expect(error.details).toBe(details);
      expect(readPeerReason(error)?.reason).toBe('unauthenticated');
    }
    expect(handled()).toBe(1);
  });

  it('are not asked of those who ask for health', async () => {
    const { server, tlsCa, tokenFile } = files();
    const { at } = await serve(await load({ ...server, tokenFile }));
    const client = dial(at, await load({ tlsCa })).createClient(HealthClient);
    const answer = await unary<{ status: number }>((done) => client.check({ service: '' }, done));
    expect(answer.status).toBe(Serving.SERVING);
  });

  it('may be replaced by a certificate where one is requested', async () => {
    const { server, client, tlsCa, tokenFile } = files();
    const { at } = await serve(await load({ ...server, tokenFile, tlsClientAuth: 'request' }));
    expect(await echo(at, await load(client))).toBe('hello');
    expect(await echo(at, await load({ tlsCa, tokenFile }))).toBe('hello');
    await expect(echo(at, await load({ tlsCa }))).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  });

  it('are sent in plaintext on the loopback alone', async () => {
    const { tokenFile } = files();
    const security = await load({ tokenFile });
    const { at } = await serve(security);
    expect(await echo(at, security)).toBe('hello');
    expect(() => dial(address('192.0.2.1:50061'), security)).toThrow(
      '192.0.2.1:50061: plaintext beyond this machine has to be said',
    );
  });
});

describe('rotation while a watch lives', () => {
  it('gives new connections the new certificate and leaves the old stream alone', async () => {
    const { folder, server, tlsCa } = files();
    const clock = new FakeClock();
    clock.stepWallMs(Date.now() - clock.wallMs());
    const logger = new RecordingLogger();
    const security = await loadSecurity(server, { clock, logger });
    cleanUp(() => security.close());
    const { at, streams } = await serve(security);
    const asking = dial(at, await load({ tlsCa }));
    const watch = collect(asking.createClient(BytesClient).watch(Buffer.alloc(0)));
    expect(String(await watch.next())).toBe('first');
    const before = await shownSerial(at);

    folder.writeIdentity('server', await authority.issue({ name: 'server, renewed' }));
    await expect
      .poll(async () => {
        await clock.advanceMs(2_000);
        return logger.messages();
      })
      .toEqual(['Took up new TLS certificates']);

    expect(await shownSerial(at)).not.toBe(before);
    streams[0]?.send(Buffer.from('second'));
    expect(String(await watch.next())).toBe('second');
    expect(await echo(at, await load({ tlsCa }))).toBe('hello');
    watch.cancel();
  });

  it('follows a mounted Secret, which is swapped behind a symbolic link', async () => {
    const { folder, tlsCa } = files();
    const mount = (version: string, identity: Identity): void => {
      mkdirSync(folder.path(version));
      folder.writeIdentity(`${version}/tls`, identity);
      symlinkSync(version, folder.path('..data_tmp'));
      renameSync(folder.path('..data_tmp'), folder.path('..data'));
    };
    mount('..1', serverIdentity);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, folder.path(name));
    const clock = new FakeClock();
    clock.stepWallMs(Date.now() - clock.wallMs());
    const logger = new RecordingLogger();
    const security = await loadSecurity(
      { tlsCert: folder.path('tls.crt'), tlsKey: folder.path('tls.key') },
      { clock, logger },
    );
    cleanUp(() => security.close());
    const { at } = await serve(security);
    const before = await shownSerial(at);
    mount('..2', await authority.issue());
    await expect
      .poll(async () => {
        await clock.advanceMs(2_000);
        return logger.messages();
      })
      .toEqual(['Took up new TLS certificates']);
    expect(await shownSerial(at)).not.toBe(before);
    expect(await echo(at, await load({ tlsCa }))).toBe('hello');
  });

  it('refuses clients of an authority that was taken out, and goes on with those that are in', async () => {
    const { folder, server, client } = files();
    const clock = new FakeClock();
    clock.stepWallMs(Date.now() - clock.wallMs());
    const logger = new RecordingLogger();
    const caOfClients = folder.write('clients-ca.crt', authority.pem);
    const security = await loadSecurity(
      { ...server, tlsCa: caOfClients, tlsClientAuth: 'require' },
      { clock, logger },
    );
    cleanUp(() => security.close());
    const { at, streams } = await serve(security);
    const watch = collect(
      dial(at, await load(client))
        .createClient(BytesClient)
        .watch(Buffer.alloc(0)),
    );
    await watch.next();

    folder.write('clients-ca.crt', stranger.pem);
    await expect
      .poll(async () => {
        await clock.advanceMs(2_000);
        return logger.messages();
      })
      .toEqual(['Took up new TLS certificates']);

    expect((await connectError(at, await load(client))).code).toBe('tls_failed');
    streams[0]?.send(Buffer.from('second'));
    expect(String(await watch.next())).toBe('second');
    watch.cancel();
  });

  it('gives new connections of a client its new certificate', async () => {
    const { folder, server, client } = files();
    const { at } = await serve(await load({ ...server, tlsClientAuth: 'require' }));
    const clock = new FakeClock();
    clock.stepWallMs(Date.now() - clock.wallMs());
    const logger = new RecordingLogger();
    folder.writeIdentity('client', await stranger.issue());
    const security = await loadSecurity(client, { clock, logger });
    cleanUp(() => security.close());
    expect((await connectError(at, security)).code).toBe('tls_failed');
    folder.writeIdentity('client', clientIdentity);
    await expect
      .poll(async () => {
        await clock.advanceMs(2_000);
        return logger.messages();
      })
      .toEqual(['Took up new TLS certificates']);
    expect(await echo(at, security)).toBe('hello');
  });
});

type Version = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** The version that was agreed with exactly `version` on offer, or `refused`. */
function speaksTls(at: Address, version: Version): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({
      ...portOf(at),
      minVersion: version,
      maxVersion: version,
      // Old versions need ciphers that are off by default: it is the server that is to refuse.
      ciphers: 'DEFAULT@SECLEVEL=0',
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    });
    socket.once('secureConnect', () => {
      resolve(socket.getProtocol() ?? 'none');
      socket.destroy();
    });
    socket.once('error', () => resolve('refused'));
  });
}

/** Whether the server begins to speak HTTP/2 with a client of that certificate. */
function speaksHttp2(at: Address, identity: Identity & { readonly ca: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...portOf(at), ...identity, ALPNProtocols: ['h2'] });
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

/** The serial number of the certificate that the server shows now. */
function shownSerial(at: Address): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...portOf(at), ca: authority.pem, ALPNProtocols: ['h2'] });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

function portOf(at: Address): { host: string; port: number } {
  if (at.type !== 'tcp') throw new Error(`${at.text} has no port`);
  return { host: at.host, port: at.port };
}

describe('a peer that hangs under TLS', () => {
  /** A server on a clock that stands still, and its port. */
  async function served(): Promise<{
    server: RpcServer;
    clock: FakeClock;
    at: Address;
    port: number;
    folder: ReturnType<typeof files>;
  }> {
    const folder = files();
    const clock = new FakeClock();
    const security = await load(folder.server);
    const server = new RpcServer(
      { listen: address('127.0.0.1:0') },
      { clock, logger: new RecordingLogger(), random: systemRandom, security },
    );
    cleanUp(() => server.stop(0));
    const at = await server.start();
    return { server, clock, at, port: at.type === 'tcp' ? at.port : 0, folder };
  }

  it('after its handshake loses its connection, a quiet client does not', async () => {
    const { server, clock, at, port, folder } = await served();
    const quiet = dial(at, await load({ tlsCa: folder.tlsCa }));
    await quiet.waitForReady();
    const mute = connectTls({ host: '127.0.0.1', port, ca: authority.pem, ALPNProtocols: ['h2'] });
    cleanUp(() => void mute.destroy());
    await new Promise((resolve) => mute.once('secureConnect', resolve));
    const closed = new Promise((resolve) => mute.once('close', resolve));
    mute.on('error', () => {});
    mute.resume();
    await clock.advanceMs(FIRST_BYTES_TIMEOUT_MS - 1);
    expect(server.openConnections).toBe(2);
    await clock.advanceMs(1);
    await closed;
    await expect.poll(() => server.openConnections).toBe(1);
    quiet.close();
    await expect.poll(() => server.openConnections).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('in its handshake loses its connection, however often it sends a byte', async () => {
    const { server, clock, port } = await served();
    const slow = connectTcp(port, '127.0.0.1');
    cleanUp(() => void slow.destroy());
    slow.on('error', () => {});
    const closed = new Promise((resolve) => slow.once('close', resolve));
    // The head of a record of 512 bytes, of which one comes now and then.
    slow.write(Buffer.from([22, 3, 1, 2, 0]));
    await expect.poll(() => server.openConnections).toBe(1);
    for (let second = 0; second < 10; second += 1) {
      slow.write(Buffer.from([1]));
      await clock.advanceMs(1_000);
    }
    await closed;
    await expect.poll(() => server.openConnections).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
