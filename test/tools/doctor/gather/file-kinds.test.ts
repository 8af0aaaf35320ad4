import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type FileKind, fileKindOf, isEvidenceName } from '../../../../src/tools/doctor/gather/file-kinds.js';

const PAGE = '# HELP vllm:x y\n# TYPE vllm:x gauge\nvllm:x{engine="0"} 1\n';
const LOG = 'INFO 07-08 11:49:03 [engine.py:458] hello\n';

describe('what a file is', () => {
  it.each<readonly [says: string, name: string, text: string | Buffer, kind: FileKind | undefined]>([
    ['a log', 'worker.log', LOG, 'log'],
    ['a log that is packed by gzip', 'worker.log.gz', gzipSync(LOG), 'log'],
    ['a log in UTF-16', 'worker.log', Buffer.from(`\ufeff${LOG}`, 'utf16le'), 'log'],
    ['an empty file', 'worker.log', '', 'log'],
    [
      'a log of JSON lines, whatever its ending',
      'worker.json',
      '{"level":"info"}\n{"level":"warn"}\n',
      'log',
    ],
    ['a page of metrics', 'saved.txt', PAGE, 'metrics'],
    ['a page of metrics that is packed by gzip', 'saved.gz', gzipSync(PAGE), 'metrics'],
    ['a manifest', 'graph.yaml', '# A graph.\napiVersion: v1\nkind: Pod\n', 'manifests'],
    ['a compose file with a key of an engine', 'compose.yml', 'services: {}\nmodel: m\n', 'manifests'],
    ['objects as kubectl prints them', 'pods.json', '{\n  "apiVersion": "v1"\n}\n', 'manifests'],
    ['an object on one line', 'pod.json', '{"apiVersion":"v1","kind":"Pod"}\n', 'manifests'],
    ['a script', 'run.sh', 'vllm serve m\n', 'manifests'],
    ['a script without an ending', 'run', '#!/usr/bin/env bash\nvllm serve m\n', 'manifests'],
    [
      'a manifest whose name says nothing',
      'pods',
      '# of today\napiVersion: v1\nkind: Pod\nmeta',
      'manifests',
    ],
    ['a manifest in a pipe', '', '---\nkind: List\nitems:\n- kind: Pod\n', 'manifests'],
    ['an object of JSON in a pipe', '', '{\n  "apiVersion": "v1"\n}\n', 'manifests'],
    ['a log that begins with a manifest', '', `kind: Pod\n${LOG}`, 'log'],
    ['a log whose lines are objects', '', '{"kind":"a"}\n{"kind":"b"}\n', 'log'],
    ["TensorRT-LLM's options", 'engine.yaml', 'kv_cache_config:\n  tokens_per_block: 32\n', 'engine_config'],
    ["vLLM's options as flags", 'engine.yaml', 'block-size: 32\n', 'engine_config'],
    ["a model's configuration", 'config.json', '{\n "model_type": "qwen3"\n}\n', 'model'],
    [
      "nvidia-smi's table",
      'gpus.csv',
      'index, name, memory.total [MiB], memory.used [MiB]\n0, A, 100 MiB, 50 MiB\n',
      'gpu',
    ],
    ['a picture', 'plot.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]), undefined],
    ['gzip that is damaged', 'a.gz', Buffer.from([0x1f, 0x8b, 1, 2, 3]), 'log'],
  ])('says that %s is such', (_, name, content, kind) => {
    expect(fileKindOf(name, Buffer.from(content))).toBe(kind);
  });
});

describe('which files of a folder are looked at', () => {
  it.each([
    'logs',
    'worker.log',
    'worker.log.1',
    'worker.log-20260101',
    '0.log.20260101-120000.gz',
    'stdout',
    'metrics.prom',
    'metrics.txt',
    'gpus.csv',
    'frontend.jsonl',
  ])('takes %s', (name) => {
    expect(isEvidenceName(name)).toBe(true);
  });

  it.each(['engine.py', 'README.md', 'package-lock.lock', 'plot.png', 'main.go'])('leaves out %s', (name) => {
    expect(isEvidenceName(name)).toBe(false);
  });
});
