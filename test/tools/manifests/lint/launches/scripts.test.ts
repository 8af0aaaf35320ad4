import { describe, expect, it } from 'vitest';
import { Material } from '../../../../../src/tools/manifests/lint/facts/material.js';
import { readScriptSets } from '../../../../../src/tools/manifests/lint/launches/read-launches.js';
import { flagOf } from '../../../../../src/tools/manifests/lint/launches/settings.js';
import { placesIn } from '../../../../../src/tools/manifests/source-file.js';
import { found } from '../support.js';

/** Programs of a script with their block size. */
function launches(text: string): readonly string[] {
  return readScriptSets({ file: 'x.sh', text, placeOf: placesIn(text) }, new Material())
    .flat()
    .map((launch) => `${launch.program} ${flagOf(launch, '--block-size')?.value ?? ''}`.trim());
}

describe('the programs of a script', () => {
  it.each([
    ['srun --overlap -N1 -n1 -w node1 bash -c "vllm serve m --block-size 64"', ['vllm 64']],
    ['/bin/bash -c -- "vllm serve m --block-size 64"', ['vllm 64']],
    ['bash -c -ex "vllm serve m --block-size 64"', ['vllm 64']],
    ['srun -N1 -n1 -w "$NODE" --mem=0 bash -lc "vllm serve $MODEL --block-size 64 $MORE"', ['vllm 64']],
    ['kubectl exec -n llm -it deploy/x -c y -- bash -c "vllm serve m --block-size 64"', ['vllm 64']],
    ['ssh gpu1 "cd /work && nohup vllm serve m --block-size 64 > log 2>&1 &"', ['vllm 64']],
    [`sudo ssh -p 22 -o BatchMode=yes -i key me@gpu1 -t 'vllm serve m --block-size 64'`, ['vllm 64']],
    [`sshpass -p secret ssh "$HOST" 'bash -lc "vllm serve m --block-size 64"'`, ['vllm 64']],
    ['ssh gpu1 vllm serve m --block-size 64', ['vllm 64']],
    ["ssh gpu1 <<'X'\nvllm serve m --block-size 64\nX\n", ['vllm 64']],
    ["ssh gpu1 'bash -s' <<'X'\nvllm serve m --block-size 64\nX\n", ['vllm 64']],
    ['SIZE=64\nbash -s <<X\nvllm serve m --block-size $SIZE\nX\n', ['vllm 64']],
    ["pdsh -w gpu[1-2] 'vllm serve m --block-size 64'", ['vllm 64']],
    [`gcloud compute ssh gpu1 --zone=z --command="vllm serve m --block-size 64"`, ['vllm 64']],
    [`tmux new-session -d -s w -c /work 'vllm serve m --block-size 64'`, ['vllm 64']],
    [`tmux send-keys -t w:0 "vllm serve m --block-size 64" C-m`, ['vllm 64']],
    [`su - ai -c "vllm serve m --block-size 64"`, ['vllm 64']],
    ['kubectl exec -n llm w -- vllm serve m --block-size 64', ['vllm 64']],
    ['$PYTHON -m dynamo.vllm --block-size 64', ['dynamo.vllm 64']],
    ['"$VENV/bin/python3" -u -m dynamo.vllm --block-size 64', ['dynamo.vllm 64']],
    [`CMD=("$PYTHON" -m dynamo.vllm --block-size 64)\n"\${CMD[@]}" &`, ['dynamo.vllm 64']],
    ['C="vllm serve $M --port $P --block-size 64 $X"\neval "$C"', ['vllm 64']],
    ['vllm serve m --block-size 64 || exit 1', ['vllm 64']],
    [
      'for i in 0 1; do\nG=$((i % 2))\nC="CUDA_VISIBLE_DEVICES=$G vllm serve $1 \\\n --block-size 64"\nif [ -n "$x" ]; then F="$C $x"; else F="$C"; fi\neval "$F &"\ndone',
      ['vllm 64'],
    ],
    ['for i in 0 1; do\nC="vllm serve m --port $i --block-size 64"\neval "$C" &\ndone', ['vllm 64']],
    [
      'C="vllm serve m --block-size 64"\nif [ -n "$x" ]; then F="$C $x"; else F="$C"; fi\neval "$F"',
      ['vllm 64'],
    ],
    ['case $x in\n1) F="vllm serve m --a" ;;\n*) F="vllm serve m --b" ;;\nesac\neval "$F"', ['vllm']],
    ['# a\r\nvllm serve m \\\r\n  --port 1 \\\r\n  --block-size 64\r\n', ['vllm 64']],
    ['cat > run <<X\r\nvllm serve m --block-size 64\r\nX\r\nbash run\r\n', ['vllm 64']],
    ['vllm-router --policy cache_aware --worker-urls http://a:8000', ['vllm-router']],
    ['setsid nohup env A=b "$BUILD/tt_media_server_cpp" -p 8001', ['Tenstorrent media server']],
    ['"$VENV/bin/lmcache_controller" --port 9000', ['LMCache controller']],
    ['python3 -m atom.entrypoints.openai_server --model m', ['ATOM']],
    [
      'docker run -d registry.local/acme/inference:1 --model m --max-model-len 64',
      ['arguments of an engine'],
    ],
  ])('are found: %s', (text, expected) => {
    expect(launches(text)).toEqual(expected);
  });

  it.each([
    'if [ -n "$x" ]; then F="vllm serve m"; fi\neval "$F"',
    'if [ -n "$x" ]; then F="vllm serve m"; else F="sglang serve m"; fi\neval "$F"',
    'for i in 1 2; do\neval "$C"\nC="vllm serve m"\ndone',
    'echo run this: srun a b c d bash -c "vllm serve m"',
    'myprogram a b c d e bash -c "vllm serve m"',
    '$TOOL -m build',
    'docker run -d registry.local/acme/bench:1 --model m --rate 64',
    'vllm-router-bench --worker-urls http://a:8000',
    'pip install --python $PYTHON -m dynamo.vllm',
    'ssh gpu1 "pgrep -f vllm serve"',
    `ssh-copy-id gpu1 'vllm serve m'`,
    'tmux kill-session -t "vllm serve m"',
    "cat > run.sh <<'X'\nvllm serve m\nX\n",
    "python3 <<'X'\nprint('vllm serve m')\nX\n",
  ])('are not guessed: %s', (text) => {
    expect(launches(text)).toEqual([]);
  });
});

describe('arguments that grow in a branch', () => {
  const script = (before: string, added: string): string =>
    `python3 -m dynamo.router --router-block-size 16 &
${before}
if [ "$X" = 1 ]; then
  ${added}
fi
python3 -m dynamo.vllm "\${ARGS[@]}" $MORE --kv-events-config '{"enable_kv_cache_events":true}'
`;

  it.each([
    ['ARGS=(--model m --block-size 64)', 'ARGS+=(--enforce-eager)'],
    ['ARGS=(--model m --block-size=64)', 'ARGS+=(--max-model-len 4096)'],
    ['MORE="--model m --block-size 64"', 'MORE+=" --enforce-eager"'],
    ['MORE="--model m --block-size 64"', 'MORE="$MORE --enforce-eager"'],
  ])('keep what they had: %s, %s', (before, added) => {
    expect(found({ 'x.sh': script(before, added) })).toEqual(['block-size-mismatch x.sh:1 error']);
  });

  it.each([
    ['ARGS=(--model m --block-size 64)', 'ARGS+=(--block-size 16)'],
    ['ARGS=(--model m --block-size=64)', 'ARGS+=(--block-size=16)'],
    ['ARGS=(--model m --block-size 64)', 'ARGS+=("--block-size=$SIZE")'],
    ['MORE="--model m --block-size 64"', 'MORE+=" --block-size 16"'],
    ['MORE="--model m --block-size 64"', 'MORE="$MORE --block-size=16"'],
  ])('have no value that is known where a branch gives it again: %s, %s', (before, added) => {
    expect(found({ 'x.sh': script(before, added) })).toEqual([]);
  });
});
