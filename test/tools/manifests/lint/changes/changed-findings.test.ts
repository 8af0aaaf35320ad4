import { describe, expect, it } from 'vitest';
import { found, inspect, router, vllm } from '../support.js';

const FLEET = `${router(16)}${vllm(64)}`;

const PICKER = `inferenceExtension:
  image: {name: llm-d-inference-scheduler, tag: v0.5.0}
  pluginsConfigFile: custom.yaml
  pluginsCustomConfig:
    custom.yaml: |
      apiVersion: inference.networking.x-k8s.io/v1alpha1
      kind: EndpointPickerConfig
      plugins:
      - type: precise-prefix-cache-scorer
        parameters:
          tokenProcessorConfig: {blockSize: 64}
          kvEventsConfig: {topicFilter: "kv@", zmqEndpoint: "tcp://*:5557"}
      schedulingProfiles:
      - name: default
        plugins:
        - pluginRef: precise-prefix-cache-scorer
`;

const SERVICE = `modelArtifacts: {name: Qwen/Qwen3-8B}
decode:
  create: true
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.5.0
    modelCommand: vllmServe
    args: [--block-size=64]
`;

/** The severities of what is found beside a script. */
function beside(
  script: string,
  files: Readonly<Record<string, string>> = { 'a.yaml': FLEET },
): readonly string[] {
  return inspect({ ...files, 'deploy.sh': `#!/bin/bash\n${script}\n` }).findings.map(
    ({ severity }) => severity,
  );
}

describe('a value that a script changes before it is used', () => {
  it.each([
    [`sed -i 's/"64"/"16"/' a.yaml`],
    [`sed -e 's/"64"/"16"/' a.yaml | kubectl apply -f -`],
    [`sed 's/--router-block-size, "16"/--router-block-size, "64"/' < a.yaml | kubectl apply -f -`],
    [`cat a.yaml | sed "s/--block-size, .*/--block-size, 16]/" | kubectl apply -f -`],
    [`kubectl apply -f <(sed -E 's|"(64)"|"16"|g' a.yaml)`],
    [`for f in *.yaml; do\n  sed -i "s/\\"64\\"/\\"$SIZE\\"/" "$f"\ndone`],
    [`sed -i '/dynamo.router/s/"16"/"64"/' ./a.yaml`],
    [`sed -i '/dynamo.router/c\\          command: [python3, -m, dynamo.router]' a.yaml`],
    [`sed -i "/image: /a\\          args: [--block-size, '16']" a.yaml`],
    [`perl -pi -e 's/"64"/"16"/' a.yaml`],
    [`yq -i '(select(.kind == "Deployment") | .spec.template.spec.containers[0].args[1]) = "16"' a.yaml`],
    [
      `yq eval '.spec.template.spec.containers[0].command += ["--block-size=16"]' a.yaml | kubectl apply -f -`,
    ],
    [
      `kubectl patch deployment worker --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/args","value":[]}]'`,
    ],
    [`kubectl -n x patch deploy/router -p "$PATCH"`],
    [`kubectl patch deployment worker --patch-file p.yaml`],
    [`kubectl set env deployment/router DYN_ROUTER_BLOCK_SIZE=64`],
    [`adapt() {\n  sudo sed -i 's/"64"/"16"/' a.yaml\n}`],
    [`if [ -n "$SMALL" ]; then sed -i 's/"64"/"16"/' "$(dirname "$0")/a.yaml"; fi`],
    [`cat a.yaml |\n  envsubst |\n  sed 's/"64"/"16"/' |\n  kubectl apply -f -`],
    [`NEW=\`sed 's/"64"/"16"/' a.yaml\`\necho "$NEW" | kubectl apply -f -`],
    [`ssh gpu1 "cd /x && sed -i 's/\\"64\\"/16/' a.yaml"`],
    [`bash -c "cd /x && sed -i 's/\\"64\\"/16/' a.yaml"`],
    [`ssh node <<'EOF'\nsed -i 's/"64"/"16"/' a.yaml\nEOF`],
    [`cat > adapt.sh <<'EOF'\n#!/bin/bash\nsed -i 's/"64"/"16"/' a.yaml\nEOF\nchmod +x adapt.sh`],
  ])('is no error: %s', (script) => {
    expect(beside(script)).toEqual(['note']);
  });

  it.each([
    ['an image', `sed -i "s|registry.example.com/image:tag|$IMAGE|" a.yaml`],
    ['a namespace', `sed "s/namespace: .*/namespace: $NS/" a.yaml | kubectl apply -f -`],
    ['another file', `sed -i 's/"64"/"16"/' b.yaml`],
    ['nothing, but prints it', `sed -n 's/.*"64".*/found/p' a.yaml`],
    ['nothing, but reads it', `yq '.spec.template.spec.containers[0].args' a.yaml`],
    ['an image by yq', `yq -i '.spec.template.spec.containers[0].image = "x"' a.yaml`],
    ['replicas by yq', `yq -i '.spec.replicas = 3' a.yaml`],
    ['replicas', `kubectl patch deployment worker -p '{"spec":{"replicas":2}}'`],
    [
      'another object',
      `kubectl patch deployment other -p '{"spec":{"template":{"spec":{"containers":[{"args":[]}]}}}}'`,
    ],
    ['an object of another kind', `kubectl patch service worker -p '{"spec":{"args":[]}}'`],
    ['a token', `kubectl set env deployment/worker HF_TOKEN=x`],
    ['nothing, but says how to', `echo "Then: sed -i 's/64/16/' a.yaml"`],
    ['nothing, but writes how to', `cat <<'EOF'\nThen: sed -i 's/64/16/' a.yaml\nEOF`],
    ['a file of which it has the name', `sed 's/"64"/"16"/' <<< a.yaml`],
    ['nothing, as a comment', `# sed -i 's/"64"/"16"/' a.yaml`],
  ])('is an error where the script changes %s', (_, script) => {
    expect(beside(script)).toEqual(['error']);
  });

  it('says which command changes it, and has no fix', () => {
    const [one] = inspect({
      'a.yaml': FLEET,
      'deploy.sh': `set -e\nsed -i 's/"64"/"16"/' a.yaml\n`,
    }).findings;
    expect(one?.fix).toBeUndefined();
    expect(one?.related?.at(-1)).toMatchObject({ file: 'deploy.sh', line: 2, says: 'changed here' });
    expect(one?.consequence).toContain('deploy.sh changes it with sed');
  });

  it('names the line of a command behind line ends of Windows', () => {
    const [one] = inspect({
      'a.yaml': FLEET,
      'deploy.sh': `set -e\r\nif true; then\r\n  sed -i 's/"64"/"16"/' a.yaml\r\nfi\r\n`,
    }).findings;
    expect(one?.related?.at(-1)).toMatchObject({ file: 'deploy.sh', line: 3 });
  });

  it('reads hostile scripts in a moment', () => {
    const deep = `${'$(sed '.repeat(4_000)}x`;
    const pipe = 'sed|'.repeat(20_000);
    const word = `sed ${'"$a$b"'.repeat(4_000)} ${'$(sed $x '.repeat(300)}`;
    const begin = performance.now();
    for (const script of [deep, pipe, word]) expect(beside(script)).toEqual(['error']);
    expect(performance.now() - begin).toBeLessThan(5_000);
  });

  it('is an error where the script is of another part of the repository', () => {
    const patch = `kubectl patch deployment worker -p '{"spec":{"template":{"spec":{"containers":[{"args":[]}]}}}}'\n`;
    expect(found({ 'one/deploy/prod/k8s/a.yaml': FLEET, 'two/test/e2e/run/x.sh': patch })).toEqual([
      expect.stringMatching(/error$/),
    ]);
  });

  it.each([
    [
      `helm install ms llm-d/llm-d-modelservice -f ms/values.yaml --set-json 'decode.containers[0].args=["--kv-events-config=x"]'`,
    ],
    [`helm upgrade --install ms chart --values=ms/values.yaml --set decode.containers[0].args[1]=x`],
    [`helm install ms chart -f ms/values.yaml -f ms/more.yaml`],
    [`helm install ms chart -f ms/values.yaml -f "$MORE"`],
    [`yq -i '.decode.containers[0].args += ["x"]' ms/values.yaml`],
  ])('is no error in values of a chart: %s', (script) => {
    const files = {
      'ms/values.yaml': SERVICE,
      'gaie/values.yaml': PICKER,
      'ms/more.yaml': 'decode:\n  containers:\n  - args: [x]\n',
    };
    expect(beside(script, files)).toEqual(['note']);
  });

  it.each([
    [`helm install ms chart -f ms/values.yaml --set decode.replicas=3 --set modelArtifacts.name=x`],
    [`helm install ms chart -f ms/values.yaml -f ms/more.yaml`],
    [`helm install ms chart -f ms/other.yaml -f ms/values.yaml`],
  ])('is an error in values of a chart that stay as they are: %s', (script) => {
    const files = {
      'ms/values.yaml': SERVICE,
      'gaie/values.yaml': PICKER,
      'ms/more.yaml': 'decode: {replicas: 4}\n',
    };
    expect(beside(script, files)).toEqual([expect.stringMatching(/error|warning/)]);
  });
});

describe('values that a helmfile puts over others', () => {
  const helmfile = (values: string): string => `releases:
- name: ms-x
  chart: llm-d-modelservice/llm-d-modelservice
  values:
  - ms-x/values.yaml
${values}
- name: gaie-x
  chart: inferencepool
  values:
  - gaie-x/values.yaml
`;
  const severities = (values: string, name = 'helmfile.yaml'): readonly string[] =>
    inspect({
      'ms-x/values.yaml': SERVICE.replace('=64', '=32'),
      'ms-x/more.yaml': 'decode:\n  containers:\n  - name: vllm\n    args: [--block-size=64]\n',
      'ms-x/small.yaml': 'decode:\n  replicas: 2\n',
      'gaie-x/values.yaml': PICKER,
      [name]: helmfile(values),
    })
      .findings.filter(({ ruleId }) => ruleId === 'block-size-mismatch')
      .map(({ severity }) => severity);

  it.each([
    ['  - ms-x/more.yaml'],
    ['  - ms-x/{{ .Environment.Name }}.yaml'],
    ['  - decode:\n      containers:\n      - args: [--block-size=64]'],
    ['  set:\n  - name: decode.containers[0].args[0]\n    value: --block-size=64'],
  ])('make a note: %s', (values) => {
    expect(severities(values)).toEqual(['note']);
    expect(severities(values, 'helmfile.yaml.gotmpl')).toEqual(['note']);
  });

  it.each([
    [''],
    ['  - ms-x/small.yaml'],
    ['  {{- if eq .Environment.Name "big" }}\n  - ms-x/more.yaml\n  {{- end }}'],
    ['  - decode:\n      replicas: 2'],
    ['  set:\n  - name: decode.replicas\n    value: 2'],
    ['  needs:\n  - ms-x/more.yaml'],
  ])('say nothing of what they do not change: %s', (values) => {
    expect(severities(values)).toEqual(['error']);
    expect(severities(values, 'helmfile.yaml.gotmpl')).toEqual(['error']);
  });
});
