import { describe, expect, it } from 'vitest';
import type { Catalogue } from '../../../../src/fleet/catalogue/catalogue.js';
import { EndpointDirectory } from '../../../../src/frontend/picker/endpoints/endpoint-directory.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { workerAt } from '../picker-harness.js';

function catalogueOf(...urls: readonly string[]): Catalogue {
  const workers = urls.map((baseUrl, at) => workerAt(at, { target: `w-${at}`, baseUrl }));
  const group = { group: 'tiny', isReady: true, reasons: [], epoch: 1, tokensPerBlock: 32, workers };
  return { models: [], groups: [group], reasons: [] };
}

function directory(addresses: Record<string, readonly string[] | Error>) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const resolver = {
    lookupAll: async (host: string) => {
      const found = addresses[host] ?? new Error('ENOTFOUND');
      if (found instanceof Error) throw found;
      return found;
    },
  };
  return { clock, logger, addresses, made: new EndpointDirectory({ clock, logger, resolver }) };
}

describe('the endpoints of workers', () => {
  it('are IP addresses with their ports, in both directions', () => {
    const { made } = directory({});
    made.update(catalogueOf('http://10.0.0.1:8000', 'https://[fd00::1]', 'http://10.0.0.3'), new Map());
    expect([0, 1, 2].map((at) => made.book.find(`w-${at}`, 0))).toEqual([
      '10.0.0.1:8000',
      '[fd00::1]:443',
      '10.0.0.3:80',
    ]);
    expect(made.book.at('[fd00::1]:443')?.target).toBe('w-1');
    expect(made.book.othersThan(new Set(['10.0.0.1:8000']))).toEqual(['w-1', 'w-2']);
    made.close();
  });

  it('are looked up where a host has a name, IPv4 first, and again every 30 s', async () => {
    const { made, clock, addresses } = directory({ engine: ['fd00::7', '10.0.0.7'] });
    made.update(catalogueOf('http://engine:8000'), new Map());
    await clock.advanceMs(0);
    expect(made.book.find('w-0', 0)).toBe('10.0.0.7:8000');
    addresses['engine'] = ['10.0.0.8'];
    await clock.advanceMs(30_000);
    expect(made.book.find('w-0', 0)).toBe('10.0.0.8:8000');
    addresses['engine'] = new Error('EAI_AGAIN');
    await clock.advanceMs(30_000);
    expect(made.book.find('w-0', 0)).toBe('10.0.0.8:8000');
    made.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('are none where a name cannot be looked up, which is logged once', async () => {
    const { made, clock, logger } = directory({});
    made.update(catalogueOf('http://nowhere:8000'), new Map());
    await clock.advanceMs(60_000);
    expect(made.book.find('w-0', 0)).toBeUndefined();
    expect(logger.lines.filter(({ message }) => message.includes('nowhere')).length).toBe(1);
    made.close();
  });

  it('are forgotten with their host, whose failure is logged again when it is back', async () => {
    const { made, clock, logger } = directory({});
    for (const url of ['http://nowhere:8000', 'http://10.0.0.1:8000', 'http://nowhere:8000']) {
      made.update(catalogueOf(url), new Map());
      await clock.advanceMs(0);
    }
    expect(logger.lines.filter(({ message }) => message.includes('nowhere')).length).toBe(2);
    made.close();
  });
});
