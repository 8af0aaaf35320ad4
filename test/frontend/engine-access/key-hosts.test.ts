import { describe, expect, it } from 'vitest';
import { readKeyHost } from '../../../src/frontend/engine-access/key-host.js';
import { isOnSidecarsHost, KeyHosts } from '../../../src/frontend/engine-access/key-hosts.js';
import { RecordingLogger } from '../../support/recording-logger.js';

describe('an engine is on the host of its sidecar', () => {
  it.each([
    ['10.0.0.5:50061', 'http://10.0.0.5:8000'],
    ['10.0.0.5:50061', 'http://10.0.0.5:9000/engine'],
    ['worker-0.workers:50061', 'https://Worker-0.Workers.:8000'],
    ['[fd00::5]:50061', 'http://[fd00:0:0::5]:8000'],
    ['127.0.0.1:50061', 'http://localhost:8000'],
    ['unix:/run/kv-accord.sock', 'http://127.0.0.1:8000'],
    ['w-1', 'http://127.0.0.1:8000'],
  ])('%s and %s', (target, url) => {
    expect(isOnSidecarsHost({ target }, url)).toBe(true);
  });

  it.each([
    ['10.0.0.5:50061', 'http://10.0.0.6:8000'],
    ['10.0.0.5:50061', 'http://10.0.0.5.attacker.example:8000'],
    ['10.0.0.5:50061', 'http://10.0.0.5@attacker.example:8000'],
    ['10.0.0.5:50061', 'http://127.0.0.1:8000'],
    ['127.0.0.1:50061', 'http://attacker.example'],
    ['unix:/run/kv-accord.sock', 'http://10.0.0.6:8000'],
    ['w-1', 'http://w-1:8000'],
    ['10.0.0.5:50061', 'no URL'],
  ])('but not %s and %s', (target, url) => {
    expect(isOnSidecarsHost({ target }, url)).toBe(false);
  });
});

describe('keys', () => {
  const given = new Map([['10.0.0.5:50061', 'http://lb.example:8000']]);
  const allowed = ['engines.example', '*.Pods.example', '10.1.0.0/16', '10.9.9.9', '[fd00::]/8'];

  it.each([
    ['10.0.0.5:50061', 'http://lb.example:8000', true],
    ['10.0.0.6:50061', 'http://lb.example:8000', false],
    ['10.0.0.6:50061', 'http://ENGINES.example:8000', true],
    ['10.0.0.6:50061', 'http://not-engines.example:8000', false],
    ['10.0.0.6:50061', 'http://a.pods.example:8000', true],
    ['10.0.0.6:50061', 'http://pods.example:8000', false],
    ['10.0.0.6:50061', 'http://apods.example:8000', false],
    ['10.0.0.6:50061', 'http://10.1.255.1:8000', true],
    ['10.0.0.6:50061', 'http://10.2.0.1:8000', false],
    ['10.0.0.6:50061', 'http://10.9.9.9:8000', true],
    ['10.0.0.6:50061', 'http://[fd12::1]:8000', true],
    ['10.0.0.6:50061', 'http://0x0a010001:8000', true],
  ])('for %s at %s: %s', (target, url, may) => {
    expect(
      new KeyHosts({ allowed, given }, { logger: new RecordingLogger() }).mayHaveKeys(
        { target, workerId: 'a' },
        url,
      ),
    ).toBe(may);
  });

  it('that are withheld are logged once for a worker, with what to do', () => {
    const logger = new RecordingLogger();
    const { mayHaveKeys } = new KeyHosts({ allowed: [], given: new Map() }, { logger });
    for (let i = 0; i < 3; i += 1)
      expect(mayHaveKeys({ target: '10.0.0.5:50061', workerId: 'a' }, 'http://10.0.0.6:8000')).toBe(false);
    expect(logger.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn No key is sent to http://10.0.0.6:8000: worker a (10.0.0.5:50061) reports an engine on another host than its own. If it is yours, allow it with --engine-key-hosts 10.0.0.6, or name its URL with --worker-urls.',
    ]);
  });

  it.each([
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    'http://engines',
    'a b',
    '*',
    '*.',
    '300.1.1.1',
    'a..b',
  ])('are not allowed to a host that is written as %j', (text) => {
    expect(readKeyHost(text)).toBeUndefined();
  });
});
