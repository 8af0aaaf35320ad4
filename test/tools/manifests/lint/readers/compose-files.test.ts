/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of compose files. */
import { describe, expect, it } from 'vitest';
import { interpolate } from '../../../../../src/tools/manifests/lint/config/interpolate.js';
import { found } from '../support.js';

const front = (tokens: number): string =>
  `services:\n  f:\n    image: r/vllm-runtime:1.1.1\n    environment: {DYN_ROUTER_MODE: kv, DYN_KV_CACHE_BLOCK_SIZE: "${tokens}"}\n    command: python3 -m dynamo.frontend --dyn-chat-processor vllm\n  w:\n    image: r/vllm-runtime:1.1.1\n    command: python3 -m dynamo.vllm --model m --block-size 64 --kv-events-config '{"enable_kv_cache_events":true}'\n`;
const over = (tokens: number): string =>
  `services:\n  f:\n    environment:\n      DYN_KV_CACHE_BLOCK_SIZE: "${tokens}"\n`;

describe('the file that Compose puts over another one', () => {
  it('decides', () => {
    expect(found({ 'docker-compose.yml': front(16), 'docker-compose.override.yml': over(64) })).toEqual([]);
    expect(found({ 'docker-compose.yml': front(64), 'docker-compose.override.yml': over(16) })).toEqual([
      'block-size-mismatch docker-compose.override.yml:4 error',
    ]);
    expect(found({ 'x/compose.yaml': front(16), 'y/compose.override.yaml': over(64) })).toEqual([
      'block-size-mismatch x/compose.yaml:4 error',
    ]);
  });
});

describe('a text of its own that a compose file gives a service', () => {
  const worker = (tokens: number): string =>
    `services:\n  w:\n    image: r/tensorrtllm-runtime:1.1.1\n    command: python3 -m dynamo.trtllm --model-path m --extra-engine-args /cfg/e.yaml --kv-block-size 32\n    configs:\n      - {source: engine, target: /cfg/e.yaml}\nconfigs:\n  engine:\n    content: |\n      kv_cache_config:\n        tokens_per_block: ${tokens}\n`;

  it('is the file that it reads', () => {
    expect(found({ 'compose.yaml': worker(64) })).toEqual([
      expect.stringMatching(/^worker-card-differs .* error$/),
    ]);
    expect(found({ 'compose.yaml': worker(32) })).toEqual([]);
  });
});

describe('variables of a compose file', () => {
  it.each([
    ['$A', '1'],
    ['a${A}b', 'a1b'],
    ['${B:-2}', '2'],
    ['${B:-${C:-3}}', '3'],
    ['${A:-${C:-3}}', '1'],
    ['${B:-${A}}x', '1x'],
    ['${B-${C?no}}', undefined],
    ['${A:+${B:-4}}', '4'],
    ['$$A ${', '$A ${'],
    ['${B}', undefined],
  ])('%s', (text, value) => {
    expect(interpolate(text, (name) => (name === 'A' ? '1' : undefined))).toBe(value);
  });

  it('are read in time, however many braces are open', () => {
    expect(interpolate('${'.repeat(50_000), () => undefined)).toBeDefined();
  }, 5_000);
});
