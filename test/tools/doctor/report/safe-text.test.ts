import { expect, it } from 'vitest';
import { changedLines, placeText, shownDiff } from '../../../../src/tools/doctor/report/safe-text.js';

it('shows a change without the values of secrets next to it', () => {
  const before =
    '- name: DB_PASSWORD\n  value: hunter2\n- name: A\n  value: b\nurl: http://me:hunter2@host/\n';
  const diff = shownDiff({ file: 'a.yaml', before, after: `${before}# end\n` });
  expect(diff).not.toContain('hunter2');
  expect(diff).toContain('   value: b');
  expect(diff).toMatch(/\+# end$/);
});

it.each([
  ['- name: API_KEY\n  value: hunter2\n'],
  ['- value: hunter2\n  name: HF_TOKEN\n'],
  ["env: [{name: DB_PASSWORD, value: 'hunter2'}]\n"],
  ['- name: CREDENTIALS\n  value: |\n    user me\n    word hunter2\n'],
  ['password: hunter2\n'],
])('hides the value in %j', (secret) => {
  const diff = shownDiff({ file: 'a.yaml', before: secret, after: `${secret}# end\n` });
  expect(diff).not.toContain('hunter2');
  expect(diff).toMatch(/\+# end$/);
});

it('hides a value whose name stands before the part that is shown', () => {
  const before = `- name: API_KEY\n  value: hunter2\n${'  # more\n'.repeat(2)}`;
  const diff = shownDiff({ file: 'a.yaml', before, after: `${before}# end\n` });
  expect(diff).not.toMatch(/hunter2|API_KEY/);
});

it('shows the value of a setting between secrets', () => {
  const before =
    '- name: A_TOKEN\n  value: hunter2\n- name: A\n  value: b\n- name: B_TOKEN\n  value: hunter2\n';
  const diff = shownDiff({ file: 'a.yaml', before, after: before.replace('value: b', 'value: c') });
  expect(diff).toContain('-  value: b\n+  value: c\n');
  expect(diff).not.toContain('hunter2');
});

it('shortens a change to the lines that come and go', () => {
  const diff = shownDiff({ file: 'a', before: 'a\nb\nc\n', after: 'a\nx\ny\nc\n' });
  expect(changedLines(diff, 2)).toEqual({ lines: ['-b', '+x'], more: 1 });
});

it('shows a place without its credentials', () => {
  expect(placeText({ place: 'http://me:hunter2@host/metrics', text: '' })).toBe(
    'http://[masked]@host/metrics',
  );
});
