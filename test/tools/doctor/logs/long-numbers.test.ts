import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteLongNumbers } from '../../../../src/tools/doctor/logs/long-numbers.js';

describe('numbers that a double cannot have', () => {
  it.each([
    ['{"worker_id":7587893112448512001,"dp_rank":0}', '{"worker_id":"7587893112448512001","dp_rank":0}'],
    [
      '{"ids": [ 7587893112448512001 , 14890345699382878635 ]}',
      '{"ids": [ "7587893112448512001" , "14890345699382878635" ]}',
    ],
    ['{"a":1234567890123456}', '{"a":"1234567890123456"}'],
    ['{"a":123456789012345}', '{"a":123456789012345}'],
    ['{"a":123456789012345678901}', '{"a":123456789012345678901}'],
    ['{"a":1771252733950000.5}', '{"a":1771252733950000.5}'],
    ['{"a":-7587893112448512001}', '{"a":-7587893112448512001}'],
    ['7587893112448512001', '7587893112448512001'],
  ])('are quoted: %s', (json, quoted) => expect(quoteLongNumbers(json)).toBe(quoted));

  it('are found wherever one regular expression finds them', () => {
    const part = fc.constantFrom(
      ':',
      '[',
      ',',
      ' ',
      '}',
      ']',
      'a',
      '"',
      '.',
      '1234567890123456',
      '12345678',
      '9',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const json = parts.join('');
        const byExpression = json.replace(/([:[,]\s*)(\d{16,20})(?=\s*[,}\]])/g, '$1"$2"');
        expect(quoteLongNumbers(json)).toBe(byExpression);
      }),
    );
  });
});
