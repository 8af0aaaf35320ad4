import { describe, expect, it } from 'vitest';
import { DiscoveryError } from '../../../src/fleet/discovery/discovery-error.js';
import { parseGraphTarget } from '../../../src/fleet/discovery/kubernetes/parse-cluster-target.js';
import { parseTarget, parseTargets } from '../../../src/fleet/discovery/parse-target.js';

function textOf(text: string): string {
  const target = parseTarget(text);
  return target.type === 'address' ? target.address.text : target.text;
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
    ['', 'must be HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT, k8s://NAMESPACE/SERVICE:PORT'],
    ['worker-1', 'must be HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT, k8s://NAMESPACE/SERVICE:PORT'],
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

  it('that is endless is not repeated in full', () => {
    expect(errorOf(() => parseTarget('x'.repeat(1_000_000))).message.length).toBeLessThan(330);
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

describe('a target of a cluster', () => {
  it.each([
    [
      'k8s://ns/workers:50061',
      { type: 'kubernetes-service', namespace: 'ns', service: 'workers', port: 50061 },
    ],
    ['k8s:///workers:grpc-kv', { type: 'kubernetes-service', namespace: undefined, port: 'grpc-kv' }],
    ['K8S://ns/workers:1', { text: 'k8s://ns/workers:1' }],
    [
      'k8s://ns?selector=app=vllm,tier in (a,b)',
      { type: 'kubernetes-pods', namespace: 'ns', selector: 'app=vllm,tier in (a,b)', port: 50061 },
    ],
    [
      'k8s://ns?selector=app%3Dvllm%2Ctier+in%20(a%2Cb)&port=7000',
      {
        selector: 'app=vllm,tier in (a,b)',
        port: 7000,
        text: 'k8s://ns?selector=app=vllm,tier in (a,b)&port=7000',
      },
    ],
    ['k8s://?port=1&selector=!old', { namespace: undefined, selector: '!old', port: 1 }],
    ['dynamo-file:///var/lib/dynamo/', { type: 'dynamo-file', folder: '/var/lib/dynamo' }],
    ['dynamo-k8s://ns', { type: 'dynamo-kubernetes', namespace: 'ns', selector: undefined }],
    [
      'dynamo-k8s://?selector=a=b',
      { namespace: undefined, selector: 'a=b', text: 'dynamo-k8s://?selector=a=b' },
    ],
  ])('%s is %j', (text, expected) => {
    expect(parseTarget(text)).toMatchObject(expected);
  });

  it.each([
    ['k8s://ns', 'must be k8s://NAMESPACE/SERVICE:PORT or k8s://NAMESPACE?selector=LABEL=VALUE[&port=N]'],
    ['k8s://ns/workers', 'must be k8s://NAMESPACE/SERVICE:PORT'],
    ['k8s://ns/workers:0', 'port from 1 to 65535'],
    ['k8s://ns/workers:99999', 'port from 1 to 65535'],
    ['k8s://ns/workers:Grpc', 'name of a port of the Service'],
    ['k8s://ns/a/b:1', 'must be k8s://NAMESPACE/SERVICE:PORT'],
    ['k8s://Ns/workers:1', 'must name its namespace by at most 63 lower-case letters'],
    ['k8s://ns/Workers:1', 'must name its Service by'],
    ['k8s://ns/workers:1?selector=a', 'must be k8s://NAMESPACE/SERVICE:PORT'],
    ['k8s://ns?', 'must have a selector'],
    ['k8s://ns?selector=', 'must have a label selector such as'],
    ['k8s://ns?selector=a=%zz', 'two hexadecimal digits'],
    ['k8s://ns?selector=a=b&selector=c', 'must have selector= once'],
    ['k8s://ns?selector=a&port=http', 'port from 1 to 65535'],
    ['k8s://ns?label=a', 'must be k8s://NAMESPACE?selector=LABEL=VALUE[&port=N]'],
    ['dynamo-file://relative', 'an absolute path'],
    ['dynamo-k8s://ns/service', 'must be dynamo-k8s://NAMESPACE[?selector=LABEL=VALUE]'],
  ])('%s is refused with what would be right', (text, expected) => {
    const { code, message } = errorOf(() => parseTarget(text));
    expect(code).toBe('invalid_target');
    expect(message).toContain(JSON.stringify(text));
    expect(message).toContain(expected);
  });

  it('may be a graph of Dynamo, whose engines have labels', () => {
    expect(parseGraphTarget('inference/llama')).toMatchObject({
      namespace: 'inference',
      graph: 'llama',
      selector:
        'nvidia.com/dynamo-graph-deployment-name=llama,nvidia.com/dynamo-component-type in (worker,prefill,decode)',
      port: 50061,
    });
    expect(parseGraphTarget('llama').namespace).toBeUndefined();
    expect(() => parseGraphTarget('a/b/c')).toThrow('NAME or NAMESPACE/NAME of a DynamoGraphDeployment');
  });
});
