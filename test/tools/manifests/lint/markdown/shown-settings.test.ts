import { describe, expect, it } from 'vitest';
import { findSettings } from '../../../../../src/tools/manifests/lint/markdown/shown-settings.js';

/** What is found, with the line that the note would come behind or above. */
function found(code: string, language: string): unknown[] {
  return findSettings(code, language).map(({ name, value, note }) => {
    if (note.type === 'none') return [name, value, 'none'];
    const before = code.slice(0, note.at);
    return [name, value, note.type, before.split('\n').length];
  });
}

describe('block sizes that an example shows', () => {
  it('finds a variable in a list of variables, over two lines', () => {
    const code = 'envs:\n  - name: DYN_KV_CACHE_BLOCK_SIZE\n    value: "16"\n';
    expect(found(code, 'yaml')).toEqual([['DYN_KV_CACHE_BLOCK_SIZE', '16', 'behind', 3]]);
  });

  it.each([
    ['export DYN_KV_CACHE_BLOCK_SIZE=16\n', 'bash', ['DYN_KV_CACHE_BLOCK_SIZE', '16', 'behind', 1]],
    ['DYN_ROUTER_BLOCK_SIZE: 16\n', 'yaml', ['DYN_ROUTER_BLOCK_SIZE', '16', 'behind', 1]],
    ['DYN_KV_CACHE_BLOCK_SIZE: "16"\n', 'yaml', ['DYN_KV_CACHE_BLOCK_SIZE', '16', 'behind', 1]],
    [
      'python -m dynamo.frontend --kv-cache-block-size 32\n',
      'sh',
      ['--kv-cache-block-size', '32', 'behind', 1],
    ],
    ['python -m dynamo.indexer --block-size 16\n', 'bash', ['--block-size', '16', 'behind', 1]],
    ['router = KvRouter(\n    block_size=16,\n)\n', 'python', ['block_size', '16', 'behind', 2]],
    ['{"args": ["--router-block-size", "16"]}\n', 'json', ['--router-block-size', '16', 'none']],
  ])('finds %j in %s', (code, language, expected) => {
    expect(found(code, language)).toEqual([expected]);
  });

  it('puts the note above a command that goes over several lines', () => {
    const code =
      'cd app\n  python -m dynamo.frontend \\\n    --kv-cache-block-size 16 \\\n    --http-port 8000\n';
    const [setting] = findSettings(code, 'bash');
    expect(setting?.note).toEqual({ type: 'above', at: 'cd app\n'.length, indent: '  ' });
  });

  it('puts the note above a line that ends inside of quotes', () => {
    const code = 'sh -c "python -m dynamo.frontend --kv-cache-block-size 16\n  && true"\n';
    expect(findSettings(code, 'bash')[0]?.note).toEqual({ type: 'above', at: 0, indent: '' });
  });

  it.each([
    ["an engine's own size", 'vllm serve m --block-size 16\n', 'bash'],
    ['a comment', '# DYN_KV_CACHE_BLOCK_SIZE=16\n', 'bash'],
    ['a placeholder', 'DYN_KV_CACHE_BLOCK_SIZE=<size>\n', 'bash'],
    ['a variable in a shell that is called like the argument', 'block_size=16\n', 'bash'],
  ])('finds nothing in %s', (_, code, language) => {
    expect(findSettings(code, language)).toEqual([]);
  });
});
