import { isIP } from 'node:net';

/** Engines that may see keys, as `--engine-key-hosts` names them. */
export type KeyHost =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'domain'; readonly suffix: string }
  | {
      readonly kind: 'network';
      readonly address: string;
      readonly bits: number;
      readonly family: 'ipv4' | 'ipv6';
    };

/** Reads a host name, `*.DOMAIN`, an IP address or a network in CIDR form; undefined for anything else. */
export function readKeyHost(text: string): KeyHost | undefined {
  const [, address = '', bitsText] = /^\[?([\da-f.:]+)\]?(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  if (version !== 0) {
    const most = version === 6 ? 128 : 32;
    const bits = Number(bitsText ?? most);
    return bits > most
      ? undefined
      : { kind: 'network', address, bits, family: version === 6 ? 'ipv6' : 'ipv4' };
  }
  const name = text.toLowerCase();
  if (/^\*(?:\.[a-z\d_-]+)+$/.test(name)) return { kind: 'domain', suffix: name.slice(1) };
  // A name of digits and points alone would be a mistyped address.
  return /^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/.test(name) && /[a-z]/.test(name)
    ? { kind: 'name', name }
    : undefined;
}
