import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reachableUrl } from '../../../src/fleet/catalogue/reachable-url.js';

describe('the address of an engine as this host reaches it', () => {
  it.each([
    ['http://127.0.0.1:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://127.9.8.7:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://localhost:8000', 'gpu-7.lan:50061', 'http://gpu-7.lan:8000'],
    ['http://LOCALHOST.:8000', 'gpu-7.lan:50061', 'http://gpu-7.lan:8000'],
    ['http://engine.localhost:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://[::1]:8000', '[fd00::5]:50061', 'http://[fd00::5]:8000'],
    ['http://[::ffff:127.0.0.1]:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://0x7f.1:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://0.0.0.0:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['http://[::]:8000', '10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['https://127.0.0.1', '10.0.0.5:50061', 'https://10.0.0.5'],
  ])('%s of the sidecar %s is %s: the engine is where its sidecar is', (reported, target, url) => {
    expect(reachableUrl(reported, target)).toBe(url);
  });

  it.each([
    ['http://127.0.0.1:8000', '127.0.0.1:50061'],
    ['http://127.0.0.1:8000', 'localhost:50061'],
    ['http://[::1]:8000', '[::1]:50061'],
    ['http://127.0.0.1:8000', 'unix:/run/kv-accord.sock'],
    ['http://127.0.0.1:8000', '0.0.0.0:50061'],
    ['http://10.0.0.9:8000', '10.0.0.5:50061'],
    ['http://engine.lan', '127.0.0.1:50061'],
    ['http://10.0.0.9:8000', 'a target of another form'],
  ])('%s of the sidecar %s stays as it is', (reported, target) => {
    expect(reachableUrl(reported, target)).toBe(reported);
  });

  it('keeps the path before /v1, and no slash at the end', () => {
    expect(reachableUrl('http://10.0.0.9:8000/', 'a:1')).toBe('http://10.0.0.9:8000');
    expect(reachableUrl('http://10.0.0.9:8000///', 'a:1')).toBe('http://10.0.0.9:8000');
    expect(reachableUrl('http://127.0.0.1:8000/llama/', 'a:1')).toBe('http://a:8000/llama');
  });

  it('is none where no URL can name the host of the sidecar, lest the engine of this host is taken for it', () => {
    expect(reachableUrl('http://127.0.0.1:8000', '[fe80::1%eth0]:50061')).toBeUndefined();
  });

  it('is none, and never an error, for what is no URL', () => {
    for (const text of ['', 'http://', 'http://a b', '://', '127.0.0.1:8000:9']) {
      expect(reachableUrl(text, '10.0.0.5:50061')).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 60 }), (reported, target) => {
        const url = reachableUrl(reported, target);
        if (url !== undefined) expect(url).not.toMatch(/\/$/);
      }),
    );
  });
});
