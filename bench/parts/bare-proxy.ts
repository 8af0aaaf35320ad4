/** The least that a reverse proxy in Node is: node:http in front, undici behind, one worker after the other. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { servePart } from '../support/part.js';

servePart({
  start({ urls }: { urls: readonly string[] }) {
    const pools = urls.map((url) => new Pool(url));
    let turn = 0;
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { method = 'POST', url: path = '/', headers } = request;
        const { host: _, connection: __, ...others } = headers;
        turn = (turn + 1) % pools.length;
        const pool = pools[turn] as Pool;
        void pool.stream({ method, path, headers: others, body: Buffer.concat(pieces) }, (answer) =>
          response.writeHead(answer.statusCode, hopless(answer.headers)),
        );
      });
    });
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  },
});

function hopless<Headers extends Record<string, unknown>>(headers: Headers): Headers {
  delete headers['transfer-encoding'];
  delete headers['connection'];
  return headers;
}
