import { describe, expect, it } from 'vitest';
import { parseDocument, type YAMLMap } from 'yaml';
import { strategicMerge } from '../../../../../src/tools/manifests/lint/kustomize/strategic-merge.js';

/** What `kubectl kustomize` (1.35.4) makes of the same, without the names around it. */
function merged(target: string, patch: string, isKnown = true): unknown {
  const map = parseDocument(target).contents as YAMLMap;
  strategicMerge(map, parseDocument(patch).contents as YAMLMap, isKnown);
  return map.toJSON();
}

const POD = 'containers: [{name: a, image: x, args: [one, two], env: [{name: A, value: "1"}]}, {name: b}]';

describe('a strategic merge', () => {
  it.each([
    [
      'replaces arguments as a whole, and merges containers and variables by name',
      'containers: [{name: a, args: [three], env: [{name: B, value: "2"}, {name: A, value: "3"}]}]',
      {
        containers: [
          {
            name: 'a',
            image: 'x',
            args: ['three'],
            env: [
              { name: 'B', value: '2' },
              { name: 'A', value: '3' },
            ],
          },
          { name: 'b' },
        ],
      },
    ],
    [
      'puts new containers in front',
      'containers: [{name: c, image: y}]',
      {
        containers: [
          { name: 'c', image: 'y' },
          { name: 'a', image: 'x', args: ['one', 'two'], env: [{ name: 'A', value: '1' }] },
          { name: 'b' },
        ],
      },
    ],
    [
      'removes what is null, and what it says to delete',
      'containers: [{name: a, args: null, env: [{name: A, $patch: delete}]}, {name: b, $patch: delete}]',
      { containers: [{ name: 'a', image: 'x', env: [] }] },
    ],
    [
      'replaces a list where an item says so',
      'containers: [{$patch: replace}, {name: z}]',
      { containers: [{ name: 'z' }] },
    ],
  ])('%s', (_name, patch, expected) => {
    expect(merged(POD, patch)).toEqual(expected);
  });

  it('replaces every list of a kind that Kubernetes does not know', () => {
    expect(merged(POD, 'containers: [{name: a, args: [three]}]', false)).toEqual({
      containers: [{ name: 'a', args: ['three'] }],
    });
  });
});
