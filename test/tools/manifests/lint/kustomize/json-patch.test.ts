import { describe, expect, it } from 'vitest';
import { parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { applyJsonPatch } from '../../../../../src/tools/manifests/lint/kustomize/json-patch.js';
import { YamlAccess } from '../../../../../src/tools/manifests/yaml-access.js';

const OBJECT = 'args: [a, b]\nlabels: {x/y: "1"}\n';

function patched(steps: string): unknown {
  const map = parseDocument(OBJECT).contents as YAMLMap;
  const document = parseDocument(steps);
  const isApplied = applyJsonPatch(
    map,
    document.contents as YAMLSeq,
    new YamlAccess(document as ConstructorParameters<typeof YamlAccess>[0]),
  );
  return isApplied ? map.toJSON() : 'refused';
}

describe('a JSON patch', () => {
  it.each([
    ['adds to the end of a list', '[{op: add, path: /args/-, value: c}]', ['a', 'b', 'c']],
    ['adds in front of an item', '[{op: add, path: /args/1, value: c}]', ['a', 'c', 'b']],
    ['replaces an item', '[{op: replace, path: /args/0, value: c}]', ['c', 'b']],
    ['removes an item', '[{op: remove, path: /args/0}]', ['b']],
    ['moves an item', '[{op: move, from: /args/0, path: /args/1}]', ['b', 'a']],
    ['copies an item', '[{op: copy, from: /args/0, path: /args/-}]', ['a', 'b', 'a']],
  ])('%s', (_name, steps, args) => {
    expect(patched(steps)).toMatchObject({ args });
  });

  it('reads escaped keys', () => {
    expect(patched('[{op: replace, path: /labels/x~1y, value: "2"}]')).toMatchObject({
      labels: { 'x/y': '2' },
    });
  });

  it.each([
    '[{op: replace, path: /args/7, value: c}]',
    '[{op: remove, path: /absent}]',
    '[{op: add, path: /absent/x, value: 1}]',
    '[{op: unheard, path: /args}]',
    '[{op: add, path: args, value: 1}]',
  ])('is refused where a step does not fit: %s', (steps) => {
    expect(patched(steps)).toBe('refused');
  });
});
