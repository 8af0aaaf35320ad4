import { describe, expect, it } from 'vitest';
import { deployment, found, inspect } from '../support.js';

const worker = deployment('w', 'command: [vllm, serve, m, --block-size, "16"]');

describe('a kustomization that kubectl refuses', () => {
  it('names a file outside of its folder', () => {
    const files = { 'k/kustomization.yaml': 'resources:\n- ../worker.yaml\n', 'worker.yaml': worker };
    expect(found(files)).toEqual(['kustomization-refused k/kustomization.yaml:2 note']);
    expect(inspect(files).findings[0]?.message).toContain('../worker.yaml, a file outside of its own folder');
    // A script builds it in another way.
    const script = 'kustomize build --load-restrictor LoadRestrictionsNone k | kubectl apply -f -\n';
    expect(found({ ...files, 'deploy.sh': script })).toEqual([]);
  });

  it('has an object twice: from a file and a base, or from one file', () => {
    const base = { 'base/kustomization.yaml': 'resources: [worker.yaml]\n', 'base/worker.yaml': worker };
    const twice = (resources: string): readonly string[] =>
      found({ ...base, 'k/worker.yaml': worker, 'k/kustomization.yaml': `resources:\n${resources}` });
    expect(twice('- ../base\n- worker.yaml\n')).toEqual([
      'kustomization-refused k/kustomization.yaml:3 note',
    ]);
    expect(twice('- worker.yaml\n- worker.yaml\n')).toEqual([
      'kustomization-refused k/kustomization.yaml:3 note',
    ]);
    expect(twice('- ../base\n')).toEqual([]);
  });

  it('is none where bases and files are in their places, and objects in namespaces or under prefixes of their own', () => {
    const base = { 'base/kustomization.yaml': 'resources: [worker.yaml]\n', 'base/worker.yaml': worker };
    const variant = (more: string): string => `resources: [../../base]\n${more}`;
    expect(
      found({
        ...base,
        'v/a/kustomization.yaml': variant('namespace: a\n'),
        'v/b/kustomization.yaml': variant('namespace: b\n'),
        'v/c/kustomization.yaml': variant('namePrefix: c-\n'),
        'v/kustomization.yaml': 'resources: [a, b, c, sub/more.yaml]\n',
        'v/sub/more.yaml': deployment('other', 'command: [vllm, serve, m]'),
      }),
    ).toEqual([]);
  });

  it('that starts nothing of engines is nothing to say of', () => {
    expect(
      found({
        'k/kustomization.yaml': 'resources: [../n.yaml]\n',
        'n.yaml': deployment('n', 'command: [nginx]'),
      }),
    ).toEqual([]);
  });
});
