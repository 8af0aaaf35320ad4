import { describe, expect, it } from 'vitest';
import type { Finding, Rule } from '../../../../../src/tools/manifests/lint/findings/finding.js';
import { formatGithub } from '../../../../../src/tools/manifests/lint/formats/github.js';
import { formatJson } from '../../../../../src/tools/manifests/lint/formats/json.js';
import { formatSarif } from '../../../../../src/tools/manifests/lint/formats/sarif.js';
import { formatText } from '../../../../../src/tools/manifests/lint/formats/text.js';
import { placesIn } from '../../../../../src/tools/manifests/source-file.js';

const TEXT = 'a: 1\nb: 2 # kept\nc: 3\n';

const FINDING: Finding = {
  ruleId: 'block-size-mismatch',
  severity: 'error',
  file: 'deploy/my graph.yaml',
  line: 2,
  column: 4,
  message: 'b is 2 and not 32, 100% wrong',
  consequence: 'No cached block is found.',
  advice: 'Set b to 32.',
  fix: { says: 'Set b to 32', file: 'deploy/my graph.yaml', edits: [{ start: 8, end: 9, text: '32' }] },
  related: [{ file: 'deploy/worker.yaml', line: 7, column: 3, says: 'the worker uses 32' }],
};

const RULE: Rule = {
  id: 'block-size-mismatch',
  severity: 'error',
  summary: 'Sizes differ.',
  explanation: 'Nothing shows it.',
};

describe('findings as text', () => {
  it('show place, cause, consequence, advice and the change as a patch', () => {
    const text = formatText([FINDING], {
      texts: new Map([[FINDING.file, TEXT]]),
      isColoured: false,
      fileCount: 2,
    });
    expect(text).toBe(
      [
        'deploy/my graph.yaml:2:4: error: b is 2 and not 32, 100% wrong [block-size-mismatch]',
        '    deploy/worker.yaml:7:3: the worker uses 32',
        '    At run time: No cached block is found.',
        '    To fix it: Set b to 32.',
        '    Set b to 32 (--fix writes it):',
        '',
        '    --- a/deploy/my graph.yaml',
        '    +++ b/deploy/my graph.yaml',
        '    @@ -1,3 +1,3 @@',
        '     a: 1',
        '    -b: 2 # kept',
        '    +b: 32 # kept',
        '     c: 3',
        '',
        '1 error in 2 files.',
        '',
      ].join('\n'),
    );
  });

  it('count themselves by severity', () => {
    const { fix: _, related: __, ...plain } = FINDING;
    const findings = [plain, plain, { ...plain, severity: 'note' as const }];
    const options = { texts: new Map(), isColoured: false, fileCount: 1 };
    expect(formatText(findings, options)).toMatch(/\n2 errors, 1 note in 1 file\.\n$/);
    expect(formatText([], options)).toBe('No findings in 1 file.\n');
  });
});

describe('findings as JSON', () => {
  it('have every field, also where there is nothing', () => {
    const { fix: _, related: __, ...plain } = FINDING;
    expect(JSON.parse(formatJson([FINDING, plain]))).toEqual({
      findings: [
        expect.objectContaining({ rule_id: 'block-size-mismatch', line: 2, column: 4, fix: FINDING.fix }),
        expect.objectContaining({ severity: 'error', fix: null, related: [] }),
      ],
      not_checked: [],
    });
  });
});

describe('findings as annotations of GitHub Actions', () => {
  it('are one line each, with what would end it escaped', () => {
    expect(formatGithub([{ ...FINDING, file: 'a,b:c.yaml', severity: 'note' }])).toBe(
      '::notice file=a%2Cb%3Ac.yaml,line=2,col=4,title=kv-accord block-size-mismatch' +
        '::b is 2 and not 32, 100%25 wrong%0ANo cached block is found.%0ASet b to 32.\n',
    );
  });
});

describe('findings as SARIF', () => {
  const log = JSON.parse(
    formatSarif([FINDING], {
      rules: [RULE],
      version: '1.2.3',
      placeOf: (_, offset) => placesIn(TEXT)(offset),
    }),
  );

  it('name the tool with its rules', () => {
    expect(log.version).toBe('2.1.0');
    expect(log.runs[0].tool.driver).toMatchObject({
      name: 'kv-accord',
      semanticVersion: '1.2.3',
      rules: [{ id: 'block-size-mismatch', defaultConfiguration: { level: 'error' } }],
    });
  });

  it('name absolute paths with their scheme', () => {
    const absolute = JSON.parse(
      formatSarif([{ ...FINDING, file: '/srv/a b.yaml' }], {
        rules: [RULE],
        version: '1.2.3',
        placeOf: () => undefined,
      }),
    );
    const [location] = absolute.runs[0].results[0].locations;
    expect(location.physicalLocation.artifactLocation.uri).toBe('file:///srv/a%20b.yaml');
  });

  it('show place, rule, related places and the change', () => {
    const [result] = log.runs[0].results;
    expect(result).toMatchObject({ ruleId: 'block-size-mismatch', ruleIndex: 0, level: 'error' });
    expect(result.locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'deploy/my%20graph.yaml' },
      region: { startLine: 2, startColumn: 4 },
    });
    expect(result.relatedLocations[0]).toMatchObject({ message: { text: 'the worker uses 32' } });
    expect(result.fixes[0].artifactChanges[0].replacements).toEqual([
      {
        deletedRegion: { startLine: 2, startColumn: 4, endLine: 2, endColumn: 5 },
        insertedContent: { text: '32' },
      },
    ]);
  });
});
