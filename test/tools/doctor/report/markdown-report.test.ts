import fc from 'fast-check';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { expect, it } from 'vitest';
import { renderReport } from '../../../../src/tools/doctor/report/render-report.js';
import { propertyRuns } from '../../../support/property-runs.js';
import { mismatch, mismatchEvidence, reportOptions } from '../support/diagnoses.js';
import { hostileText, speakingOnly } from '../support/hostile.js';

const markdown = reportOptions({ format: 'markdown' });

function kindsOf(node: Nodes): string[] {
  return [node.type, ...('children' in node ? node.children.flatMap(kindsOf) : [])];
}

function headingsOf(text: string): number {
  return kindsOf(fromMarkdown(text)).filter((kind) => kind === 'heading').length;
}

it('gives a ticket the same, with tables and diffs', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), markdown);
  for (const part of [
    '# FINDING: the frontend uses a block size of 16 tokens, and 2 workers use 32\n\nConfidence: certain',
    '**Do this:** Set DYN\\_KV\\_CACHE\\_BLOCK\\_SIZE=32 on the frontend',
    '| worker | worker-0, worker-1 | 32 | seen in events | worker-0.log:1204 and 1 more |',
    '```diff\n--- a/deploy/graph.yaml\n',
    '```sh\nkubectl apply -f deploy/graph.yaml\n```',
    '| 7702713015953616 | 644 |',
  ])
    expect(text).toContain(part);
});

it('keeps secrets to itself', () => {
  expect(renderReport(mismatch(), mismatchEvidence(), markdown)).not.toMatch(
    /hunter2|correct-horse|secret-of-an-edit/,
  );
});

it('takes nothing that others say for Markdown or HTML', () => {
  const headings = headingsOf(renderReport(mismatch(), mismatchEvidence(), markdown));
  fc.assert(
    fc.property(hostileText, (hostile) => {
      const text = renderReport(
        speakingOnly(mismatch(), `x${hostile}`),
        speakingOnly(mismatchEvidence(), `x${hostile}`),
        markdown,
      );
      const kinds = kindsOf(fromMarkdown(text));
      expect(
        kinds.filter((kind) =>
          /^(?:html|link|image|definition|linkReference|imageReference|blockquote)$/.test(kind),
        ),
      ).toEqual([]);
      expect(headingsOf(text)).toBe(headings);
    }),
    { numRuns: propertyRuns(30) },
  );
});
