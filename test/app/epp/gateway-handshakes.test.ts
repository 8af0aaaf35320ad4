import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { GatewayHandshakes } from '../../../src/app/epp/gateway-handshakes.js';
import { pickerSecurity } from '../../../src/app/epp/picker-security.js';
import { parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { RpcServer } from '../../../src/edge/rpc/server.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const open = new OpenThings();
afterEach(() => open.close());

/** A server with the certificate that a picker makes for itself. */
async function serve(): Promise<{ readonly port: number; readonly logger: RecordingLogger }> {
  const logger = new RecordingLogger();
  const handshakes = new GatewayHandshakes({ logger });
  const modules = { clock: systemClock, random: systemRandom };
  const security = pickerSecurity(
    { secureServing: 'true', tlsCert: undefined },
    { ...modules, security: createPlaintextSecurity() },
  );
  const listen = parseAddress('127.0.0.1:0');
  if (listen === undefined) throw new Error('no address');
  const server = new RpcServer(
    { listen, onHandshakeError: (error, peer) => handshakes.failed(error, peer) },
    { ...modules, logger, security },
  );
  open.add(() => server.stop(0));
  const at = await server.start();
  return { port: at.type === 'tcp' ? at.port : 0, logger };
}

/** Sends bytes and waits until the other side has closed. */
function send(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => (text === '' ? socket.end() : socket.write(text)));
    socket.on('error', () => undefined).on('close', () => resolve());
    socket.resume();
  });
}

describe('a gateway that cannot connect to its picker', () => {
  it('is named with what to do where it speaks plaintext, once', async () => {
    const { port, logger } = await serve();
    for (const text of ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n']) await send(port, text);
    expect(logger.messages()).toEqual([
      expect.stringMatching(
        /^A connection to --ext-proc-listen from 127\.0\.0\.1 .* it speaks plaintext\..*--secure-serving=false/,
      ),
    ]);
  });

  it('is named where it refuses the certificate with an alert', () => {
    const logger = new RecordingLogger();
    const handshakes = new GatewayHandshakes({ logger });
    const alert = Object.assign(new Error('alert'), { code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' });
    handshakes.failed(alert, undefined);
    expect(logger.messages('warn')[0]).toContain('it refuses the certificate that it is shown');
  });

  it('is not warned of where a probe opens and closes a connection, nor where all is well', async () => {
    const { port, logger } = await serve();
    await send(port, '');
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    expect(socket.getPeerX509Certificate()?.subject).toBe('CN=kv-accord epp');
    socket.destroy();
    await once(socket, 'close');
    expect(logger.messages()).toEqual([]);
  });
});
