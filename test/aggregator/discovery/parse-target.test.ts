import { describe, expect, it } from 'vitest';
import { DiscoveryError } from '../../../src/aggregator/discovery/discovery-error.js';
import { parseTarget, parseTargets } from '../../../src/aggregator/discovery/parse-target.js';

function textOf(text: string): string {
  const target = parseTarget(text);
  return target.type === 'dns' ? target.text : target.address.text;
}

function errorOf(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof DiscoveryError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a target', () => {
  it.each([
    ['10.0.0.5:50061', '10.0.0.5:50061'],
    ['Worker-1.NS.svc:50061', 'worker-1.ns.svc:50061'],
    ['[::1]:50061', '[::1]:50061'],
    ['[FD00:0:0:0::1]:50061', '[fd00::1]:50061'],
    ['[fe80::1%eth0]:50061', '[fe80::1%eth0]:50061'],
    ['unix:/run/kv.sock', 'unix:/run/kv.sock'],
    ['unix:///run/kv.sock', 'unix:/run/kv.sock'],
    ['dns:///Workers.ns:50061', 'dns:///workers.ns:50061'],
    ['DNS:///workers:50061', 'dns:///workers:50061'],
    ['workers.example.:50061', 'workers.example.:50061'],
  ])('%s is %s', (text, expected) => {
    expect(textOf(text)).toBe(expected);
  });

  it.each([
    ['', 'must be HOST:PORT, [::1]:PORT, unix:/path or dns:///NAME:PORT'],
    ['worker-1', 'must be HOST:PORT, [::1]:PORT, unix:/path or dns:///NAME:PORT'],
    ['worker-1:0', 'port from 1 to 65535'],
    ['worker-1:65536', 'must be HOST:PORT'],
    ['::1:50061', 'must be HOST:PORT'],
    ['[::g]:50061', 'must be HOST:PORT'],
    ['[1::2::3]:50061', 'IPv6 address in the brackets'],
    ['10.0.0.256:50061', 'four numbers from 0 to 255'],
    ['10.0.5:50061', 'four numbers from 0 to 255'],
    ['a..b:50061', 'parts have 1 to 63 characters'],
    ['dns://workers:50061', 'three slashes: dns:///NAME:PORT'],
    ['dns:///workers', 'must be dns:///NAME:PORT'],
    ['dns:///unix:/x', 'must be dns:///NAME:PORT'],
    ['http://worker-1:50061', 'must be HOST:PORT'],
    ['unix:relative', 'must be HOST:PORT'],
    ['worker 1:50061', 'must be HOST:PORT'],
    ['worker\n1:50061', 'must be HOST:PORT'],
  ])('%j is refused with its value and what would be right', (text, expected) => {
    const { code, message } = errorOf(() => parseTarget(text));
    expect(code).toBe('invalid_target');
    expect(message).toContain(JSON.stringify(text));
    expect(message).toContain(expected);
    expect(message).not.toContain('\n');
  });

  it('of a form that this version does not have says what serves meanwhile', () => {
    expect(errorOf(() => parseTarget('k8s://ns/workers:50061'))).toEqual({
      code: 'unsupported_target',
      message:
        '"k8s://ns/workers:50061": k8s:// is not in this version; use dns:///SERVICE.NAMESPACE:PORT with a headless Service',
    });
    expect(errorOf(() => parseTarget('dynamo-file:///tmp/x')).code).toBe('unsupported_target');
  });

  it('that is endless is not repeated in full', () => {
    expect(errorOf(() => parseTarget('x'.repeat(1_000_000))).message.length).toBeLessThan(300);
  });
});

describe('several targets', () => {
  it('keep their order', () => {
    const targets = parseTargets(['b:1', 'dns:///a:1', 'a:1']);
    expect(targets.map(({ type }) => type)).toEqual(['address', 'dns', 'address']);
  });

  it.each([
    [['a:1', 'b:1', 'a:1'], '"a:1" is listed twice; list it once'],
    [['[::1]:5', '[0:0::1]:5'], '"[0:0::1]:5" is listed twice (also written as "[::1]:5"); list it once'],
    [
      ['dns:///a:1', 'dns:///A:1'],
      '"dns:///A:1" is listed twice (also written as "dns:///a:1"); list it once',
    ],
  ])('%j name one place twice', (texts, message) => {
    expect(errorOf(() => parseTargets(texts))).toEqual({ code: 'duplicate_target', message });
  });

  it('more than 10,000 are refused as a whole', () => {
    const texts = Array.from({ length: 10_001 }, (_, index) => `w-${index}:1`);
    expect(errorOf(() => parseTargets(texts))).toEqual({
      code: 'too_many_endpoints',
      message: '10001 targets are listed, at most 10000 are allowed',
    });
  });
});
