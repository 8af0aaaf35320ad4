import { describe, expect, it } from 'vitest';
import { type Document, isScalar, visit } from 'yaml';
import { lintTexts } from '../../../src/tools/manifests/lint/lint-texts.js';
import { readObjects } from '../../../src/tools/manifests/read-pod-sites.js';
import { readSourceFile, type SourceFile } from '../../../src/tools/manifests/source-file.js';
import { readSourceParts } from '../../../src/tools/manifests/source-parts.js';

const LONG = '# '.padEnd(2_000, 'x');

function objectText(index: number): string {
  return `apiVersion: v1
kind: ConfigMap
metadata: {name: c${index}}   # a comment
${LONG}
data:
  script: |
    echo one
    --- two
    - three
  other: "a
    --- b"
`;
}

/** The scalars of a file with their places. */
function scalarsOf(documents: readonly Document.Parsed[]): readonly string[] {
  const found: string[] = [];
  for (const document of documents)
    visit(document, {
      Scalar(_key, node) {
        if (isScalar(node) && node.range) found.push(`${node.range.join('-')} ${String(node.value)}`);
      },
    });
  return found;
}

const read = (text: string): readonly SourceFile[] => [...readSourceParts('x.yaml', text)];

describe('a large file', () => {
  const objects = Array.from({ length: 600 }, (_, index) => objectText(index));

  it.each([
    ['lines that end in LF', (text: string) => text],
    ['lines that end in CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['a comment in front and a separator at its end', (text: string) => `# all\n---\n${text}---\n`],
  ])('of documents reads in parts as it reads whole, with %s', (_, change) => {
    const text = change(objects.join('---\n'));
    const parts = read(text);
    expect(parts.length).toBeGreaterThan(3);
    expect(scalarsOf(parts.flatMap(({ documents }) => documents))).toEqual(
      scalarsOf(readSourceFile('x.yaml', text).documents),
    );
  });

  it.each(['', '  '])('of items of a list reads in parts, with the list indented by "%s"', (indent) => {
    const items = objects.map((one) =>
      one.replace(/^/gm, `${indent}  `).replace(`${indent}  `, `${indent}- `).trimEnd(),
    );
    const text = `apiVersion: v1\nitems:\n${items.join('\n')}\nkind: List\nmetadata: {resourceVersion: ""}\n`;
    const parts = read(text);
    expect(parts.length).toBeGreaterThan(3);
    const placesOf = (file: SourceFile): readonly string[] =>
      readObjects(file).map(
        ({ access, object }) =>
          `${object.range?.[0]} ${access.text(access.map(object, 'metadata'), 'name')?.value}`,
      );
    expect(parts.flatMap(placesOf)).toEqual(placesOf(readSourceFile('x.yaml', text)));
  });

  it('of a list with an alias from one item into another is read whole', () => {
    const items = objects.map((one) => one.replace(/^/gm, '  ').replace('  ', '- ').trimEnd());
    const text = `apiVersion: v1\nkind: List\nitems:\n${items.join('\n')}\n- *other\n`;
    expect(read(text)).toHaveLength(1);
  });

  it('with a broken document names its place, and reads the others', () => {
    const text = [...objects.slice(0, 300), 'a: [1,\nb: }\n', ...objects.slice(300)].join('---\n');
    const parts = read(text);
    expect(parts.flatMap(({ problems }) => problems.map(({ line }) => line))[0]).toBeGreaterThan(300 * 11);
    expect(parts.flatMap(({ documents }) => documents)).toHaveLength(600);
  });

  it('has its findings where they are', () => {
    const graph = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Router:
      extraPodSpec: {mainContainer: {image: i, command: [python3, -m, dynamo.router], args: [--endpoint, a.b.c]}}
    Worker:
      extraPodSpec: {mainContainer: {image: i, command: [python3, -m, dynamo.vllm], args: [--block-size, "64"]}}
`;
    const text = [...objects, graph].join('---\n');
    const found = lintTexts([{ file: 'x.yaml', text }]);
    expect(found.map(({ ruleId, line }) => [ruleId, line])).toEqual(
      lintTexts([{ file: 'x.yaml', text: graph }]).map(({ ruleId, line }) => [
        ruleId,
        line + text.slice(0, text.indexOf('apiVersion: nvidia')).split('\n').length - 1,
      ]),
    );
    expect(found.length).toBeGreaterThan(0);
  });
});
