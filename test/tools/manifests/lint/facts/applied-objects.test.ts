import { describe, expect, it } from 'vitest';
import { deployment, found, inspect, router, vllm } from '../support.js';

/** A here-document that kubectl applies. */
function applied(text: string, command = 'kubectl apply -f - <<EOF'): string {
  return `${command}\n${text}EOF\n`;
}

const MISMATCH = /^block-size-mismatch x\.sh:\d+ error$/;

describe('what a script applies', () => {
  it.each([
    ['here-documents of kubectl', `${applied(router(16))}${applied(vllm(64))}`],
    ['a document by a pipe', `cat <<EOF | kubectl apply -n a -f -\n${router(16)}${vllm(64)}EOF\n`],
    ['one that tee passes on', `cat <<EOF | tee x.yaml | oc apply -f -\n${router(16)}${vllm(64)}EOF\n`],
    ['files that it writes', `cat > k/x.yaml <<'EOF'\n${router(16)}${vllm(64)}EOF\nkubectl apply -f k/\n`],
    ['a function', `f() {\n${applied(vllm('$1'))}}\nf 64\n${applied(router(16))}`],
    ['a variable that is known', `SIZE=64\n${applied(`${router(16)}${vllm('$SIZE')}`)}`],
    ['names that are not known', applied(`${router(16)}${vllm(64, '$' + '{NAME}')}`)],
    ['other line ends', applied(`${router(16)}${vllm(64)}`).replace(/\n/g, '\r\n')],
  ])('is read of %s', (_, script) => {
    expect(found({ 'x.sh': script })).toEqual([expect.stringMatching(MISMATCH)]);
  });

  it('is read where a patch changes another object, or comes before it', () => {
    const both = `${applied(router(16))}${applied(vllm(64))}`;
    expect(found({ 'x.sh': `${both}kubectl patch deployment other -p '{}'\n` })).toHaveLength(1);
    expect(found({ 'x.sh': `kubectl patch deployment worker -p '{}'\n${both}` })).toHaveLength(1);
  });

  it('has its places in the script, and no fix', () => {
    const [one] = inspect({ 'x.sh': `#!/bin/bash\n${applied(`${router(16)}${vllm(64)}`)}` }).findings;
    expect(one).toMatchObject({ file: 'x.sh', line: 12 });
    expect(one?.fix).toBeUndefined();
    expect(one?.related?.every(({ file, line }) => file === 'x.sh' && line > 12)).toBe(true);
  });

  it.each([
    ['sizes are one', applied(`${router(64)}${vllm(64)}`)],
    ['a size is known only at run time', applied(`${router('$' + '{A}')}${vllm(64)}`)],
    ['two are not known', applied(`${router('$' + '{A}')}${vllm('$' + '{B}')}`)],
    [
      'only one of two branches applies each',
      `if a; then\n${applied(router(16))}else\n${applied(vllm(64))}fi\n`,
    ],
    [
      'namespaces differ',
      `${applied(router(16), 'kubectl -n a apply -f - <<EOF')}${applied(vllm(64), 'kubectl -n b apply -f - <<EOF')}`,
    ],
    [
      'namespaces are not known',
      `${applied(router(16), 'kubectl -n $A apply -f - <<EOF')}${applied(vllm(64), 'kubectl -n $B apply -f - <<EOF')}`,
    ],
    [
      'one is gone before the other comes',
      `${applied(router(16))}kubectl delete deploy router\n${applied(vllm(64))}`,
    ],
    ['an object takes the place of another', `${applied(router(16))}${applied(`${router(64)}${vllm(64)}`)}`],
    [
      'a patch follows, which may change its size',
      `${applied(router(16))}${applied(vllm(64))}kubectl -n a patch deployment/worker --patch "$(cat <<EOF\nspec: {}\nEOF\n)"\n`,
    ],
    [
      'a variable of it is set later',
      `${applied(router(16))}${applied(vllm(64))}kubectl set env deployment router DYN_ROUTER_BLOCK_SIZE=64\n`,
    ],
    [
      'a patch follows of a name that is not known',
      `${applied(router(16))}${applied(vllm(64))}kubectl patch deployment "$NAME" -p '{}'\n`,
    ],
    ['nothing is applied', applied(`${router(16)}${vllm(64)}`, 'kubectl diff -f - <<EOF')],
    ['it is tried alone', applied(`${router(16)}${vllm(64)}`, 'kubectl apply --dry-run=client -f - <<EOF')],
  ])('is no fault where %s', (_, script) => {
    expect(found({ 'x.sh': script })).toEqual([]);
  });

  it('meets no manifest beside the script, whose own deployment it may not be', () => {
    expect(found({ 'a/x.sh': applied(vllm(64)), 'a/router.yaml': router(16) })).toEqual([]);
  });

  it('is named while something of it is not known as a whole', () => {
    const script = applied(deployment('w', 'command: [vllm, serve, m]\n').replace(/---\n$/, '$MORE\n'));
    expect(inspect({ 'x.sh': script }).notChecked).toMatchObject([
      { program: 'manifests of a script', places: [{ file: 'x.sh', line: 2 }] },
    ]);
  });

  it('has values of charts, unless others win over them', () => {
    const values = `servingEngineSpec:
  modelSpec:
    - name: m
      modelURL: org/m
      hf_token: $HF_TOKEN
routerSpec:
  routingLogic: kvaware
`;
    const install = (more: string): string =>
      `cat > v.yaml <<EOF\n${values}EOF\nhelm install x vllm/vllm-stack -f v.yaml ${more}\n`;
    expect(found({ 'x.sh': install('') })).toEqual(['kvaware-without-lmcache x.sh:5 error']);
    expect(
      found({ 'x.sh': install('--set servingEngineSpec.modelSpec[0].lmcacheConfig.enabled=true') }),
    ).toEqual([]);
    expect(found({ 'x.sh': install('-f other.yaml') })).toEqual([]);
    expect(
      found({
        'x.sh': install('').replace(
          'modelURL: org/m',
          'modelURL: org/m\n      lmcacheConfig: {enabled: $A, enableController: true}',
        ),
      }),
    ).toEqual([]);
  });
});

describe('a script of its own', () => {
  const worker = 'python3 -m dynamo.vllm --model m --block-size 64';

  it('is read where the script that writes it starts it', () => {
    const script = (start: string): string =>
      `python3 -m dynamo.router --block-size 16 &\ncat > run.sh <<'X'\n#!/bin/bash\n${worker}\nX\n${start}\n`;
    for (const start of ['bash run.sh &', './run.sh', 'exec bash -x run.sh'])
      expect(found({ 'x.sh': script(start) })).toEqual(['block-size-mismatch x.sh:1 error']);
    expect(found({ 'x.sh': script('scp run.sh other:') })).toEqual([]);
  });

  it('has the arguments with which it is started', () => {
    const script = (start: string): string =>
      `cat > run.sh <<'X'\npython3 -m dynamo.router --block-size \${1:-16}\nX\n${start} &\n${worker}\n`;
    expect(found({ 'x.sh': script('bash run.sh 64') })).toEqual([]);
    expect(found({ 'x.sh': script('./run.sh "$SIZE"') })).toEqual([]);
    expect(found({ 'x.sh': script('./run.sh $ARGS') })).toEqual([]);
    expect(found({ 'x.sh': script('bash run.sh') })).toEqual(['block-size-mismatch x.sh:2 error']);
    expect(found({ 'x.sh': script('bash run.sh 32') })).toHaveLength(1);
  });

  it('is read in a ConfigMap, for the container that mounts it', () => {
    const map = (size: number): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  start.sh: |
    exec python3 -m dynamo.vllm --model m --block-size ${size}
---
`;
    const pod = deployment(
      'worker',
      'command: [bash, /scripts/start.sh]\nvolumeMounts: [{name: s, mountPath: /scripts}]\n',
      '      volumes: [{name: s, configMap: {name: scripts}}]\n',
    );
    expect(found({ 'x.yaml': `${map(64)}${pod}${router(16)}` })).toEqual([
      expect.stringMatching(/^block-size-mismatch x\.yaml:\d+ error$/),
    ]);
    expect(found({ 'x.yaml': `${map(16)}${pod}${router(16)}` })).toEqual([]);
  });
});
