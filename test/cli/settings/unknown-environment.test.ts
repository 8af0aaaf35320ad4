import { expect, test } from 'vitest';
import { warnOfUnknownEnvironment } from '../../../src/cli/settings/unknown-environment.js';

const known = ['listen', 'min-workers', 'workers', 'aggregator'];

test('an unknown variable is named with the nearest name, and without its value', () => {
  expect(
    warnOfUnknownEnvironment({ KV_ACCORD_MIN_WORKER: 's3cret', KV_ACCORD_LISTEN: 'x', PATH: 'y' }, known),
  ).toEqual([
    'environment variable "KV_ACCORD_MIN_WORKER" is no setting and is ignored; did you mean KV_ACCORD_MIN_WORKERS?',
  ]);
});

test('what Kubernetes sets for a Service of that name gives no warning', () => {
  const environment = {
    KV_ACCORD_PORT: 'tcp://10.0.0.1:50060',
    KV_ACCORD_SERVICE_HOST: '10.0.0.1',
    KV_ACCORD_SERVICE_PORT: '50060',
    KV_ACCORD_SERVICE_PORT_GRPC: '50060',
    KV_ACCORD_PORT_50060_TCP: 'x',
    KV_ACCORD_PORT_50060_TCP_ADDR: 'x',
    KV_ACCORD_AGGREGATOR_PORT_50060_TCP_PROTO: 'tcp',
    KV_ACCORD_AGGREGATOR_SERVICE_HOST: '10.0.0.1',
  };
  expect(warnOfUnknownEnvironment(environment, known)).toEqual([]);
});

test('a variable of the placement of a worker is known, although it is no setting', () => {
  const environment = { KV_ACCORD_ZONE: 'a', KV_ACCORD_NODE_NAME: 'n', KV_ACCORD_GPU_CLIQUE: 'c' };
  expect(warnOfUnknownEnvironment(environment, known)).toEqual([]);
});

test('a thousand unknown variables do not fill the log', () => {
  const environment = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`KV_ACCORD_X${i}`, '1']));
  expect(warnOfUnknownEnvironment(environment, known)).toHaveLength(20);
});
