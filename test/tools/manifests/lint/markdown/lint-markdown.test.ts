import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixAll } from '../../../../../src/tools/manifests/lint/fixes/apply-fixes.js';
import { lintTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { lintMarkdown } from '../../../../../src/tools/manifests/lint/markdown/lint-markdown.js';

const NOTE = "# Must match the backend's tokens_per_block. vLLM default: 16, TRT-LLM default: 32.";

/** As the page of router examples has it: YAML and Python that set a size, and no word about the backend. */
const PAGE = `# Router examples

Create a router:

\`\`\`python
router = KvRouter(
    endpoint=endpoint,
    block_size=16,  # tokens
    config=config,
)
\`\`\`

Configure it:

\`\`\`yaml
envs:
  - name: DYN_ROUTER_MODE
    value: kv
  - name: DYN_KV_CACHE_BLOCK_SIZE
    value: "16"
\`\`\`

\`\`\`bash
python -m dynamo.frontend \\
  --router-mode kv \\
  --kv-cache-block-size 16
\`\`\`
`;

function fix(text: string): ReturnType<typeof fixAll> {
  return fixAll([{ file: 'page.md', text }], (texts) => lintTexts(texts, { lintMarkdown }));
}

describe('documentation that sets block sizes', () => {
  it('is reported where nothing says that they must match the backend', () => {
    const found = lintMarkdown('page.md', PAGE).map(({ ruleId, line, column, message }) => [
      ruleId,
      line,
      column,
      message.split(',')[0],
    ]);
    expect(found).toEqual([
      ['docs-block-size-note', 8, 5, 'block_size is shown as 16'],
      ['docs-block-size-note', 19, 11, 'DYN_KV_CACHE_BLOCK_SIZE is shown as 16'],
      ['docs-block-size-note', 26, 3, '--kv-cache-block-size is shown as 16'],
    ]);
  });

  it('gets the note behind each, and above a command that goes on', () => {
    const { texts, findings } = fix(PAGE);
    expect(findings).toEqual([]);
    const text = texts[0]?.text ?? '';
    expect(text).toContain(`    block_size=16,  # tokens  ${NOTE}\n`);
    expect(text).toContain(`    value: "16"  ${NOTE}\n`);
    expect(text).toContain(`\`\`\`bash\n${NOTE}\npython -m dynamo.frontend`);
    expect(text.replaceAll(`  ${NOTE}`, '').replaceAll(`${NOTE}\n`, '')).toBe(PAGE);
  });

  it.each([
    ['in the code', '```yaml\nDYN_KV_CACHE_BLOCK_SIZE: 16 # must match the backend\n```\n'],
    ['before it', 'This should match your backend.\n\n```yaml\nDYN_KV_CACHE_BLOCK_SIZE: 16\n```\n'],
    [
      'after it',
      '```sh\nexport DYN_KV_CACHE_BLOCK_SIZE=16\n```\n\nIt has to be the same as the size of the engine.\n',
    ],
  ])('is fine where it is said %s', (_, text) => {
    expect(lintMarkdown('page.md', text)).toEqual([]);
  });

  it('gets the note below code that can have no comments', () => {
    const text = '```json\n{"DYN_KV_CACHE_BLOCK_SIZE": "16"}\n```\n\nText.\n';
    const fixed = fix(text);
    expect(fixed.findings).toEqual([]);
    expect(fixed.texts[0]?.text).toBe(
      `\`\`\`json\n{"DYN_KV_CACHE_BLOCK_SIZE": "16"}\n\`\`\`\n\n${NOTE.replace('#', '>')}\n\nText.\n`,
    );
  });

  it.each([
    ['a list', '1. One:\n\n   ', '   '],
    ['a list that begins with it', '- ', '  '],
    ['a quote', '> ', '> '],
  ])('gets the note inside of %s', (_, first, next) => {
    const below = fix(
      `${first}\`\`\`json\n${next}{"DYN_KV_CACHE_BLOCK_SIZE": "16"}\n${next}\`\`\`\n\nText.\n`,
    );
    expect(below).toMatchObject({ findings: [], applied: 1 });
    expect(below.texts[0]?.text).toContain(
      `${next}\`\`\`\n${next.trimEnd()}\n${next}${NOTE.replace('#', '>')}\n\nText.\n`,
    );
    const above = fix(
      `${first}\`\`\`sh\n${next}python -m dynamo.frontend \\\n${next}  --kv-cache-block-size 16\n${next}\`\`\`\n`,
    );
    expect(above).toMatchObject({ findings: [], applied: 1 });
    expect(above.texts[0]?.text).toContain(`\`\`\`sh\n${next}${NOTE}\n${next}python`);
  });

  it('is reported of a whole manifest that has the fault, at its place in the page', () => {
    const manifest = [
      'apiVersion: nvidia.com/v1alpha1',
      'kind: DynamoGraphDeployment',
      'metadata: {name: graph}',
      'spec:',
      '  services:',
      '    Frontend:',
      '      componentType: frontend',
      '      envs: [{name: DYN_ROUTER_MODE, value: kv}]',
      '      extraPodSpec: {mainContainer: {image: my-registry/tensorrtllm-runtime:my-tag}}',
      '    Worker:',
      '      componentType: worker',
      '      extraPodSpec: {mainContainer: {image: a/b:c, command: [python3, -m, dynamo.trtllm]}}',
    ].join('\n');
    const [finding] = lintMarkdown('page.md', `Text.\n\n\`\`\`yaml\n${manifest}\n\`\`\`\n`);
    expect(finding).toMatchObject({ ruleId: 'block-size-unset', file: 'page.md', line: 11 });
  });

  it.each(['> ', '- ', '1. - '])(
    'is reported as unreadable where it is nested beyond any measure: %s',
    (level) => {
      expect(lintMarkdown('page.md', `Text.\n\n${level.repeat(50_000)}x\n`)).toEqual([
        expect.objectContaining({ ruleId: 'unreadable', file: 'page.md', line: 1 }),
      ]);
      expect(lintMarkdown('page.md', `${level.repeat(20)}x\n`)).toEqual([]);
    },
  );

  it('is read whatever stands in it', () => {
    const lines = fc.constantFrom(
      '```yaml',
      '```',
      'DYN_KV_CACHE_BLOCK_SIZE=16',
      '> x',
      '- ```python',
      'block_size=1',
      '\\',
      '"',
      '\r',
      '',
    );
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 30 }), (parts) => {
        const text = parts.join('\n');
        const { findings } = fix(text);
        for (const { line, column } of findings) expect(Math.min(line, column)).toBeGreaterThan(0);
      }),
      { numRuns: 200 },
    );
  });
});
