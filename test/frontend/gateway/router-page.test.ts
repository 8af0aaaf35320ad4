import { describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { routerPage } from '../../../src/frontend/gateway/router-page.js';

const at = (text: string): Address => parseAddress(text) as Address;

describe('the status page of a router in another process', () => {
  it('is on the machine of the router where it listens on all addresses', () => {
    expect(routerPage('http://0.0.0.0:9463', at('router.example:50060'))).toEqual({
      url: 'http://router.example:9463/',
      router: 'router.example:50060',
      isLocal: false,
    });
    expect(routerPage('https://[::]:9463', at('[fd00::2]:50060'))?.url).toBe('https://[fd00::2]:9463/');
  });

  it('is as it is where it names an address, or where the router is on this machine', () => {
    expect(routerPage('http://10.0.0.9:9463', at('10.0.0.2:50060'))?.url).toBe('http://10.0.0.9:9463/');
    for (const router of ['127.0.0.1:50060', 'unix:/run/router'])
      expect(routerPage('http://127.0.0.1:9463', at(router))).toMatchObject({
        url: 'http://127.0.0.1:9463/',
        isLocal: false,
      });
  });

  it('cannot be opened from here where it listens on loopback of another machine', () => {
    expect(routerPage('http://127.0.0.1:9463', at('10.0.0.2:50060'))).toMatchObject({
      url: 'http://127.0.0.1:9463/',
      isLocal: true,
    });
  });

  it.each(['', 'no url', 'javascript:alert(1)', 'ftp://a', `http://${'a'.repeat(600)}`])(
    'is none for %j',
    (reported) => {
      expect(routerPage(reported, at('10.0.0.2:50060'))).toBeUndefined();
    },
  );

  it('has no path, query or name of a caller, whatever the router says', () => {
    expect(routerPage('http://user:pass@10.0.0.9:9463/x?y#z', at('10.0.0.2:50060'))?.url).toBe(
      'http://10.0.0.9:9463/',
    );
  });
});
