import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { engineConnector } from '../../../src/frontend/engine-access/engine-connector.js';
import { AccessProblems } from '../../../src/frontend/proxy/workers/access-problems.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const open = new OpenThings();
afterEach(() => open.close());

const pem = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../edge/http/certificates/${name}`, import.meta.url)), 'utf8');

async function serveTls(): Promise<string> {
  const server = createServer({ cert: pem('first-cert.pem'), key: pem('first-key.pem') }, (_, response) => {
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

it('takes up another authority with the next connection, without a restart', async () => {
  const url = await serveTls();
  let ca: string | undefined = pem('stranger-cert.pem');
  const agent = new Agent({ connect: engineConnector(5_000, () => ca), pipelining: 0 });
  open.add(() => agent.destroy());
  const ask = () => agent.request({ origin: url, path: '/', method: 'GET' });
  await expect(ask()).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  ca = undefined;
  await expect(ask()).rejects.toThrow();
  ca = pem('ca.pem');
  const { statusCode, body } = await ask();
  expect([statusCode, await body.text()]).toEqual([200, 'ok']);
});

const W0 = { target: '10.0.0.5:50061', workerId: 'w0' };

it('logs what only the operator can change, once a minute for each worker', async () => {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const access = new AccessProblems({ engineApiKey: 'k', passesAuthorization: true }, { clock, logger });
  const error = Object.assign(new Error('x'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  access.failed(W0, error);
  access.failed(W0, error);
  access.failed(W0, new Error('reset'));
  access.answered(W0, 401);
  access.answered(W0, 200);
  expect(logger.lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^Worker w0 \(10\.0\.0\.5:50061\) cannot be reached over TLS: .*--engine-tls-ca/),
    expect.stringMatching(/^Worker w0 \(10\.0\.0\.5:50061\) wants an API key .*--engine-api-key-file/),
  ]);
  await clock.advanceMs(60_000);
  access.answered(W0, 401);
  expect(logger.lines).toHaveLength(3);
});

it("says nothing of a 401 where the key is the client's own", () => {
  const logger = new RecordingLogger();
  const access = new AccessProblems({ passesAuthorization: true }, { clock: new FakeClock(), logger });
  access.answered(W0, 401);
  expect(logger.lines).toEqual([]);
});
