import * as fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { LeanHistogram } from '../../../../src/edge/platform/metrics/histogram.js';

const ABOUT = { name: 'took_seconds', help: 'What it took.', buckets: [0.1, 1, 2.5] };

/** Bounds themselves, and what is between and beyond them. */
const values = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom(0, 0.1, 1, 2.5), fc.double({ min: 0, max: 5, noNaN: true })),
    fc.boolean(),
  ),
);

/** What other processes receive. */
async function readAsObjects(registry: Registry): Promise<unknown> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as { values: { exemplar?: unknown }[] }[];
  return metrics.map(({ values, ...about }) => ({
    ...about,
    values: values.map(({ exemplar: _, ...value }) => value),
  }));
}

describe('a lean histogram', () => {
  it("is read as the library's own is, with a label", async () => {
    await fc.assert(
      fc.asyncProperty(values, async (all) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const lean = new LeanHistogram(ours, { ...ABOUT, label: 'group' });
        const whole = new Histogram({ ...ABOUT, labelNames: ['group'], registers: [theirs] });
        for (const [value, isFirst] of all) {
          const group = isFirst ? 'a "b"' : 'c';
          lean.observe(value, group);
          whole.observe({ group }, value);
        }
        expect(await ours.metrics()).toBe(await theirs.metrics());
        expect(await readAsObjects(ours)).toEqual(await readAsObjects(theirs));
        lean.remove('c');
        whole.remove({ group: 'c' });
        expect(await ours.metrics()).toBe(await theirs.metrics());
      }),
      { numRuns: 50 },
    );
  });

  it("is read as the library's own is, without one, before and after its first value", async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const lean = new LeanHistogram(ours, ABOUT);
    const whole = new Histogram({ ...ABOUT, registers: [theirs] });
    expect(await ours.metrics()).toBe(await theirs.metrics());
    for (const value of [0.05, 1, 7]) {
      lean.observe(value);
      whole.observe(value);
    }
    for (const contentType of [Registry.PROMETHEUS_CONTENT_TYPE, Registry.OPENMETRICS_CONTENT_TYPE]) {
      for (const registry of [ours, theirs]) registry.setContentType(contentType as never);
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }
  });

  it('asks for what is to be done before it is read', async () => {
    const registry = new Registry();
    let count = 0;
    const lean: LeanHistogram = new LeanHistogram(registry, {
      ...ABOUT,
      label: 'group',
      collect: () => {
        count += 1;
        lean.remove('gone');
      },
    });
    lean.observe(1, 'gone');
    expect(await registry.metrics()).not.toContain('gone');
    expect(count).toBe(1);
  });
});
