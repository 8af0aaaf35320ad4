import { connect } from 'node:http2';
import type { Clock } from '../platform/clock.js';
import { watchDeadline } from '../platform/time/deadline.js';

/** What came of looking whether a peer speaks plaintext HTTP/2. */
export type PreflightOutcome =
  | { readonly type: 'ready' }
  /** Without a connection at all, or with one over which no HTTP/2 came. */
  | { readonly type: 'no_connection' }
  | { readonly type: 'timeout' }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly message: string };

/**
 * Looks whether a peer at `HOST:PORT` answers an HTTP/2 preface with its
 * SETTINGS, on a connection of its own that is closed whatever comes of it.
 *
 * It stands before a grpc-js client for one reason, seen on 1.14.7: when a
 * peer accepts TCP and then says nothing, `client.close()` ends the call and
 * leaves the TCP connection open for as long as the peer likes. A sidecar that
 * asks such a port every second would hold thousands. Never rejects.
 */
export function preflightHttp2(
  address: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  modules: { readonly clock: Clock },
): Promise<PreflightOutcome> {
  return new Promise((resolve) => {
    if (!URL.canParse(`http://${address}`)) {
      resolve({ type: 'failed', message: 'not an address of the form HOST:PORT' });
      return;
    }
    if (options.signal.aborted) return resolve({ type: 'aborted' });
    const session = connect(`http://${address}`);
    const finish = (outcome: PreflightOutcome): void => {
      stopWatching();
      session.destroy();
      resolve(outcome);
    };
    let isConnected = false;
    const stopWatching = watchDeadline(options, modules, (why) =>
      finish({ type: why === 'timeout' && !isConnected ? 'no_connection' : why }),
    );
    session.once('connect', () => {
      isConnected = true;
    });
    session.once('remoteSettings', () => finish({ type: 'ready' }));
    session.on('error', (error) => finish({ type: 'failed', message: error.message }));
    session.once('close', () => finish({ type: 'failed', message: 'the connection was closed' }));
  });
}
