import { describe, expect, it } from 'vitest';
import { cleanLine } from '../../../../src/tools/doctor/logs/clean-line.js';

const CONTEXT = {
  nowMs: Date.parse('2026-11-22T00:00:00Z'),
  gaps: { hasNoZone: false, hasNoYear: false },
};
const MS = Date.parse('2026-02-16T14:38:53.950Z');
const DYNAMO = '2026-02-16T14:38:53.950961Z  INFO dynamo_llm: Selected worker: worker_id=7';

const clean = (raw: string): { text: string; ms: number | undefined; who: string } => {
  const { text, ms, who } = cleanLine(raw, CONTEXT);
  return { text, ms, who };
};

describe('a cleaned line', () => {
  it.each([
    ['nothing around it', DYNAMO, ''],
    [
      'colours',
      `\u001b[2m2026-02-16T14:38:53.950961Z\u001b[0m \u001b[32m INFO\u001b[0m dynamo_llm: Selected worker: \u001b[3mworker_id\u001b[0m\u001b[2m=\u001b[0m7`,
      '',
    ],
    ['the frame of a terminal', `\u2502 ${DYNAMO}      \u2502`, ''],
    ['the mark of a quotation', `> ${DYNAMO}`, ''],
    ['the prefix of kubectl', `[pod/frontend-0/main] ${DYNAMO}`, 'frontend-0'],
    ['the prefix of compose', `frontend-1  | ${DYNAMO}`, 'frontend-1'],
    [
      'the coloured prefix of stern',
      `\u001b[36mfrontend-0\u001b[0m \u001b[35mmain\u001b[0m ${DYNAMO}`,
      'frontend-0',
    ],
    ['the time of kubectl', `2026-02-16T14:38:53.950961123Z ${DYNAMO}`, ''],
    ['the time of docker with a zone', `2026-02-16T15:38:53.950961123+01:00 ${DYNAMO}`, ''],
    ["the time of GitHub's actions", `2026-02-16T14:38:53.9509611Z ${DYNAMO}`, ''],
    [
      'the prefixes of compose and docker',
      `frontend-1  | 2026-02-16T14:38:53.950961123Z ${DYNAMO}`,
      'frontend-1',
    ],
    ['the tag of mpirun', `[1,0]<stdout>:${DYNAMO}`, ''],
    ['the prefix of a container runtime', `2026-02-16T14:39:00.1Z stdout F ${DYNAMO}`, ''],
    [
      "a container runtime's JSON",
      JSON.stringify({ log: `${DYNAMO}\n`, stream: 'stderr', time: '2026-02-16T14:38:53.950961Z' }),
      '',
    ],
  ])('has lost %s', (_, raw, who) => {
    const { text, ms, who: found } = clean(raw);
    expect(text).toBe(DYNAMO);
    expect(new Date(ms ?? 0).toISOString().slice(0, 16)).toMatch(/2026-02-16T14:3[89]/);
    expect(found).toBe(who);
  });

  it("is in words when it was JSON, with worker ids that are larger than a double's", () => {
    const json =
      '{"time":"2026-02-16T14:38:53.950961Z","level":"INFO","target":"dynamo_kv_router::scheduling::selector","message":"Selected worker","worker_id":14890345699382878635,"logit":252.375,"words":"two words"}';
    expect(clean(json)).toEqual({
      text: 'Selected worker level=INFO target=dynamo_kv_router::scheduling::selector worker_id=14890345699382878635 logit=252.375 words="two words"',
      ms: MS,
      who: '',
    });
  });

  it("takes the fields of tracing's own formatter, one level deeper", () => {
    const json =
      '{"timestamp":"2026-02-16T14:38:53.950961Z","fields":{"message":"Selected worker","worker_id":7}}';
    expect(clean(json).text).toBe('Selected worker worker_id=7');
  });

  it('keeps the indentation of code behind the time of kubectl', () => {
    expect(clean('2026-02-16T14:38:53.950961123Z   File "a.py", line 1, in f').text).toBe(
      '  File "a.py", line 1, in f',
    );
  });

  it('keeps a time of a program that has as many digits', () => {
    const line = '2026-02-16T14:38:53.950961123Z  INFO smg::server: started';
    expect(clean(line).text).toBe(line);
  });

  it.each(['    ', '\t', '(ServeReplica:app:LLMServer pid=7, ip=10.0.0.1) '])(
    'is in words when it was JSON behind %j',
    (before) => {
      expect(clean(`${before}{"time":"2026-02-16T14:38:53.9Z","message":"Selected worker"}`).text).toBe(
        'Selected worker',
      );
    },
  );

  it('stays text when it is JSON that was cut', () => {
    const cut = '{"time":"2026-02-16T14:38:53.950961Z","message":"Selected wor';
    expect(clean(cut)).toEqual({ text: cut, ms: undefined, who: '' });
  });

  it('takes no word of a sentence for a pod', () => {
    expect(clean('hello world INFO is a word').who).toBe('');
    expect(clean('a sentence | with a bar').who).toBe('');
  });
});
