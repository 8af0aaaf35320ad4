import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DOCS_RULE } from '../../../../src/tools/manifests/lint/findings/docs-rule.js';
import { RULES } from '../../../../src/tools/manifests/lint/rules.js';

const page = readFileSync(new URL('../../../../docs/lint.md', import.meta.url), 'utf8');

describe('the rules', () => {
  it('have names of their own that stay', () => {
    expect(RULES.map(({ id }) => id)).toEqual([
      'block-size-unset',
      'block-size-mismatch',
      'worker-card-differs',
      'transfer-buffer-size',
      'unknown-size-flag',
      'router-block-size-default',
      'indexer-block-size',
      'kv-events-off',
      'prefix-caching-off',
      'events-ignored',
      'router-settings-unread',
      'event-plane-differs',
      'picker-index-empty',
      'picker-model-differs',
      'hash-seed-differs',
      'hash-algorithm-differs',
      'kvaware-without-lmcache',
      'lmcache-chunk-size',
      'cache-settings-unread',
      'pair-settings',
      'side-channel-host',
      'side-channel-port',
      'kv-both-deprecated',
      'sidecar-deadlock',
      'missing-labels',
      'gate-without-workers',
      'side-channel-closed',
      'cache-store-address',
      'pool-without-gate',
      'pool-fail-open',
      'pool-port-mismatch',
      'kustomization-refused',
      'unreadable',
    ]);
  });

  it('are those of the documentation, with the same severity', () => {
    const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (error|warning|note) \|/gm)];
    expect(rows.map(([, id, severity]) => `${id} ${severity}`)).toEqual(
      [...RULES, DOCS_RULE].map(({ id, severity }) => `${id} ${severity}`),
    );
  });

  it('say in whole sentences what is wrong and what happens', () => {
    for (const { summary, explanation } of RULES) {
      expect(summary).toMatch(/^(?:[A-Z]|dynamo\.|vLLM ).*\.$/);
      expect(explanation).toMatch(/^(?:[A-Z]|dynamo\.|vLLM ).*\.$/);
    }
  });
});
