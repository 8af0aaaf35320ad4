import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { writeHeadSafely } from '../../../../src/frontend/proxy/answers/write-head.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

/** The headers that a client gets of an answer, names and values in turn, but for Node's own. */
async function headersOf(answer: (response: ServerResponse) => void): Promise<string[]> {
  const server = createServer((_request, response) => {
    answer(response);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, resolve).once('error', reject);
  });
  response.resume();
  const end = response.rawHeaders.findIndex((name) => ['date', 'connection'].includes(name.toLowerCase()));
  return response.rawHeaders.slice(0, end);
}

const COOKIES = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Vary', 'Accept'];

describe('the head of an answer', () => {
  it('has what the worker sent, several of one name included', async () => {
    expect(await headersOf((response) => writeHeadSafely(response, 200, COOKIES))).toEqual(COOKIES);
  });

  it('has them as well beside headers that were set before', async () => {
    const headers = await headersOf((response) => {
      response.setHeader('vary', 'Origin');
      writeHeadSafely(response, 200, COOKIES);
    });
    const valuesOf = (wanted: string): string[] =>
      headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === wanted);
    expect(valuesOf('set-cookie')).toEqual(['a=1', 'b=2']);
    expect(valuesOf('vary')).toEqual(['Origin', 'Accept']);
  });

  it.each([true, false])('has none that HTTP does not allow (beside others: %s)', async (isBeside) => {
    const headers = await headersOf((response) => {
      if (isBeside) response.setHeader('x-a', '1');
      writeHeadSafely(response, 200, ['x-b', 'bad\u0000', 'x-c', '3']);
    });
    expect(headers).toEqual(isBeside ? ['x-a', '1', 'x-c', '3'] : ['x-c', '3']);
  });
});
