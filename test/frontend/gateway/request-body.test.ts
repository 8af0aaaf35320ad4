import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { BodyReader, type HeldBody, type ReadBody } from '../../../src/frontend/gateway/request-body.js';
import { heldMemory } from '../../edge/rpc/collect-garbage.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const PIECES = 200_000;

/** A server that reads one body and answers nothing, and a client that has sent the head of a request with it. */
async function readOne(reader: BodyReader): Promise<{
  readonly held: HeldBody;
  readonly read: Promise<ReadBody | undefined>;
  send(text: string): Promise<void>;
}> {
  const held: HeldBody = { bytes: 0 };
  let isRead: (body: ReadBody | undefined) => void = () => undefined;
  const read = new Promise<ReadBody | undefined>((resolve) => {
    isRead = resolve;
  });
  const server = createServer((request) => reader.read(request, held, (_error, body) => isRead(body)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  open.add(() => {
    client.destroy();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const send = (text: string): Promise<void> => new Promise((resolve) => client.write(text, () => resolve()));
  return { held, read, send };
}

describe('a body in chunks of one byte', () => {
  it('takes not many times the memory of its bytes, and is read as it came', async () => {
    const { held, read, send } = await readOne(new BodyReader({ limitBytes: 1024 * 1024 }));
    await send('1\r\n"\r\n');
    await expect.poll(() => held.bytes).toBe(1);
    const before = await heldMemory();
    await send('1\r\nx\r\n'.repeat(PIECES));
    await expect.poll(() => held.bytes, { timeout: 30_000 }).toBe(PIECES + 1);
    const after = await heldMemory();
    // An object for each of them would be 80 MB.
    expect(after.heapUsed - before.heapUsed + after.external - before.external).toBeLessThan(20_000_000);
    await send('1\r\n"\r\n0\r\n\r\n');
    expect(JSON.parse((await read)?.bytes.toString() ?? '')).toBe('x'.repeat(PIECES));
  });
});
