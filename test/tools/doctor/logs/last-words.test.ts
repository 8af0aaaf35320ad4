import { describe, expect, it } from 'vitest';
import { repairFor } from '../../../../src/tools/doctor/fixes/program-errors.js';
import { errorKindOf } from '../../../../src/tools/doctor/logs/general/error-kinds.js';
import { lastReasonOf, lastWords } from '../../../../src/tools/doctor/logs/last-words.js';
import { summaryOf } from './summaries.js';

const ERROR = [
  'Error: Failed to start the KV router',
  '',
  'Caused by:',
  '    0: could not subscribe to kv-events',
  '    1: Connection refused (os error 111)',
  '',
  'Stack backtrace:',
  '   0: anyhow::error::<impl core::convert::From<E> for anyhow::Error>::from',
];

describe('the last words of a program in Rust', () => {
  it('have the reason that happened first', async () => {
    const { failures } = await summaryOf(ERROR.map((line) => `${line}\n`).join(''));
    const { sentence = '' } = failures?.[0] ?? {};
    expect(sentence).toBe(
      'Error: Failed to start the KV router (caused by: Connection refused (os error 111))',
    );
    expect(lastReasonOf(sentence)).toBe('Connection refused (os error 111)');
    expect(repairFor(errorKindOf(sentence), sentence).says).toContain(
      'Have what the program connects to run',
    );
  });

  it('are a text alone, whose address is asked in vain', async () => {
    const line =
      'Error: "group default failed: health check failed: error sending request for url (http://10.0.0.2:9100/health)"';
    const { failures } = await summaryOf(`${line}\n`);
    const { sentence = '', ends } = failures?.[0] ?? {};
    expect(ends).toBe(1);
    expect(sentence).toMatch(/^Error: group default failed: health check failed/);
    const { says, commands } = repairFor(errorKindOf(sentence), sentence);
    expect(says).toContain('Have what listens at 10.0.0.2:9100 run');
    expect(commands[0]).toMatch(/^curl -v http:\/\/10\.0\.0\.2:9100 /);
  });

  it('are found with one reason without a number', () => {
    expect(lastWords('Error: it does not start Caused by: no such file')).toBe(
      'Error: it does not start (caused by: no such file)',
    );
  });

  it('are not those of errors that a program goes on after', async () => {
    expect(lastWords('Error: it does not start')).toBeUndefined();
    expect(lastWords('2026-03-03 ERROR sending failed Caused by: 0: timeout')).toBeUndefined();
    expect(lastReasonOf('ValueError: (caused by: x)')).toBeUndefined();
    const goesOn = ['2026-03-03T10:00:00Z ERROR dynamo_runtime: retry', '', 'Caused by:', '    0: timeout'];
    const { failures } = await summaryOf(goesOn.map((line) => `${line}\n`).join(''));
    expect(failures).toBeUndefined();
  });
});
