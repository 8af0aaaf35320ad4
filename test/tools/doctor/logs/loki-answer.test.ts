import { describe, expect, it } from 'vitest';
import { isLokiAnswer, linesOfLoki } from '../../../../src/tools/doctor/logs/loki-answer.js';
import { summaryOf } from './summaries.js';

const NS = '1780480800123456789';
const answer = (streams: readonly (readonly [pod: string, lines: readonly string[]])[], indent = 0): string =>
  JSON.stringify(
    {
      status: 'success',
      data: {
        resultType: 'streams',
        result: streams.map(([pod, lines]) => ({
          stream: { pod, container: 'main' },
          values: lines.map((line) => [NS, line]),
        })),
      },
    },
    null,
    indent,
  );

async function linesOf(text: string, size: number): Promise<readonly string[]> {
  const bytes = Buffer.from(text);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  let read = '';
  for await (const piece of linesOfLoki(pieces())) read += Buffer.from(piece).toString();
  return read.split('\n').filter((line) => line !== '');
}

describe("an answer of Loki's API to a query of logs", () => {
  const odd = 'say "a\\" and \u00e9\u2713';

  it.each([0, 2])(
    'is read as the lines that it has, in pieces of any size (indented by %d)',
    async (indent) => {
      const text = answer(
        [
          ['frontend-0', ['one', odd]],
          ['worker-0', ['three']],
        ],
        indent,
      );
      const time = '2026-06-03T10:00:00.123Z';
      for (const size of [1, 7, 64, text.length])
        expect(await linesOf(text, size)).toEqual([
          `${time} {pod="frontend-0"} one`,
          `${time} {pod="frontend-0"} ${odd}`,
          `${time} {pod="worker-0"} three`,
        ]);
    },
  );

  it('is known by its beginning alone', () => {
    expect(isLokiAnswer(Buffer.from(answer([])))).toBe(true);
    expect(isLokiAnswer(Buffer.from('{"status":"success","message":"ok"}'))).toBe(false);
    expect(isLokiAnswer(Buffer.from('2026-06-03T10:00:00Z  INFO main: started'))).toBe(false);
  });

  it('holds no more than an entry of usual length, and goes on behind a longer one', async () => {
    const text = answer([['w', ['x'.repeat(400_000), 'after']]]);
    expect((await linesOf(text, 4_096)).at(-1)).toContain('after');
  });

  it('says what its lines say', async () => {
    const dropped =
      '2026-06-03T10:00:00.000100Z  WARN dynamo_kv_router::zmq_wire::convert: Block not published. Block size must be 16 tokens to be published. Block size is: 32';
    const { signals, sizes } = await summaryOf(answer([['worker-0', [dropped, dropped]]]));
    expect(signals.get('block_not_published')?.count).toBe(2);
    expect(sizes.map(({ who, tokensPerBlock }) => `${who} ${tokensPerBlock}`)).toEqual([
      'worker-0 16',
      'worker-0 32',
    ]);
  });
});
