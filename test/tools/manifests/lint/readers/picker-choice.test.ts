import { describe, expect, it } from 'vitest';
import { deployment, found, inspect } from '../support.js';

const config = (plugin: string, more = ''): string =>
  `      kind: EndpointPickerConfig
      plugins:
        - type: ${plugin}
${more}`;

const PRECISE = config('precise-prefix-cache-scorer');
const GUESS = config('prefix-cache-scorer');
const TRACKING = config('prefix-cache-scorer', '          parameters: {mode: cache_tracking}\n');

const silent = deployment('worker', 'command: [vllm, serve, m]');

describe('of several configurations of a picker', () => {
  const values = (file: string): string => `decode:
  containers:
    - {name: vllm, modelCommand: vllmServe, args: [--port=8000]}
inferenceExtension:
  pluginsConfigFile: ${file}
  pluginsCustomConfig:
    guess.yaml: |
${GUESS}    precise.yaml: |
${PRECISE}`;

  it('the one counts that the values name', () => {
    expect(found({ 'values.yaml': values('precise.yaml') })).toEqual(['kv-events-off values.yaml:3 error']);
    expect(found({ 'values.yaml': values('guess.yaml') })).toEqual([]);
    expect(found({ 'values.yaml': values('default-plugins.yaml') })).toEqual([]);
  });

  const map = `kind: ConfigMap
metadata: {name: p}
data:
    guess.yaml: |
${GUESS}    precise.yaml: |
${PRECISE}---
`;
  const picker = (args: string): string =>
    deployment('picker', `args: [${args}]`).replace(
      'registry.example.com/image:tag',
      'ghcr.io/llm-d/llm-d-inference-scheduler:v0.4.0',
    );

  it('the one counts whose path an argument has', () => {
    const text = (args: string): string => map + picker(args) + silent;
    expect(found({ 'a.yaml': text('--config-file, /config/precise.yaml') })).toEqual([
      expect.stringMatching(/^kv-events-off a\.yaml:\d+ error$/),
    ]);
    expect(found({ 'a.yaml': text('--config-file, /config/guess.yaml') })).toEqual([]);
  });

  it('none counts where it is not said which, and that is said', () => {
    const { findings, notChecked } = inspect({ 'a.yaml': map + picker('-v=4') + silent });
    expect(findings).toEqual([]);
    expect(notChecked.map(({ reason }) => reason)).toContain(
      'several configurations stand there, and which of them it reads is not in this file',
    );
  });
});

describe('the mode of a picker that only 0.2 knows', () => {
  const values = (tag: string): string => `decode:
  containers:
    - {name: vllm, modelCommand: vllmServe, args: [--port=8000]}
inferenceExtension:
  image: {name: llm-d-inference-scheduler, tag: ${tag}}
  pluginsCustomConfig:
    x.yaml: |
${TRACKING}`;

  it('is read in 0.2, and where the release is not known', () => {
    expect(found({ 'values.yaml': values('v0.2.1') })).toEqual(['kv-events-off values.yaml:3 error']);
    expect(found({ 'values.yaml': values('latest') })).toEqual(['kv-events-off values.yaml:3 error']);
  });

  it('is a warning of its own from 0.3 on', () => {
    expect(found({ 'values.yaml': values('v0.3.1-rc.1') })).toEqual([
      'picker-index-empty values.yaml:11 warning',
    ]);
  });
});

it('values are not compared with a picker in a manifest beside them', () => {
  const manifest = `kind: ConfigMap
metadata: {name: p}
data:
    x.yaml: |
${PRECISE}`;
  const values = 'decode:\n  containers:\n    - {name: vllm, modelCommand: vllmServe, args: [--port=8000]}\n';
  expect(found({ 'a/values.yaml': values, 'a/output.yaml': manifest })).toEqual([]);
});
