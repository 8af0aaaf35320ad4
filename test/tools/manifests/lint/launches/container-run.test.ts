import { describe, expect, it } from 'vitest';
import { Material } from '../../../../../src/tools/manifests/lint/facts/material.js';
import type { Launch } from '../../../../../src/tools/manifests/lint/launches/launch.js';
import { readScriptSets } from '../../../../../src/tools/manifests/lint/launches/read-launches.js';
import { flagOf, variableOf } from '../../../../../src/tools/manifests/lint/launches/settings.js';
import { placesIn } from '../../../../../src/tools/manifests/source-file.js';

function launches(text: string): readonly Launch[] {
  return readScriptSets({ file: 'x.sh', text, placeOf: placesIn(text) }, new Material()).flat();
}

/** Program, its block size and its variables. */
function described(text: string): unknown {
  return launches(text).map((launch) => [
    launch.program,
    flagOf(launch, '--block-size', '--page-size')?.value,
    Object.fromEntries([...launch.env].map(([name, { value }]) => [name, value])),
  ]);
}

describe('docker run in a script', () => {
  it.each([
    [
      'docker run --gpus all -v ~/.cache:/root/.cache --env "HF_TOKEN=x" -p 8000:8000 --ipc=host vllm/vllm-openai:v0.19.0 --model m --block-size 32',
      ['vllm', '32', { HF_TOKEN: 'x' }],
    ],
    [
      'sudo podman run -itd --rm --network host -e PYTHONHASHSEED=0 lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server --model-path m --page-size 64',
      ['sglang', '64', { PYTHONHASHSEED: '0' }],
    ],
    [
      'docker run --entrypoint /bin/bash -eA=1 nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.1 -c "exec python3 -m dynamo.vllm --model m --block-size 16"',
      ['dynamo.vllm', '16', { A: '1' }],
    ],
    ['docker container run "$IMAGE" vllm serve m --block-size=64', ['vllm', '64', {}]],
    ['B=128; docker run vllm/vllm-openai --model m --block-size $B', ['vllm', '128', {}]],
    ['docker run $OPTIONS --rm vllm/vllm-openai --model m', ['vllm', undefined, {}]],
    ['docker run --rm ollama/ollama', ['Ollama', undefined, {}]],
    ['docker --context gpu-a run -e A=1 vllm/vllm-openai --block-size 32', ['vllm', '32', { A: '1' }]],
    ['docker exec -d -e A=1 dyn python3 -m dynamo.vllm --block-size 16', ['dynamo.vllm', '16', { A: '1' }]],
    ['docker compose -f c.yaml run -e A=1 svc vllm serve m', ['vllm', undefined, { A: '1' }]],
    ...[
      '-e HF_TOKEN=$TOKEN -e A=1',
      '-e HF_TOKEN="$TOKEN" -e A=1',
      `-e HF_TOKEN=\${TOKEN:?Set the variable TOKEN} -eA=1`,
      '--env=HF_TOKEN=$TOKEN --env=A=1',
      '-eHF_TOKEN=$TOKEN --name=worker-$RANK -e A=1',
    ].map((options): [string, unknown] => [
      `docker run ${options} vllm/vllm-openai --model m`,
      ['vllm', undefined, { HF_TOKEN: undefined, A: '1' }],
    ]),
  ])('%s', (text, expected) => {
    expect(described(text)).toEqual([expected]);
  });

  it('has no variables of the shell, and may have unseen ones of a file', () => {
    const [plain] = launches('export DYN_ROUTER_MODE=kv\ndocker run x python3 -m dynamo.frontend\n');
    expect(plain && variableOf(plain, 'DYN_ROUTER_MODE')).toBeUndefined();
    const [filed] = launches('docker run --env-file a.env x python3 -m dynamo.frontend\n');
    expect(filed?.hasUnseenEnv).toBe(true);
    const [named] = launches('docker run -e $PAIR -e A=1 -e T=$T x python3 -m dynamo.frontend\n');
    expect(named?.hasUnseenEnv).toBe(true);
    expect(named && variableOf(named, 'A')?.value).toBe('1');
    const [token] = launches('docker run -e T=$T x python3 -m dynamo.frontend\n');
    expect(token?.hasUnseenEnv).toBe(false);
  });

  it('may have what is not seen where it is there already', () => {
    const [entered] = launches('docker exec dyn python3 -m dynamo.frontend\n');
    expect([entered?.hasUnseenEnv, entered?.version]).toEqual([true, undefined]);
  });

  it.each(['docker pull vllm/vllm-openai', 'docker run', 'docker run -it', 'docker run ubuntu sleep 1'])(
    'finds nothing in %s',
    (text) => {
      expect(launches(text)).toEqual([]);
    },
  );
});
