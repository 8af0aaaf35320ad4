import { describe, expect, it } from 'vitest';
import { found, inspect, router, vllm } from '../support.js';

/** A router and a worker too far apart to be taken for one deployment by their places alone. */
const FILES = { 'a/b/c/router.yaml': router(16), 'd/e/f/worker.yaml': vllm(64) };
const ROUTER = 'kubectl apply -f a/b/c/router.yaml\n';
const WORKER = 'kubectl apply -f d/e/f/worker.yaml\n';
const MISMATCH = ['block-size-mismatch a/b/c/router.yaml:10 error'];

describe('files that a script applies one after the other', () => {
  it('serve together wherever they stand', () => {
    expect(found(FILES)).toEqual([]);
    expect(found({ ...FILES, 'x.sh': `${ROUTER}${WORKER}` })).toEqual(MISMATCH);
  });

  it.each([
    ['one command names both', 'kubectl -n a apply -f a/b/c/router.yaml -f d/e/f/worker.yaml\n'],
    ['a function applies them', `f() {\n  oc apply -f "$1"\n}\nf a/b/c/router.yaml\n${WORKER}`],
    ['the script goes to their folder', `cd a/b/c\nkubectl create -f router.yaml\ncd -\n${WORKER}`],
    ['a here-document comes with them', `cat <<EOF | kubectl apply -f -\n${router(16)}EOF\n${WORKER}`],
  ])('are read where %s', (_, script) => {
    expect(found({ ...FILES, 'x.sh': script })).toHaveLength(1);
  });

  it('are found from a script that stands in a folder of its own', () => {
    expect(found({ ...FILES, 'scripts/x.sh': `cd "$(dirname "$0")/.."\n${ROUTER}${WORKER}` })).toEqual(
      MISMATCH,
    );
    expect(found({ ...FILES, 'scripts/x.sh': `${ROUTER}${WORKER}` })).toEqual(MISMATCH);
  });

  it.each([
    ['only one of two branches applies each', `if a; then\n${ROUTER}else\n${WORKER}fi\n`],
    ['one is gone before the other comes', `${ROUTER}kubectl delete -f a/b/c/router.yaml\n${WORKER}`],
    [
      'their namespaces differ',
      'kubectl -n a apply -f a/b/c/router.yaml\nkubectl -n b apply -f d/e/f/worker.yaml\n',
    ],
    ['a patch follows', `${ROUTER}${WORKER}kubectl patch deployment worker -p '{}'\n`],
    ['it is tried alone', `${ROUTER}${WORKER.replace('apply', 'apply --dry-run=client')}`],
    ['a name is known only at run time', `${ROUTER}kubectl apply -f d/e/f/$NAME.yaml\n`],
    ['only one is applied', ROUTER],
  ])('are no fault where %s', (_, script) => {
    expect(found({ ...FILES, 'x.sh': script })).toEqual([]);
  });

  it('are apart where each has a router and workers of its own', () => {
    const files = {
      'a/b/c/one.yaml': `${router(16)}${vllm(16)}`,
      'd/e/f/two.yaml': `${router(64)}${vllm(64)}`,
    };
    const script = 'kubectl apply -f a/b/c/one.yaml\nkubectl apply -f d/e/f/two.yaml\n';
    expect(found({ ...files, 'x.sh': script })).toEqual([]);
  });

  it('are looked at by themselves alone where they are larger than any deployment', () => {
    const script = `${ROUTER}${WORKER}`;
    const padded = (length: number): string => `${vllm(64)}# ${'x'.repeat(length)}\n`;
    expect(found({ ...FILES, 'd/e/f/worker.yaml': padded(200_000), 'x.sh': script })).toEqual(MISMATCH);
    expect(found({ ...FILES, 'd/e/f/worker.yaml': padded(300_000), 'x.sh': script })).toEqual([]);
  });

  it('take the place of objects that have their names', () => {
    const files = { ...FILES, 'g/h/i/router.yaml': router(64) };
    const script = `${ROUTER}kubectl apply -f g/h/i/router.yaml\n${WORKER}`;
    expect(found({ ...files, 'x.sh': script })).toEqual([]);
  });

  it('are named once where nothing is compared with them', () => {
    const files = { 'a/b/c/one.yaml': vllm(16, 'one'), 'd/e/f/two.yaml': vllm(64, 'two') };
    const script = 'kubectl apply -f a/b/c/one.yaml\nkubectl apply -f d/e/f/two.yaml\n';
    expect(inspect({ ...files, 'x.sh': script }).notChecked).toEqual(inspect(files).notChecked);
  });
});
