import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { watchDeadline } from '../../../edge/platform/time/deadline.js';

/** What listens at an endpoint. */
export type Listener =
  /** A ZeroMQ socket; its type as it names itself, `PUB` or `ROUTER`; empty where its version of the protocol does not say. */
  | { readonly type: 'zmq'; readonly socketType: string }
  | { readonly type: 'http' }
  /** It took the connection and said nothing, or nothing that is known here. */
  | { readonly type: 'other' }
  /** There was no connection. */
  | { readonly type: 'none'; readonly reason: string };

/** Milliseconds for one look: the engine is on this host or in this rack. */
const TIMEOUT_MS = 3_000;
/** Milliseconds after which a silent peer gets an empty line: HTTP servers answer a bad request only when it is whole. */
const PROD_AFTER_MS = 500;
/** Bytes that are read at most: a greeting and a READY command have about 110. */
const MAX_BYTES = 4_096;

const GREETING_BYTES = 64;

/**
 * Our greeting of ZMTP 3.0 (rfc.zeromq.org/spec/23): a signature of ten bytes,
 * the version, the mechanism NULL, not as a server, and padding.
 */
const GREETING: Buffer = Buffer.alloc(GREETING_BYTES);
GREETING[0] = 0xff;
GREETING[8] = 1;
GREETING[9] = 0x7f;
GREETING[10] = 3;
GREETING.write('NULL', 12, 'ascii');

/**
 * Finds out what listens at `tcp://HOST:PORT` or `ipc://PATH`, by the
 * handshake of ZeroMQ as far as the peer's own words go. libzmq itself keeps
 * silent about a peer of the wrong kind and tries for ever. Never rejects;
 * leaves nothing open.
 */
export function probeEndpoint(
  endpoint: string,
  modules: { readonly clock: Clock },
  signal: AbortSignal,
): Promise<Listener> {
  const place = placeOf(endpoint);
  if (place === undefined) return Promise.resolve({ type: 'none', reason: 'not an address' });
  if (signal.aborted) return Promise.resolve({ type: 'none', reason: 'given up' });
  return new Promise((resolve) => {
    const socket: Socket = connect(place);
    let heard = Buffer.alloc(0);
    let isConnected = false;
    const finish = (listener: Listener): void => {
      stopWatching();
      prod.clear();
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.destroy();
      resolve(listener);
    };
    const giveUp = (): void => {
      if (isConnected) finish(listenerOf(heard) ?? { type: 'other' });
      else finish({ type: 'none', reason: `no connection within ${TIMEOUT_MS} ms` });
    };
    const prod = modules.clock.setTimer(PROD_AFTER_MS, () => {
      if (isConnected && heard.length === 0) socket.write('\r\n\r\n');
    });
    const stopWatching = watchDeadline({ timeoutMs: TIMEOUT_MS, signal }, modules, (why) => {
      if (why === 'timeout') giveUp();
      else finish({ type: 'none', reason: 'given up' });
    });
    socket.on('connect', () => {
      isConnected = true;
      socket.write(GREETING);
    });
    socket.on('data', (piece) => {
      heard = Buffer.concat([heard, piece]).subarray(0, MAX_BYTES);
      const listener = listenerOf(heard);
      if (listener !== undefined || heard.length >= MAX_BYTES) finish(listener ?? { type: 'other' });
    });
    socket.on('close', giveUp);
    socket.on('error', (error) => {
      if (isConnected) giveUp();
      else finish({ type: 'none', reason: describeError(error) });
    });
  });
}

function placeOf(endpoint: string): NetConnectOpts | undefined {
  if (endpoint.startsWith('ipc://')) return { path: endpoint.slice('ipc://'.length) };
  const [, host, port] = /^tcp:\/\/(.+):(\d+)$/.exec(endpoint) ?? [];
  if (host === undefined || port === undefined || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** What the first bytes of a peer say it is; undefined while they say too little. */
function listenerOf(heard: Buffer): Listener | undefined {
  if (heard.subarray(0, 5).toString('latin1') === 'HTTP/') return { type: 'http' };
  const isZmtp = heard[0] === 0xff && heard.length >= 11 && heard[9] === 0x7f;
  if (!isZmtp) return undefined;
  // Older peers name no type in words; that they are ZeroMQ is all there is.
  if ((heard[10] ?? 0) < 3) return { type: 'zmq', socketType: '' };
  if (heard.length < GREETING_BYTES + 2) return undefined;
  // A command frame: 0x04 and one byte of length, or 0x06 and eight.
  const isLong = heard[GREETING_BYTES] === 0x06;
  const bodyAt = GREETING_BYTES + (isLong ? 9 : 2);
  const length = isLong
    ? heard.readUInt32BE(Math.min(bodyAt - 4, heard.length - 4))
    : (heard[GREETING_BYTES + 1] ?? 0);
  if (heard.length < bodyAt + Math.min(length, MAX_BYTES)) return undefined;
  return { type: 'zmq', socketType: socketTypeOf(heard.subarray(bodyAt, bodyAt + length)) };
}

/** The property `Socket-Type` of a READY command; empty where it has none. */
function socketTypeOf(body: Buffer): string {
  const nameAt = body.indexOf('\x0bSocket-Type', 0, 'latin1');
  const valueAt = nameAt + 1 + 'Socket-Type'.length;
  if (nameAt < 0 || body.length < valueAt + 4) return '';
  const text = body.subarray(valueAt + 4, valueAt + 4 + body.readUInt32BE(valueAt)).toString('latin1');
  return /^[A-Z]{1,8}$/.test(text) ? text : '';
}
