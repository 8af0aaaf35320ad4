import { describe, expect, it } from 'vitest';
import { findProgram } from '../../../../../src/tools/manifests/lint/launches/programs.js';
import type { Word } from '../../../../../src/tools/manifests/lint/shell/words.js';

function words(line: string): readonly Word[] {
  const source = { file: 'x', text: line, placeOf: () => ({ line: 1, column: 1 }) };
  return line.split(' ').map((value) => ({
    value,
    span: { source, start: 0, end: 0, isExact: false },
    mayBeMore: false,
  }));
}

/** The program, its first argument, and what exec starts. */
function found(line: string): string | undefined {
  const result = findProgram(words(line));
  if (result === undefined) {
    return undefined;
  }
  const { program, args, child } = result;
  const after = child === undefined ? '' : ` -- ${child.map(({ value }) => value).join(' ')}`;
  return `${program.program} [${args.map(({ value }) => value).join(' ')}]${after}`;
}

describe('the program of a command line', () => {
  it.each([
    ['python3 -m dynamo.frontend --router-mode kv', 'dynamo.frontend [--router-mode kv]'],
    ['python3.12 -u -W ignore -m dynamo.vllm --model m', 'dynamo.vllm [--model m]'],
    ['python -m dynamo.router.__main__ --endpoint e', 'dynamo.router [--endpoint e]'],
    ['exec env A=b /opt/venv/bin/python3 -m dynamo.trtllm', 'dynamo.trtllm []'],
    ['numactl --cpunodebind=0 -- python3 -m dynamo.sglang', 'dynamo.sglang []'],
    ['uv run vllm serve m --block-size 16', 'vllm [m --block-size 16]'],
    ['python3 -m vllm.entrypoints.openai.api_server --model m', 'vllm [--model m]'],
    ['python3 -m vllm.entrypoints.cli.main serve m --block-size 16', 'vllm [m --block-size 16]'],
    ['python3 -m sglang.cli.main serve --page-size 16', 'sglang [--page-size 16]'],
    ['python3 -m vllm.entrypoints.cli.main bench serve', undefined],
    ['trtllm-serve m --port 1', 'trtllm-serve [m --port 1]'],
    ['trtllm-serve serve m', 'trtllm-serve [m]'],
    [
      '/kv-accord/kv-accord exec --insecure -- python3 -m dynamo.frontend',
      'kv-accord exec [--insecure] -- python3 -m dynamo.frontend',
    ],
    ['tini -- kv-accord sidecar --engine none', 'kv-accord sidecar [--engine none]'],
  ])('is found in %s', (line, expected) => {
    expect(found(line)).toBe(expected);
  });

  it.each([
    'echo vllm serve m',
    'grep -q dynamo.frontend log',
    'pgrep -f python3 -m dynamo.frontend',
    'python3 launcher.py -m dynamo.vllm',
    'python3 -m http.server',
    'python3 -m dynamo.planner',
    'vllm bench serve',
    'kv-accord --version',
    'nginx -g daemon',
    'constructor',
  ])('is none of ours in %s', (line) => {
    expect(found(line)).toBeUndefined();
  });
});
