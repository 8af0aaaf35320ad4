import { describe, expect, test } from 'vitest';
import { isLoopback, parseAddress } from '../../../src/edge/platform/address.js';

describe('an address', () => {
  test.each([
    ['127.0.0.1:50061', { type: 'tcp', host: '127.0.0.1', port: 50061, text: '127.0.0.1:50061' }],
    ['workers.llm.svc:0', { type: 'tcp', host: 'workers.llm.svc', port: 0, text: 'workers.llm.svc:0' }],
    ['[::1]:65535', { type: 'tcp', host: '::1', port: 65535, text: '[::1]:65535' }],
    ['[fe80::1%eth0]:1', { type: 'tcp', host: 'fe80::1%eth0', port: 1, text: '[fe80::1%eth0]:1' }],
    ['unix:/run/kv.sock', { type: 'unix', path: '/run/kv.sock', text: 'unix:/run/kv.sock' }],
    ['unix:///run/kv.sock', { type: 'unix', path: '/run/kv.sock', text: 'unix:/run/kv.sock' }],
  ])('reads %s', (text, expected) => {
    expect(parseAddress(text)).toEqual(expected);
  });

  test.each([
    '',
    'host',
    ':80',
    'host:',
    'host:65536',
    'host:-1',
    'host:1e3',
    '::1:80',
    '[127.0.0.1]:80',
    'http://h:1',
    'a b:1',
    'h:1\n',
    'unix:',
    'unix:relative',
    'unix:/folder/',
    `unix:/${'x'.repeat(107)}`,
    `${'x'.repeat(254)}:1`,
  ])('does not read %j', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  test.each([
    ['127.0.0.1:1', true],
    ['127.9.9.9:1', true],
    ['localhost:1', true],
    ['[::1]:1', true],
    ['unix:/a', true],
    ['0.0.0.0:1', false],
    ['[::]:1', false],
    ['127.0.0.1.example.com:1', false],
    ['worker:1', false],
  ])('%s is for this machine alone: %s', (text, expected) => {
    const address = parseAddress(text);
    expect(address && isLoopback(address)).toBe(expected);
  });
});
