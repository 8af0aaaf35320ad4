import { describe, expect, it } from 'vitest';
import { deployment, found } from '../support.js';

const EVENTS = `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}'`;
const front = (tokens: number, more = ''): string =>
  `python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size ${tokens} ${more} &\n`;
const worker = (tokens: number, more = ''): string =>
  `python3 -m dynamo.vllm --model m --block-size ${tokens} ${EVENTS} ${more} &\n`;
const mismatches = (script: string): readonly string[] => found({ 'a.sh': script });

describe('fleets of one script', () => {
  it.each([
    ['namespaces by a flag', '--namespace a', '--namespace b', 'note'],
    ['namespaces that are not known', '--namespace $A', '--namespace $B', 'error'],
  ])('are apart by their %s', (_, a, b, severity) => {
    expect(mismatches(front(16, a) + worker(16, a) + front(64, b) + worker(64, b))).toEqual([]);
    expect(mismatches(front(16, a) + worker(64, a) + front(64, b) + worker(64, b))).toEqual([
      `block-size-mismatch a.sh:1 ${severity}`,
    ]);
  });

  it.each([
    ['DYN_NAMESPACE=a', 'DYN_NAMESPACE=b'],
    ['ETCD_ENDPOINTS=http://a:2379', 'ETCD_ENDPOINTS=http://b:2379'],
    ['', 'ETCD_ENDPOINTS=http://b:2379'],
    ['NATS_SERVER=nats://a:4222', 'NATS_SERVER=nats://b:4222'],
  ])('are apart by variables: %s and %s', (a, b) => {
    const lines = (tokens: number): string => `${b} ${front(64)}${b} ${worker(tokens)}`;
    expect(mismatches(`${a} ${front(16)}${a} ${worker(16)}${lines(64)}`)).toEqual([]);
    expect(mismatches(`${a} ${front(16)}${a} ${worker(16)}${lines(16)}`)).toEqual([
      'block-size-mismatch a.sh:3 note',
    ]);
  });

  it('are one where all have the same namespace or store', () => {
    for (const one of ['DYN_NAMESPACE=a', 'ETCD_ENDPOINTS=http://a:2379', 'ETCD_ENDPOINTS=$ETCD'])
      expect(mismatches(`${one} ${front(16)}${one} ${worker(64)}`)).toEqual([
        'block-size-mismatch a.sh:1 note',
      ]);
  });

  it('have the frontends that find all namespaces, or those that begin alike', () => {
    const wrong = ['block-size-mismatch a.sh:1 note'];
    expect(mismatches(front(16) + worker(64, '--namespace b'))).toEqual(wrong);
    expect(mismatches(front(16) + worker(16, '--namespace a') + worker(64, '--namespace b'))).toEqual(wrong);
    const prefix = front(16, '--namespace-prefix a --namespace a');
    expect(mismatches(prefix + worker(64, '--namespace a-1') + worker(16, '--namespace a-2'))).toEqual(wrong);
    expect(mismatches(prefix + worker(64, '--namespace b'))).toEqual([]);
    const suffix = `DYN_NAMESPACE_WORKER_SUFFIX=1 ${worker(64, '--namespace a')}`;
    expect(mismatches(prefix + suffix)).toEqual(wrong);
    expect(mismatches(front(16, '--namespace a') + suffix)).toEqual([]);
  });

  it('have workers without a namespace with the frontend of one that no worker names, and of their default', () => {
    expect(mismatches(front(16, '--namespace a') + worker(64))).toHaveLength(1);
    expect(mismatches(front(16, '--namespace a') + worker(16, '--namespace a') + worker(64))).toEqual([]);
    expect(mismatches(front(16, '--namespace dynamo') + worker(64))).toHaveLength(1);
  });

  it('have the workers that a router names by their endpoint', () => {
    const router = (tokens: number, endpoint: string): string =>
      `python3 -m dynamo.router --endpoint ${endpoint} --router-block-size ${tokens} &\n`;
    const at = (endpoint: string): string => `--endpoint dyn://${endpoint}`;
    const b = worker(64, at('b.backend.generate'));
    expect(
      mismatches(
        router(16, 'a.backend.generate') +
          worker(16, at('a.backend.generate')) +
          router(64, 'b.backend.generate') +
          b,
      ),
    ).toEqual([]);
    expect(mismatches(router(16, 'b.backend.generate') + b)).toEqual(['block-size-mismatch a.sh:1 error']);
    expect(mismatches(router(16, 'b.prefill.generate') + b)).toEqual([]);
    expect(
      mismatches(router(16, '$NS.backend.generate') + worker(64, at('$NS.backend.generate'))),
    ).toHaveLength(1);
  });
});

describe('fleets of one file', () => {
  const pods = (name: string, tokens: number, own: number): string =>
    deployment(
      `fe-${name}`,
      `command: [python3, -m, dynamo.frontend, --router-mode, kv, --namespace, ${name}]\nenv: [{name: DYN_KV_CACHE_BLOCK_SIZE, value: "${own}"}]`,
    ) +
    deployment(
      `w-${name}`,
      `command: [python3, -m, dynamo.vllm, --model, m, --block-size, "${tokens}"]\nenv: [{name: DYN_NAMESPACE, value: ${name}}]`,
    );

  it('are apart by a namespace, whether it is a flag or a variable', () => {
    expect(found({ 'a.yaml': pods('a', 16, 16) + pods('b', 64, 64) })).toEqual([]);
    expect(found({ 'a.yaml': pods('a', 16, 16) + pods('b', 64, 32) })).toHaveLength(1);
  });

  it('have a frontend that is given no namespace', () => {
    const all = pods('a', 64, 16).replace(', --namespace, a', '');
    expect(found({ 'a.yaml': all })).toHaveLength(1);
    const unseen = all.replace(
      'env: [{name: DYN_KV',
      'envFrom: [{configMapRef: {name: absent}}]\nenv: [{name: DYN_KV',
    );
    expect(found({ 'a.yaml': unseen.replace(/^env: \[\{name: DYN_KV/m, '          $&') })).toEqual([]);
  });

  it('are apart in a compose file', () => {
    const service = (name: string, env: string, command: string): string =>
      `  ${name}:\n    image: r/vllm-runtime:1.1.1\n    environment: {DYN_NAMESPACE: ${env}}\n    command: ${command}\n`;
    const kv = 'python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm --kv-cache-block-size';
    const fleet = (env: string, own: number, tokens: number): string =>
      service(`f${env}`, env, `${kv} ${own}`) + service(`w${env}`, env, worker(tokens).replace(' &\n', ''));
    expect(found({ 'compose.yaml': `services:\n${fleet('a', 16, 16)}${fleet('b', 64, 64)}` })).toEqual([]);
    expect(found({ 'compose.yaml': `services:\n${fleet('a', 16, 16)}${fleet('b', 64, 16)}` })).toHaveLength(
      1,
    );
  });
});
