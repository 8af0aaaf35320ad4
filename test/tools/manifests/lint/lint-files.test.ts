import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../../src/tools/manifests/lint/findings/finding.js';
import { fixAll } from '../../../../src/tools/manifests/lint/fixes/apply-fixes.js';
import { lintFiles } from '../../../../src/tools/manifests/lint/lint-files.js';
import { RULES } from '../../../../src/tools/manifests/lint/rules.js';
import { readSourceFile } from '../../../../src/tools/manifests/source-file.js';
import { applyEdits } from '../../../../src/tools/manifests/text-edit.js';
import { propertyRuns } from '../../../support/property-runs.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/manifests', import.meta.url));

interface Named {
  readonly file: string;
  readonly text: string;
}

function readFixtures(folder: string): readonly Named[] {
  const names = readdirSync(join(FIXTURES, folder)).sort();
  return names.map((file) => ({ file, text: readFileSync(join(FIXTURES, folder, file), 'utf8') }));
}

const correct = readFixtures('correct');
const faulty = readFixtures('faulty');

function lint(texts: readonly Named[]): readonly Finding[] {
  const isScript = ({ file }: Named): boolean => file.endsWith('.sh');
  return lintFiles(
    texts.filter((one) => !isScript(one)).map(({ file, text }) => readSourceFile(file, text)),
    texts.filter(isScript),
  );
}

/** What is found in each faulty fixture: rule, line, column, severity. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'block-size-mismatch-epp.yaml': ['block-size-mismatch 13:23 error'],
  'block-size-mismatch-flag.sh': ['block-size-mismatch 3:32 warning'],
  'block-size-mismatch-workers.yaml': ['block-size-mismatch 30:59 error'],
  'block-size-mismatch.yaml': ['block-size-mismatch 16:19 note'],
  'block-size-unset-trtllm.yaml': ['block-size-unset 16:18 note'],
  'cache-settings-unread.sh': ['cache-settings-unread 3:28 warning'],
  'cache-store-address.yaml': ['cache-store-address 15:22 error'],
  'events-ignored.yaml': ['events-ignored 12:19 note'],
  'gate-without-workers.yaml': ['gate-without-workers 10:43 error'],
  'hashes.yaml': [
    'hash-seed-differs 25:23 warning',
    'hash-seed-differs 35:18 warning',
    'hash-algorithm-differs 22:62 warning',
  ],
  'indexer-block-size.sh': ['indexer-block-size 3:52 error'],
  'kv-both.yaml': ['kv-both-deprecated 34:16 note'],
  'kv-events-off.yaml': ['kv-events-off 20:15 error'],
  'missing-labels.yaml': ['missing-labels 22:42 warning'],
  'pair-settings-dynamo.yaml': ['pair-settings 43:30 warning'],
  'pair-settings-sglang.yaml': ['pair-settings 23:132 error'],
  'pair-settings.yaml': ['pair-settings 32:23 error'],
  'picker-index-empty.yaml': ['picker-index-empty 11:15 error', 'picker-index-empty 39:15 error'],
  'picker-model-differs.yaml': ['picker-model-differs 37:15 warning', 'picker-model-differs 40:15 warning'],
  'pool-fail-open.yaml': ['pool-fail-open 11:18 warning'],
  'pool-ports.yaml': ['pool-without-gate 4:18 note', 'pool-port-mismatch 8:15 warning'],
  'prefix-caching-off.yaml': ['prefix-caching-off 17:52 error'],
  'production-stack-values.yaml': ['kvaware-without-lmcache 7:17 error', 'lmcache-chunk-size 16:19 warning'],
  'router-settings-unread.sh': ['router-settings-unread 2:25 warning'],
  'router-block-size-default.yaml': ['router-block-size-default 10:34 error'],
  'side-channel-closed.yaml': ['side-channel-closed 39:18 error'],
  'side-channel-host.yaml': ['side-channel-host 11:27 error'],
  'side-channel-port.sh': ['side-channel-port 4:24 error'],
  'sidecar-deadlock.yaml': [
    'sidecar-deadlock 11:38 error',
    'sidecar-deadlock 22:14 error',
    'sidecar-deadlock 33:32 error',
  ],
  'transfer-buffer-size.sh': ['transfer-buffer-size 6:25 warning'],
  'unknown-size-flag.yaml': ['unknown-size-flag 14:35 warning'],
  'unreadable-helm.yaml': ['unreadable 4:10 note'],
  'event-plane-differs.sh': ['event-plane-differs 4:17 error'],
  'unreadable.yaml': ['unreadable 8:9 error'],
  'worker-card-differs.yaml': ['block-size-mismatch 24:19 note', 'worker-card-differs 9:25 error'],
};

describe('manifests without a fault', () => {
  it('are twenty at least', () => {
    expect(correct.length).toBeGreaterThanOrEqual(20);
  });

  it.each(correct)('finds nothing in $file', (named) => {
    expect(lint([named])).toEqual([]);
  });

  it('finds nothing in all of them together', () => {
    expect(lint(correct)).toEqual([]);
  });
});

describe('manifests with a fault', () => {
  it('knows what is expected of each', () => {
    expect(faulty.map(({ file }) => file)).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(faulty)('finds what is wrong in $file, where it is', (named) => {
    const found = lint([named]).map(
      ({ ruleId, line, column, severity }) => `${ruleId} ${line}:${column} ${severity}`,
    );
    expect(found).toEqual(EXPECTED[named.file]);
  });

  it('has one for every rule', () => {
    // Of several files.
    const refused = [
      { file: 'k/kustomization.yaml', text: 'resources: [worker.yaml, worker.yaml]\n' },
      {
        file: 'k/worker.yaml',
        text: correct.find(({ file }) => file === 'vllm-deployment.yaml')?.text ?? '',
      },
    ];
    const all = [...faulty.map((named) => [named]), refused];
    const found = new Set(all.flatMap((named) => lint(named)).map(({ ruleId }) => ruleId));
    expect(RULES.map(({ id }) => id).filter((id) => !found.has(id))).toEqual([]);
  });

  it('says at every finding what happens and what to do', () => {
    for (const { message, consequence, advice } of lint(faulty)) {
      expect(message).not.toMatch(/undefined|\n/);
      expect(consequence).not.toMatch(/undefined/);
      expect(consequence.length).toBeGreaterThan(20);
      expect(advice.length).toBeGreaterThan(20);
    }
  });
});

describe('the TensorRT-LLM example without a block size', () => {
  const [named] = faulty.filter(({ file }) => file === 'block-size-unset-trtllm.yaml');
  const text = named?.text ?? '';
  const at = (version: string): readonly Finding[] =>
    lint([{ file: 'agg_router.yaml', text: text.replaceAll(':my-tag', `:${version}`) }]);

  /** The same together with the file that its engine reads. */
  const withEngine = (version: string, engine: string): readonly Finding[] =>
    lint([
      { file: 'agg_router.yaml', text: text.replaceAll(':my-tag', `:${version}`) },
      { file: 'x/engine_configs/qwen3/agg.yaml', text: engine },
    ]);
  const python = text.replace(
    '          value: kv\n',
    '          value: kv\n        - name: DYN_CHAT_PROCESSOR\n          value: vllm\n',
  );

  // The size of the engine is in a file that nobody has seen: it may be 64 as well, and then the two lines with 32 do harm.
  it('claims no size and changes nothing while the file of the engine is unseen', () => {
    const [finding] = at('my-tag');
    expect(finding?.fix).toBeUndefined();
    expect(finding?.message).not.toMatch(/32|16/);
  });

  it('names the file, what routers take, and what to look at', () => {
    const [finding] = at('my-tag');
    expect(finding?.message).toContain('takes its block size from ./engine_configs/qwen3/agg.yaml');
    expect(finding?.unseenFile).toBe('./engine_configs/qwen3/agg.yaml');
    expect(finding?.related).toMatchObject([{ line: 38 }]);
    expect(finding?.consequence).toMatch(/16 when it has none.*--kv-block-size \(32 without it\)/);
    expect(finding?.advice).toMatch(/tokens_per_block.*\.\/engine_configs\/qwen3\/agg\.yaml.*--with FILE/);
    expect(finding?.advice).toMatch(
      /DYN_KV_CACHE_BLOCK_SIZE.*--kv-block-size.*kv-accord doctor.*kv-accord exec/,
    );
  });

  it('is fixed by the two lines that its reporter asked for once the file shows the default', () => {
    const [finding] = withEngine('my-tag', 'backend: pytorch\n');
    expect(finding).toMatchObject({ ruleId: 'block-size-unset', severity: 'warning' });
    expect(applyEdits(text, finding?.fix?.edits ?? [])).toBe(
      text.replace(
        '          value: kv\n',
        '          value: kv\n        - name: DYN_KV_CACHE_BLOCK_SIZE\n          value: "32"  # Must match TRT-LLM tokens_per_block (default: 32)\n',
      ),
    );
  });

  it('is a worker with a card of its own once the file shows another size', () => {
    const findings = withEngine('my-tag', 'kv_cache_config: {tokens_per_block: 64}\n');
    expect(findings.map(({ ruleId }) => ruleId)).toEqual(['worker-card-differs']);
    expect(findings[0]?.fix?.says).toContain('64');
  });

  it.each(['0.9.0', '1.3.1'])('is a note with Dynamo %s, where the card decides', (version) => {
    const findings = at(version);
    expect(findings.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([
      ['block-size-unset', 'note'],
    ]);
    expect(findings[0]?.consequence).toContain(version);
    expect(findings[0]?.consequence).toContain('changes nothing');
  });

  // From 1.4 on the worker asks its engine, whatever the file says.
  it('has nothing to be said of it with Dynamo 1.6.1', () => {
    expect(at('1.6.1')).toEqual([]);
  });

  it('is a warning where the frontend is known to decide, and an error once the file is seen', () => {
    const named = { file: 'x.yaml', text: python.replaceAll(':my-tag', ':1.2.1') };
    expect(lint([named])).toMatchObject([{ ruleId: 'block-size-unset', severity: 'warning' }]);
    const engine = { file: 'x/engine_configs/qwen3/agg.yaml', text: 'backend: pytorch\n' };
    expect(lint([named, engine])).toMatchObject([{ ruleId: 'block-size-unset', severity: 'error' }]);
  });

  it('is a warning where the frontend may decide', () => {
    expect(lint([{ file: 'x.yaml', text: python }])).toMatchObject([{ severity: 'warning' }]);
  });
});

describe('fixes', () => {
  const fixable = faulty.filter((named) => lint([named]).some(({ fix }) => fix !== undefined));

  it('are there for most of what can be fixed without a person', () => {
    expect(fixable.map(({ file }) => file)).toEqual([
      'block-size-mismatch-epp.yaml',
      'block-size-mismatch-flag.sh',
      'block-size-mismatch.yaml',
      'indexer-block-size.sh',
      'kv-events-off.yaml',
      'pool-fail-open.yaml',
      'router-block-size-default.yaml',
      'worker-card-differs.yaml',
    ]);
  });

  it.each(fixable)('leave no finding with a fix in $file, and keep its comments', (named) => {
    const fixed = fixAll([named], lint);
    expect(fixed.applied).toBeGreaterThan(0);
    expect(fixed.findings).toEqual([]);
    const comments = named.text.match(/#.*$/gm) ?? [];
    for (const comment of comments) {
      expect(fixed.texts[0]?.text).toContain(comment);
    }
  });

  it('keep every byte outside of their edits, also with CRLF and without a last line end', () => {
    for (const named of fixable) {
      for (const text of [named.text.replaceAll('\n', '\r\n'), named.text.trimEnd()]) {
        const findings = lint([{ ...named, text }]);
        for (const { fix } of findings) {
          if (fix === undefined) {
            continue;
          }
          const fixed = applyEdits(text, fix.edits);
          const inserted = fix.edits.map((edit) => edit.text).join('');
          const lineEnds = new Set(inserted.match(/\r?\n/g));
          expect([...lineEnds], named.file).toEqual(
            lineEnds.size === 0 ? [] : [text.includes('\r\n') ? '\r\n' : '\n'],
          );
          expect(/(?<!\r)\n/.test(fixed), named.file).toBe(/(?<!\r)\n/.test(text));
          const [edit] = fix.edits;
          expect(fixed.startsWith(text.slice(0, edit?.start))).toBe(true);
          expect(fixed.endsWith(text.slice(edit?.end))).toBe(true);
          expect(lint([{ ...named, text: fixed }]).length).toBeLessThanOrEqual(findings.length);
        }
      }
    }
  });
});

describe('hostile input', () => {
  const seeds = [...correct, ...faulty].filter(({ file }) => file.endsWith('.yaml')).map(({ text }) => text);
  const scripts = [...correct, ...faulty].filter(({ file }) => file.endsWith('.sh')).map(({ text }) => text);

  /** Real texts with pieces cut out, doubled and replaced. */
  const damaged = (from: readonly string[]): fc.Arbitrary<string> =>
    fc
      .tuple(
        fc.constantFrom(...from),
        fc.array(
          fc.tuple(
            fc.nat(),
            fc.nat(60),
            fc.oneof(
              fc.string(),
              fc.constantFrom('*a', '&a ', '<<: *a', '{', '[', '"', "'", '$(', '- ', '\n', ': '),
            ),
          ),
          { maxLength: 4 },
        ),
      )
      .map(([text, edits]) =>
        edits.reduce((current, [at, length, piece]) => {
          const start = at % (current.length + 1);
          return current.slice(0, start) + piece + current.slice(start + length);
        }, text),
      );

  const check = (named: Named): void => {
    for (const { fix, line, column } of lint([named])) {
      expect(line).toBeGreaterThan(0);
      expect(column).toBeGreaterThan(0);
      const before = lint([named]).length;
      if (fix !== undefined) {
        expect(
          fix.edits.every(({ start, end }) => start >= 0 && start <= end && end <= named.text.length),
        ).toBe(true);
        // No fix makes a text unreadable.
        const after = lint([{ ...named, text: applyEdits(named.text, fix.edits) }]);
        expect(after.filter(({ ruleId }) => ruleId === 'unreadable').length).toBeLessThanOrEqual(before);
      }
    }
  };

  it('never makes it throw, and never a fix outside of the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), damaged(seeds)), (text) => {
        check({ file: 'x.yaml', text });
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  it('never makes it throw in scripts', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), damaged(scripts)), (text) => {
        check({ file: 'x.sh', text });
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  it.each([
    ['brackets', '['.repeat(200_000)],
    ['braces', '{a: '.repeat(100_000)],
    ['indentation', Array.from({ length: 3_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    ['documents', '---\na: b\n'.repeat(20_000)],
    ['anchors', `a: &a [x]\nb: [${'*a, '.repeat(5_000)}]\n`],
    [
      'alias bombs',
      `a: &a [x]\n${Array.from({ length: 26 }, (_, i) => `k${i}: &k${i} [${`*${i === 0 ? 'a' : `k${i - 1}`}, `.repeat(3)}]`).join('\n')}\n`,
    ],
    [
      'variables in variables',
      `kind: Pod\nspec:\n  containers:\n  - name: c\n    env:\n    - {name: A, value: ${'x'.repeat(100_000)}}\n    - {name: B, value: "${'$(A)'.repeat(100_000)}"}\n    args: ["${'$(A)'.repeat(100_000)}", "vllm", "serve"]\n`,
    ],
    [
      'arguments',
      `kind: Pod\nspec: {containers: [{name: c, command: [${'python3, '.repeat(20_000)} -m, dynamo.frontend], args: [${'--router-mode, kv, '.repeat(20_000)}]}]}\n`,
    ],
    [
      'frontends before many workers',
      [
        'kind: Pod\nspec: {containers: [{name: c, command: [python3, -m, dynamo.frontend, --router-mode, kv, --kv-cache-block-size, "16"]}]}\n---\n',
        'kind: Pod\nspec: {containers: [{name: c, command: [python3, -m, dynamo.vllm, --model, m, --block-size, "32"]}]}\n---\n',
      ]
        .map((pod) => pod.repeat(1_000))
        .join(''),
    ],
    [
      'pods',
      'kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, command: [python3, -m, dynamo.vllm, --model, m]}]}\n---\n'.repeat(
        2_000,
      ),
    ],
    ['an anchor in itself', 'kind: Deployment\nspec: &a\n  template: *a\n  spec: *a\n  containers: [*a]\n'],
  ])(
    'takes many %s in its stride',
    (_name, text) => {
      // The processor's time: that on the clock says more of what else runs on the machine.
      const before = process.cpuUsage();
      lint([{ file: 'x.yaml', text }]);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(20_000);
    },
    120_000,
  );

  it('reads no script that is beyond any measure', () => {
    expect(
      lint([{ file: 'x.sh', text: `${'a '.repeat(200_000)}\npython3 -m dynamo.frontend --router-mode kv` }]),
    ).toEqual([]);
    expect(lint([{ file: 'x.sh', text: `${'$('.repeat(20_000)}` }])).toEqual([]);
  });
});
