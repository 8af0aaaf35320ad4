import { describe, expect, it } from 'vitest';
import { quotedPrompts } from '../../../../src/tools/doctor/gather/quoted-prompts.js';

async function foundIn(...lines: readonly string[]): Promise<readonly string[]> {
  const found = await quotedPrompts({ file: 'issue.txt', text: lines.join('\n') });
  return found.map(({ fault, values, first }) => `${fault.id} ${values.join(' | ')} ${first.place}`);
}

describe('prompts that a text compares', () => {
  it('differ in the time of day alone, in the lines of a comparison', async () => {
    expect(
      await foundIn(
        '- Conversation started: Monday, April 13, 2026 12:06 AM',
        '+ Conversation started: Monday, April 13, 2026 12:07 AM',
      ),
    ).toEqual(['prompt_head_changes 12:06 AM | 12:07 AM issue.txt:2']);
    expect(
      await foundIn(
        '< The current time is 2026-09-09T15:09:20Z.',
        '> The current time is 2026-09-09T15:10:41Z.',
      ),
    ).toEqual(['prompt_head_changes 2026-09-09T15:09:20Z | 2026-09-09T15:10:41Z issue.txt:2']);
  });

  it('differ in a random id or in seconds since 1970', async () => {
    const id = '0b5f0c1e-3f2a-4d59-9a51-3f1c2d4e5a6';
    expect(await foundIn(`- Session ${id}0 of the user`, `+ Session ${id}1 of the user`)).toHaveLength(1);
    expect(await foundIn('- Now: 1772543210', '+ Now: 1772543275')).toHaveLength(1);
  });

  it('differ in it in two lines of a prompt of the system, with others between them', async () => {
    expect(
      await foundIn(
        "SystemMessage(content='Current time is 15:09:20. You are an assistant.",
        'usage: cache_read 0',
        "SystemMessage(content='Current time is 15:09:34. You are an assistant.",
      ),
    ).toEqual(['prompt_head_changes 15:09:20 | 15:09:34 issue.txt:3']);
  });

  it('keep nothing of what the prompt says', async () => {
    const [found] = await quotedPrompts({
      file: 'issue.txt',
      text: '- My name is Ada, it is 12:06 now\n+ My name is Ada, it is 12:07 now',
    });
    expect(JSON.stringify(found)).not.toContain('Ada');
  });

  it('are none where lines are equal, or differ in words', async () => {
    expect(await foundIn('- It is 12:06 now', '+ It is 12:06 now')).toEqual([]);
    expect(await foundIn('- It is 12:06 now', '+ It was 12:07 then')).toEqual([]);
  });

  it('are none in logs, in code, and in objects of a cluster', async () => {
    expect(
      await foundIn('- INFO 03-03 10:00:00 [a.py:1] ready', '+ INFO 03-03 10:00:01 [a.py:1] ready'),
    ).toEqual([]);
    expect(await foundIn('- 2026-03-03 10:00:00 ready', '+ 2026-03-03 10:00:01 ready')).toEqual([]);
    expect(
      await foundIn(
        '- creationTimestamp: "2026-03-03T10:00:00Z"',
        '+ creationTimestamp: "2026-03-03T10:00:01Z"',
      ),
    ).toEqual([]);
    expect(
      await foundIn('diff --git a/x b/x', '@@ -1 +1 @@', '- it is 12:06 now', '+ it is 12:07 now'),
    ).toEqual([]);
  });

  it('are none in a long text', async () => {
    const long = Array.from({ length: 401 }, (_, at) => `a line ${at}`);
    expect(await foundIn(...long, '- It is 12:06 now', '+ It is 12:07 now')).toEqual([]);
  });
});
