import { describe, expect, it } from 'vitest';
import { SpreadErrors } from '../../../../src/tools/doctor/logs/spread-errors.js';

/** What is made of lines of which those with a level are errors. */
function errorsOf(...lines: readonly string[]): string[] {
  const errors: string[] = [];
  const spread = new SpreadErrors({
    onError: (line, text) => errors.push(`${line.lineNumber}: ${text}`),
    onHeading: () => {},
    isKnown: (line, text) => {
      if (!text.includes('known by both of its lines')) return false;
      errors.push(`${line.lineNumber}: known`);
      return true;
    },
  });
  for (const [at, text] of lines.entries()) {
    const line = { lineNumber: at + 1, text, ms: undefined, who: '', fields: undefined, record: undefined };
    if (spread.follow(line)) continue;
    if (/ERROR|Error:|\[E\]|^E\d/.test(text)) spread.add(line);
  }
  spread.finish();
  return errors;
}

const SENTENCE = 'the frobnicator of block 7 is out of tune';

describe('an error over several lines', () => {
  it.each([
    'ERROR 11-02 10:00:01 [core.py:1]',
    'ERROR 11-02 10:00:01 [core.py:1] ',
    '(EngineCore_0 pid=12) ERROR 11-02 10:00:01 [v1/engine/core.py:1]',
    '2026-11-02 10:00:01,123 - my.module - ERROR - ',
    '2026-11-02 10:00:01.123 | ERROR    | my.module:f:12 -',
    '[2026-11-02 10:00:01,123] LMCache ERROR:',
    'ERROR:root:',
    'ERROR:my.module:',
    '2026-11-02T10:00:00.1Z ERROR dynamo_llm::http::service:',
    '[TensorRT-LLM][ERROR]',
    '[11/02/2026-10:00:01] [TRT-LLM] [E]',
    'E1102 10:00:01.123456  1234 real_client.cpp:12]',
    'Error:',
    'ERROR 11-02 10:00:01 [core.py:1] Stack trace:',
  ])('has its message in the line below %s', (header) => {
    expect(errorsOf(header, SENTENCE)).toEqual([`1: ${header.trimEnd()} ${SENTENCE}`]);
  });

  it('goes on behind empty lines, and without what a process writes before each', () => {
    expect(
      errorsOf('(Worker pid=7) ERROR 11-02 10:00:01 [a.py:1]', '', `(Worker pid=7) ${SENTENCE}`),
    ).toEqual([`1: (Worker pid=7) ERROR 11-02 10:00:01 [a.py:1] ${SENTENCE}`]);
  });

  it('has a value of Rust to its end', () => {
    expect(
      errorsOf('Error: Disconnected {', '    port: 4222,', '    reason: "refused",', '}', SENTENCE),
    ).toEqual(['1: Error: Disconnected { port: 4222, reason: "refused", }']);
  });

  it('has the reasons that Rust writes below it', () => {
    const lines = ['Error: cannot start', '', 'Caused by:', '    0: no bind', '    1: refused', SENTENCE];
    expect(errorsOf(...lines)).toEqual(['1: Error: cannot start Caused by: 0: no bind 1: refused']);
  });

  it('says nothing where no message follows', () => {
    const header = 'ERROR 11-02 10:00:01 [core.py:1]';
    expect(errorsOf(header)).toEqual([]);
    expect(errorsOf(header, 'INFO 11-02 10:00:01 [core.py:2] all is well', SENTENCE)).toEqual([]);
    expect(errorsOf(header, '2026-11-02 10:00:01 another message')).toEqual([]);
    expect(errorsOf(header, 'Traceback (most recent call last):', SENTENCE)).toEqual([]);
    expect(errorsOf(header, '', '', '', '', SENTENCE)).toEqual([]);
  });

  it('ends in its line where it has a message', () => {
    const whole = `ERROR 11-02 10:00:01 [core.py:1] ${SENTENCE}`;
    expect(errorsOf(whole, 'an answer of the model')).toEqual([`1: ${whole}`]);
    expect(errorsOf('ERROR shutdown', 'more')).toEqual(['1: ERROR shutdown']);
    expect(errorsOf('Error: x', 'more')).toEqual(['1: Error: x']);
  });

  it('is one of each of two that come one behind the other', () => {
    const header = 'ERROR 11-02 10:00:01 [core.py:1]';
    expect(errorsOf(header, `${header} ${SENTENCE}`, header)).toEqual([`2: ${header} ${SENTENCE}`]);
  });

  it('is bounded', () => {
    const [error = ''] = errorsOf('Error: Value {', ...Array.from({ length: 1_000 }, () => '    more'));
    expect(error.match(/more/g)?.length).toBe(8);
  });

  it('go on below where a sentence is cut at the edge of a page, if a rule knows the whole', () => {
    const cut = ['ERROR of a connector whose sentence is known by', 'both of its lines, and ends', 'here.'];
    expect(errorsOf(...cut)).toEqual(['1: known']);
    expect(errorsOf(cut[0] ?? '', 'two lines of something else')).toEqual([`1: ${cut[0]}`]);
  });

  it('do not go on where a sentence ends, is short, or a record follows', () => {
    const rest = 'known by both of its lines';
    for (const head of ['ERROR of a connector whose sentence has ended here.', 'ERROR of a thing'])
      expect(errorsOf(head, rest)).toEqual([`1: ${head}`]);
    const head = 'ERROR of a connector whose sentence is';
    expect(errorsOf(head, `INFO 11-20 10:00:00 ${rest}`)).toEqual([`1: ${head}`]);
  });
});
