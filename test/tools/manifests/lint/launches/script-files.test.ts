import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

const ENGINE = (tokens: number): string => `kv_cache_config:\n  tokens_per_block: ${tokens}\n`;
const write = (path: string, tokens: number): string => `cat > ${path} <<EOF\n${ENGINE(tokens)}EOF\n`;
const worker = (path: string, tokens = 64): string =>
  `python3 -m dynamo.trtllm --model-path m --extra-engine-args ${path} --kv-block-size ${tokens} --publish-events-and-metrics\n`;
const rules = (files: Readonly<Record<string, string>>): readonly string[] =>
  found(files).map((one) => one.split(' ')[0] ?? '');
const DIFFERS = ['worker-card-differs'];

describe('the engine file that a script means', () => {
  it('is the one that it has written, however its path is written', () => {
    const files = { 'engine.yaml': ENGINE(32) };
    for (const [written, read] of [
      ['engine.yaml', './engine.yaml'],
      ['./engine.yaml', 'engine.yaml'],
      ['"$PWD/engine.yaml"', 'engine.yaml'],
    ] as const) {
      expect(rules({ ...files, 'a.sh': write(written, 64) + worker(read) })).toEqual([]);
      expect(rules({ ...files, 'a.sh': write(written, 16) + worker(read) })).toEqual(DIFFERS);
    }
  });

  it('is that of its own folder, where folders are not known', () => {
    const folders = 'A=$(mktemp -d); B=$(mktemp -d)\n';
    const both = (a: number, b: number): string =>
      folders +
      write('"$A/engine.yaml"', 64) +
      write('"$B/engine.yaml"', 32) +
      worker('"$A/engine.yaml"', a) +
      worker('$B/engine.yaml', b).replace('path m', 'path n');
    expect(rules({ 'a.sh': both(64, 32) })).toEqual([]);
    const one = folders + write('"$A/engine.yaml"', 64);
    expect(rules({ 'a.sh': one + worker('"$A"/engine.yaml', 32) })).toEqual(DIFFERS);
    expect(rules({ 'a.sh': one + worker('"$B/engine.yaml"', 32) })).toEqual([]);
  });

  it('is the one of the folder that it went to', () => {
    const files = { 'engine.yaml': ENGINE(32), 'configs/engine.yaml': ENGINE(64) };
    expect(rules({ ...files, 'a.sh': `cd configs\n${worker('engine.yaml')}` })).toEqual([]);
    expect(rules({ ...files, 'a.sh': worker('engine.yaml') })).toEqual(DIFFERS);
    expect(rules({ ...files, 'a.sh': `(cd configs; x)\n${worker('engine.yaml')}` })).toEqual(DIFFERS);
    expect(rules({ ...files, 'a.sh': `pushd configs\npopd\n${worker('engine.yaml')}` })).toEqual(DIFFERS);
    expect(rules({ ...files, 'a.sh': `cd "$(dirname "$0")"\n${worker('engine.yaml')}` })).toEqual(DIFFERS);
    for (const cd of ['cd "$WORK"', 'if x; then cd configs; fi', 'cd /opt/work'])
      expect(rules({ ...files, 'a.sh': `${cd}\n${worker('engine.yaml')}` })).toEqual([]);
    expect(
      rules({
        ...files,
        'a.sh': `D=$(cd "$(dirname "$0")" && pwd)\ncd "$WORK"\n${worker('$D/engine.yaml')}`,
      }),
    ).toEqual(DIFFERS);
  });

  it.each([
    '{ echo "kv_cache_config:"; echo "  tokens_per_block: 64"; } > engine.yaml',
    'for i in 1; do echo x; done > engine.yaml',
    'python3 make.py --tokens 64 --output engine.yaml',
    'python3 make.py -o engine.yaml',
    'make_config &> engine.yaml',
  ])('is not known after %s', (writes) => {
    const files = { 'engine.yaml': ENGINE(32) };
    expect(rules({ ...files, 'a.sh': `${writes}\n${worker('engine.yaml')}` })).toEqual([]);
  });

  it('is what a container mounts, and of its image only where nothing is mounted there', () => {
    const files = { 'app/config/engine.yaml': ENGINE(32), 'own.yaml': ENGINE(64) };
    const run = (mounts: string): string => `docker run ${mounts} i ${worker('/app/config/engine.yaml')}`;
    expect(rules({ ...files, 'a.sh': run('') })).toEqual(DIFFERS);
    expect(rules({ ...files, 'a.sh': run('-v ./own.yaml:/app/config/engine.yaml:ro') })).toEqual([]);
    expect(rules({ ...files, 'a.sh': run('-v "$PWD/own.yaml:/app/config/engine.yaml"') })).toEqual([]);
    expect(
      rules({ ...files, 'a.sh': run('--mount type=bind,source=./app/config,target=/app/config') }),
    ).toEqual(DIFFERS);
    expect(
      rules({ ...files, 'a.sh': run('-v ./app/config:/app/config -v ./own.yaml:/app/config/engine.yaml') }),
    ).toEqual([]);
    expect(rules({ ...files, 'a.sh': run('-v configs:/app/config') })).toEqual([]);
    expect(rules({ ...files, 'a.sh': run('-v $SOMEWHERE:/app/config') })).toEqual([]);
    expect(rules({ ...files, 'a.sh': run('$MOUNTS --rm') })).toEqual([]);
  });
});

describe('programs that one script starts one after the other', () => {
  const events = `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}'`;
  const pair = (own: number, tokens: number): string =>
    `python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size ${own} & F=$!\npython3 -m dynamo.vllm --model m --block-size ${tokens} ${events} & W=$!\n`;

  it('are compared only with those that run beside them', () => {
    expect(rules({ 'a.sh': `${pair(16, 16)}sleep 60; kill $F $W; wait\n${pair(64, 64)}` })).toEqual([]);
    expect(rules({ 'a.sh': `${pair(16, 16)}kill $F $W\n${pair(64, 16)}` })).toEqual(['block-size-mismatch']);
    const other = pair(64, 64).split('\n')[1] ?? '';
    expect(rules({ 'a.sh': `${pair(16, 16)}kill $W\n${other}` })).toEqual(['block-size-mismatch']);
  });

  it('are no fleet where a choice calls one of several functions', () => {
    const functions = `small() {\n${pair(16, 16)}}\nlarge() {\n${pair(64, 64)}}\n`;
    expect(rules({ 'a.sh': `${functions}case "$1" in small) small ;; large) large ;; esac` })).toEqual([]);
    expect(rules({ 'a.sh': `f() {\n${pair(16, 64)}}\nf` })).toEqual(['block-size-mismatch']);
  });

  it('always run in front of ||', () => {
    const script = pair(16, 64).replace(' & W=$!', ' || { echo failed >&2; exit 1; }');
    expect(rules({ 'a.sh': script })).toEqual(['block-size-mismatch']);
  });

  it('are none with those of a branch that ends the script', () => {
    const [own, other] = pair(16, 64).split('\n');
    const exec = (line = ''): string => `exec ${line.replace(/ & .*/, '')}\n`;
    expect(rules({ 'a.sh': `if [ "$1" = f ]; then\n  ${exec(own)}fi\n${exec(other)}` })).toEqual([]);
    expect(rules({ 'a.sh': `[ -n "$1" ] || exit 1\n${pair(16, 64)}` })).toEqual(['block-size-mismatch']);
    expect(rules({ 'a.sh': `${own}\nif x; then exit 1; fi\n${other}` })).toEqual(['block-size-mismatch']);
  });
});
