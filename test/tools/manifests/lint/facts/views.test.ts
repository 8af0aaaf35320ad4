import { describe, expect, it } from 'vitest';
import { deployment, found, router, vllm } from '../support.js';

const MISMATCH = (file: string): string => `block-size-mismatch ${file}:10 error`;

describe('workloads of a repository', () => {
  it('meet in one file', () => {
    expect(found({ 'a.yaml': router(16) + vllm(64) })).toEqual([MISMATCH('a.yaml')]);
  });

  it('meet in the files of one folder, when each has one half', () => {
    expect(found({ 'x/router.yaml': router(16), 'x/worker.yaml': vllm(64) })).toEqual([
      MISMATCH('x/router.yaml'),
    ]);
  });

  it('meet in folders beside each other, when each has one half', () => {
    expect(found({ 'x/router/a.yaml': router(16), 'x/worker/a.yaml': vllm(64) })).toEqual([
      MISMATCH('x/router/a.yaml'),
    ]);
  });

  it('of two examples that are whole never meet, in one folder or in two', () => {
    const small = router(16) + vllm(16);
    const large = router(64) + vllm(64);
    expect(found({ 'x/a.yaml': small, 'x/b.yaml': large })).toEqual([]);
    expect(found({ 'x/a.yaml': small, 'y/a.yaml': large })).toEqual([]);
  });

  it('of one name in two files are variants', () => {
    expect(
      found({ 'x/router.yaml': router(16), 'x/small.yaml': vllm(16), 'x/large.yaml': vllm(64) }),
    ).toEqual([]);
  });

  it('beside several routers of one kind are compared with none', () => {
    expect(
      found({ 'x/a/router.yaml': router(16), 'x/b/router.yaml': router(32), 'x/c/worker.yaml': vllm(64) }),
    ).toEqual([]);
  });

  it('far from each other never meet', () => {
    expect(found({ 'a/b/c/d/router.yaml': router(16), 'e/f/g/h/worker.yaml': vllm(64) })).toEqual([]);
  });

  it('of a cluster are one deployment', () => {
    expect(
      found({ 'cluster:Deployment/a/router': router(16), 'cluster:Deployment/a/worker': vllm(64) }),
    ).toHaveLength(1);
  });
});

describe('kustomizations', () => {
  const kustomization = (text: string): string =>
    `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n${text}`;

  it('put their files together, wherever these are', () => {
    expect(
      found({
        'all/kustomization.yaml': kustomization('resources: [../a/b/c/router.yaml, ../x/y/z/worker.yaml]\n'),
        'a/b/c/router.yaml': router(16),
        'x/y/z/worker.yaml': vllm(64),
        'deploy.sh': 'kustomize build --load-restrictor LoadRestrictionsNone all\n',
      }),
    ).toEqual([MISMATCH('a/b/c/router.yaml')]);
  });

  it('make variants with their patches, which never meet', () => {
    const patch = (tokens: number, seed: number): string =>
      deployment(
        'worker',
        `command: [vllm, serve, m, --block-size, "${tokens}", --kv-events-config, "{}"]\nenv: [{name: PYTHONHASHSEED, value: "${seed}"}]`,
      );
    const overlay = kustomization('resources: [../../base]\npatches: [{path: patch.yaml}]\n');
    expect(
      found({
        'base/kustomization.yaml': kustomization('resources: [worker.yaml]\n'),
        'base/worker.yaml': vllm(16),
        'overlays/a/kustomization.yaml': overlay,
        'overlays/a/patch.yaml': patch(32, 1),
        'overlays/b/kustomization.yaml': overlay,
        'overlays/b/patch.yaml': patch(64, 2),
      }),
    ).toEqual([]);
  });

  it('that change their resources are looked at as they change them', () => {
    expect(
      found({
        'x/kustomization.yaml': kustomization(
          'resources: [router.yaml, worker.yaml]\npatches: [{patch: "[]"}]\n',
        ),
        'x/router.yaml': router(16),
        'x/worker.yaml': vllm(64),
      }),
    ).toEqual([MISMATCH('x/router.yaml')]);
  });

  it('that build on each other in a circle are read all the same', () => {
    expect(
      found({
        'a/kustomization.yaml': kustomization('resources: [../b, router.yaml]\n'),
        'b/kustomization.yaml': kustomization('resources: [../a, worker.yaml]\n'),
        'a/router.yaml': router(16),
        'b/worker.yaml': vllm(64),
      }),
    ).toEqual([]);
  });
});
