import { buildConnector } from 'undici';

/**
 * Makes connections to engines, whose certificates are checked against `ca`:
 * PEM certificates, asked for whenever there are new ones to take up. Where it
 * gives none, Node's own list counts.
 */
export function engineConnector(timeoutMs: number, ca?: () => string | undefined): buildConnector.connector {
  let known = ca?.();
  const make = (): buildConnector.connector =>
    buildConnector({ timeout: timeoutMs, ...(known === undefined ? {} : { ca: known }) });
  let connect = make();
  return (options, callback) => {
    const current = ca?.();
    // A connector remembers TLS sessions of the authorities that it was made with.
    if (current !== known) {
      known = current;
      connect = make();
    }
    connect(options, callback);
  };
}
