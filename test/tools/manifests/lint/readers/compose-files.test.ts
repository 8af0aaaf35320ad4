/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of compose files. */
import { describe, expect, it } from 'vitest';
import { interpolate } from '../../../../../src/tools/manifests/lint/config/interpolate.js';
import { found, inspect } from '../support.js';

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

describe('a service whose image alone says its shell', () => {
  it('is read by the script that it gives it', () => {
    const service = (script: string): string => `    build: .\n    command: ["-lc", "${script}"]\n`;
    const text = `services:\n  f:\n${service('python3 -m dynamo.frontend --router-mode kv')}  w:\n${service('exec python3 -m dynamo.sglang --model m --page-size 16')}`;
    expect(found({ 'compose.yaml': text })).toEqual(['kv-events-off compose.yaml:7 error']);
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
    ['${B-${C?no}}', '\uE000'],
    ['${A:+${B:-4}}', '4'],
    ['$$A ${', '$A ${'],
    ['${B}', '\uE000'],
    ['a$B:${C}/${A}', 'a\uE000:\uE000/1'],
    ['${B:+--x} ${C:?no}', ' \uE000'],
  ])('%s', (text, value) => {
    expect(interpolate(text, (name) => (name === 'A' ? '1' : undefined))).toBe(value);
  });

  it('are read in time, however many braces are open', () => {
    expect(interpolate('${'.repeat(50_000), () => undefined)).toBeDefined();
  }, 5_000);
});

describe('an engine of a compose file with variables that nothing there sets', () => {
  const frontend =
    '  f: {image: r/vllm-runtime:1.1.1, command: python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm --kv-cache-block-size 16}\n';
  const EVENTS = `--kv-events-config '{"enable_kv_cache_events":true}'`;
  const EXPORTS = 'export LD_LIBRARY_PATH="/opt/env/lib:$${LD_LIBRARY_PATH:-}";';
  const fleet = (worker: string): string => `services:\n${frontend}  w:\n    image: a\n${worker}`;
  const list = (script: string): string =>
    `    command:\n      - bash\n      - -lc\n      - >\n        ${EXPORTS}\n        ${script}\n`;
  const python = '/opt/env/bin/python3 -m dynamo.vllm';

  it.each([
    [
      'by path through exec, behind exports',
      (size: string) =>
        list(`exec ${python} --model ${'${M}'} --master-addr ${'${ADDR}'} --block-size ${size} ${EVENTS}`),
    ],
    [
      'by a path that is not known',
      (size: string) =>
        list(
          `exec ${'${ENV}'}/bin/python3 -m dynamo.vllm --model ${'${M:?}'} --block-size ${size} ${EVENTS}`,
        ),
    ],
    [
      'in one text',
      (size: string) =>
        `    command: >-\n      bash -lc "exec ${python} --model ${'${M}'} --block-size ${size} --kv-events-config '{\\"enable_kv_cache_events\\":true}'"\n`,
    ],
    [
      'by an image whose entrypoint is a shell',
      (size: string) =>
        list(`exec ${python} --model ${'${M}'} --block-size ${size} ${EVENTS}`).replace('      - bash\n', ''),
    ],
  ])('is read: %s', (_name, worker) => {
    const at = (size: string): readonly string[] => found({ 'compose.yaml': fleet(worker(size)) });
    expect(at('64').join()).toMatch(/block-size-mismatch compose\.yaml:\d+ error/);
    expect(at('16')).toEqual([]);
    // A size that is not known is no other size.
    expect(at('${SIZE}').join()).not.toContain('mismatch');
  });

  it.each([
    ['exec /opt/env/bin/vllm serve ${M} --master-addr ${ADDR}', 1],
    ['exec ${ENV}/bin/vllm serve ${M}', 1],
    ['exec $$ENV/bin/vllm serve ${M}', 1],
    ['exec ${ENV}/bin/nginx -c ${M}', 0],
    ['exec ${ENV} serve ${M}', 0],
    ['cp --to=${ENV}/vllm serve ${M}', 0],
  ])('%s', (script, count) => {
    const { fleets } = inspect({ 'compose.yaml': `services:\n  w:\n    image: a\n${list(script)}` });
    expect(fleets.flatMap(({ workers }) => workers)).toHaveLength(count);
  });

  it.each([
    ['${REGISTRY}/vllm-openai:${TAG}', 1],
    ['vllm/vllm-openai:v0.1${PATCH}', 1],
    ['vllm/vllm-openai${SUFFIX}', 0],
    ['${IMAGE}', 0],
  ])('is known by its image: %s', (image, count) => {
    const { fleets } = inspect({
      'compose.yaml': `services:\n  w:\n    image: ${image}\n    command: --model ${'${M}'}\n`,
    });
    expect(fleets.flatMap(({ workers }) => workers)).toHaveLength(count);
  });
});
