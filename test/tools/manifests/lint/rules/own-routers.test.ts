import { describe, expect, it } from 'vitest';
import { deployment, found, inspect, vllm } from '../support.js';

const engine = (tokens: number): string =>
  deployment(`w${tokens}`, `command: [vllm, serve, m, --served-model-name, m, --block-size, "${tokens}"]`);
const own = (more = '', env = ''): string =>
  deployment(
    'front',
    `command: [kv-accord, frontend, --workers, "k8s://a/b:50061", --insecure${more}]\nenv: [${env}]`,
  );
const said = (text: string): readonly string[] =>
  inspect({ 'a.yaml': text }).findings.map(({ consequence }) => consequence ?? '');

describe('engines of one model with two sizes', () => {
  it('keep the gate of kv-accord shut, and that is what is said', () => {
    expect(said(own() + engine(16) + engine(32))).toEqual([
      expect.stringContaining('The gate of kv-accord stays shut'),
    ]);
  });

  it('are no fault where kv-accord re-hashes blocks, by its flag or its variable', () => {
    expect(found({ 'a.yaml': own(', --block-size-policy, rehash') + engine(16) + engine(32) })).toEqual([]);
    const variable = own('', '{name: KV_ACCORD_BLOCK_SIZE_POLICY, value: rehash}');
    expect(found({ 'a.yaml': variable + engine(16) + engine(32) })).toEqual([]);
    expect(found({ 'a.yaml': own(', --block-size-policy, refuse') + engine(16) + engine(32) })).toHaveLength(
      1,
    );
  });

  it('are a fault where their common multiple is larger than what is re-hashed', () => {
    expect(
      found({ 'a.yaml': own(', --block-size-policy, rehash') + engine(1040) + engine(1056) }),
    ).toHaveLength(1);
  });

  it('are reported once where an override decides, by the worker that differs from it', () => {
    expect(said(own(', --kv-cache-block-size, "32"') + engine(16) + engine(32))).toEqual([
      expect.stringContaining('The number overrides what workers report'),
    ]);
  });

  it('lose a part of the fleet behind a frontend of Dynamo', () => {
    const exec = deployment(
      'front',
      'command: [kv-accord, exec, --insecure, --, python3, -m, dynamo.frontend]',
    );
    expect(said(exec + vllm(16, 'a') + vllm(32, 'b'))).toContainEqual(
      expect.stringContaining('A frontend keeps one size and rejects the other workers'),
    );
  });
});
