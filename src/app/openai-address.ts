import { type Address, parseAddress } from '../edge/platform/address.js';

/** The OpenAI server's place: `--http-host` and `--http-port`. */
export interface OpenAiPlace {
  /** A host name or an IP address, IPv6 with or without brackets. */
  readonly httpHost: string;
  /** 0 takes a free port. */
  readonly httpPort: number;
}

/** Where the OpenAI server listens; undefined when the host cannot be one. */
export function openAiAddress({ httpHost, httpPort }: OpenAiPlace): Address | undefined {
  const host = httpHost.includes(':') && !httpHost.startsWith('[') ? `[${httpHost}]` : httpHost;
  return parseAddress(`${host}:${httpPort}`);
}
