import { lookup } from 'node:dns/promises';

/** Names to addresses, as a module so that tests answer as they like. */
export interface Resolver {
  /**
   * Every IPv4 and IPv6 address behind `host`, without brackets, in the
   * answer's order. Rejects with the system's error: `ENOTFOUND` when the name
   * has no addresses, `EAI_AGAIN` when no name server answered. It cannot be
   * cancelled and may take as long as the system likes (with glibc's defaults
   * 5 s for each server and try).
   */
  lookupAll(host: string): Promise<readonly string[]>;
}

/** The system's own resolver (`getaddrinfo`): hosts file, search domains and all. */
export const systemResolver: Resolver = {
  async lookupAll(host) {
    const found = await lookup(host, { all: true, order: 'verbatim' });
    return found.map(({ address }) => address);
  },
};
