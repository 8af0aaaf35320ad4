import { formatTcp, parseAddress } from '../../edge/platform/address.js';

/** `HOST:PORT` of a side channel; undefined for what is no address that others can connect to. */
export function sideChannelAddress(host: string, port: number): string | undefined {
  const address = parseAddress(formatTcp(host.replace(/^\[(.*)\]$/, '$1'), port));
  return address?.type === 'tcp' && address.port > 0 ? address.text : undefined;
}
