import { describe, expect, it } from 'vitest';
import { Material } from '../../../../../src/tools/manifests/lint/facts/material.js';
import { readScriptSets } from '../../../../../src/tools/manifests/lint/launches/read-launches.js';
import { flagOf } from '../../../../../src/tools/manifests/lint/launches/settings.js';
import { placesIn } from '../../../../../src/tools/manifests/source-file.js';

/** Programs of a script with their block size. */
function launches(text: string): readonly string[] {
  return readScriptSets({ file: 'x.sh', text, placeOf: placesIn(text) }, new Material())
    .flat()
    .map((launch) => `${launch.program} ${flagOf(launch, '--block-size')?.value ?? ''}`.trim());
}

describe('the programs of a script', () => {
  it.each([
    ['srun --overlap -N1 -n1 -w node1 bash -c "vllm serve m --block-size 64"', ['vllm 64']],
    ['srun -N1 -n1 -w "$NODE" --mem=0 bash -lc "vllm serve $MODEL --block-size 64 $MORE"', ['vllm 64']],
    ['kubectl exec -n llm -it deploy/x -c y -- bash -c "vllm serve m --block-size 64"', ['vllm 64']],
    ['$PYTHON -m dynamo.vllm --block-size 64', ['dynamo.vllm 64']],
    ['"$VENV/bin/python3" -u -m dynamo.vllm --block-size 64', ['dynamo.vllm 64']],
    [`CMD=("$PYTHON" -m dynamo.vllm --block-size 64)\n"\${CMD[@]}" &`, ['dynamo.vllm 64']],
    ['C="vllm serve $M --port $P --block-size 64 $X"\neval "$C"', ['vllm 64']],
    ['vllm serve m --block-size 64 || exit 1', ['vllm 64']],
  ])('are found: %s', (text, expected) => {
    expect(launches(text)).toEqual(expected);
  });

  it.each([
    'echo run this: srun a b c d bash -c "vllm serve m"',
    'myprogram a b c d e bash -c "vllm serve m"',
    '$TOOL -m build',
    'pip install --python $PYTHON -m dynamo.vllm',
  ])('are not guessed: %s', (text) => {
    expect(launches(text)).toEqual([]);
  });
});
