import fc from 'fast-check';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { expect, it } from 'vitest';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { renderReport } from '../../../../src/tools/doctor/report/render-report.js';
import { healthy, mismatch, mismatchEvidence, reportOptions } from '../support/diagnoses.js';
import { hostileText, speakingOnly } from '../support/hostile.js';

const page = reportOptions({ format: 'html' });

/** Attributes of the page, none of which loads, runs or leads anywhere. */
const ATTRIBUTES = new Set([
  'aria-label',
  'charset',
  'class',
  'content',
  'd',
  'datetime',
  'height',
  'http-equiv',
  'lang',
  'name',
  'role',
  'rx',
  'scope',
  'viewBox',
  'width',
  'x',
  'y',
]);

interface Shape {
  readonly tags: readonly string[];
  readonly attributes: ReadonlySet<string>;
}

/** The page is well-formed XML besides, so that a parser of XML can look at it. */
function shapeOf(text: string): Shape {
  const xml = text.replace('<!doctype html>\n', '');
  expect(XMLValidator.validate(xml)).toBe(true);
  const tags: string[] = [];
  const attributes = new Set<string>();
  const visit = (nodes: readonly Record<string, unknown>[]): void => {
    for (const node of nodes)
      for (const [name, value] of Object.entries(node)) {
        if (name === ':@') for (const attribute of Object.keys(value as object)) attributes.add(attribute);
        else if (name !== '#text') {
          tags.push(name);
          visit(value as Record<string, unknown>[]);
        }
      }
  };
  visit(
    new XMLParser({
      preserveOrder: true,
      ignoreAttributes: false,
      attributeNamePrefix: '',
      processEntities: false,
    }).parse(xml),
  );
  return { tags, attributes };
}

const asItIs = shapeOf(renderReport(mismatch(), mismatchEvidence(), page));

it('is one page that needs nothing but itself', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), page);
  expect(text).toContain('content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;');
  expect(text).not.toMatch(/url\(|@import|<script|<link|<iframe|<img|<object|\shref=|\ssrc=/i);
  expect([...asItIs.attributes].filter((attribute) => !ATTRIBUTES.has(attribute))).toEqual([]);
});

it('has a plot of each kind, each with a text for readers who cannot see it, and its numbers', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), page);
  for (const label of [
    'Tokens per block on every side: frontend Frontend: 16; worker worker-0, worker-1: 32',
    'Decisions per worker: 7702713015953616 644, 4467334888485367 560',
    'One GPU of worker-0: weights and everything else 56 GiB, KV blocks of running sequences (167% of all) 24 GiB',
    'Parent block not found: at most 97 in 10 s',
    'Cached blocks per decision: at most 0.0',
  ])
    expect(text).toContain(`role="img" aria-label="${label}`);
  const { tags } = asItIs;
  expect(tags.filter((tag) => tag === 'title')).toHaveLength(tags.filter((tag) => tag === 'svg').length + 1);
  expect(tags.filter((tag) => tag === 'table').length).toBeGreaterThan(5);
});

it('leaves out what was not seen', () => {
  const { tags } = shapeOf(renderReport(healthy(), joinEvidence([]), page));
  expect(tags).not.toContain('svg');
});

it('keeps secrets to itself', () => {
  expect(renderReport(mismatch(), mismatchEvidence(), page)).not.toMatch(
    /hunter2|correct-horse|secret-of-an-edit/,
  );
});

it('takes nothing that others say for HTML', () => {
  fc.assert(
    fc.property(hostileText, (hostile) => {
      const text = renderReport(
        speakingOnly(mismatch(), hostile),
        speakingOnly(mismatchEvidence(), hostile),
        page,
      );
      const { tags, attributes } = shapeOf(text);
      expect(tags.filter((tag) => !asItIs.tags.includes(tag))).toEqual([]);
      expect([...attributes].filter((attribute) => !ATTRIBUTES.has(attribute))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
