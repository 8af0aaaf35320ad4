/** The bootstrap server of a prefill SGLang that a decode engine asked in vain. */
export interface BootstrapAddress {
  readonly host: string;
  readonly port: number;
}

/** The port of SGLang's bootstrap server unless `--disaggregation-bootstrap-port` is given. */
const DEFAULT_PORT = 8998;

const ADDRESS = /(?:from|for) bootstrap_addr: ?\[?([\w.:-]{1,120}?)\]?:(\d{1,5})\b/;
const POOL = /bootstrap.{0,20}HTTPConnectionPool\(host='([^'\s]{1,120})', port=(\d{1,5})\)/;

/** "Could not fetch prefill parallel info from bootstrap_addr: prefill-svc:30000", "… from bootstrap: HTTPConnectionPool(host='prefill', port=8998): …". */
export function bootstrapAddressIn(line: string): BootstrapAddress | undefined {
  const [, host, port] = ADDRESS.exec(line) ?? POOL.exec(line) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

/** Whether a request came with no prefill engine at all: its host is Python's `None`. */
export function isNobody({ host }: BootstrapAddress): boolean {
  return /^(?:none|null)$/i.test(host);
}

/** What to change so that the address leads to the bootstrap server; undefined where it may be right. */
export function repairedAddress(address: BootstrapAddress): string | undefined {
  const { host, port } = address;
  if (isNobody(address))
    return 'Send requests to the router of the pair and not to a decode engine, which learns of a prefill engine from it; let probes ask decode engines for /health, and not for /health_generate';
  if (/^(?:127\.|localhost$|0\.0\.0\.0$|::1?$)/.test(host))
    return `Have the router name prefill engines by an address that decode pods reach (--prefill http://POD_IP:PORT in place of ${host}), and start them with --host 0.0.0.0; ${host} is right where both roles share one network alone`;
  if (port === DEFAULT_PORT) return undefined;
  return `Give the router the bootstrap port of the prefill engines (${DEFAULT_PORT} unless --disaggregation-bootstrap-port sets another) in place of ${port}: --prefill http://PREFILL:PORT ${DEFAULT_PORT}, and open it to decode pods; where ${port} is what --disaggregation-bootstrap-port says, see that the prefill engine listens there`;
}
