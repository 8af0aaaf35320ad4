import { describe, expect, it } from 'vitest';
import { readinessChecks } from '../../../src/core/agreement/view/readiness.js';
import { buildCatalogue } from '../../../src/fleet/catalogue/catalogue.js';
import { frontendChecks } from '../../../src/frontend/gateway/readiness.js';
import { TestFleet } from '../../support/fleet.js';

function fleet(urls: Readonly<Record<string, readonly string[]>>): TestFleet {
  const made = new TestFleet();
  made.list(...Object.keys(urls));
  for (const [target, httpUrls] of Object.entries(urls))
    made.report(target, { model: `of-${target}`, serving: { httpUrls } });
  made.advance(10_000);
  return made;
}

function checks(urls: Readonly<Record<string, readonly string[]>>): string[] {
  const view = fleet(urls).view();
  return frontendChecks(readinessChecks(view), buildCatalogue(view, new Map())).map(
    ({ name, ok }) => `${ok ? '+' : '-'}${name}`,
  );
}

describe('a frontend', () => {
  it('is ready when a model can be served', () => {
    expect(checks({ a: ['http://a:8000'] })).toEqual(['+gate:of-a']);
  });

  it('is not ready when no address of any worker is known, although the gate is open', () => {
    expect(checks({ a: [] })).toEqual(['+gate:of-a', '-workers:of-a']);
  });

  it('is ready while another model can be served, and says which cannot', () => {
    expect(checks({ a: [], b: ['http://b:8000'] })).toEqual(['+gate:of-a', '+gate:of-b', '+workers:of-a']);
  });
});
