import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

async function crashOf(line: string): Promise<readonly string[]> {
  const { signals } = await summaryOf(`${line}\n`);
  return [...(signals.get('connector_crashed')?.values.keys() ?? [])];
}

describe('where UCX ends its process', () => {
  it('is read with its sentence, whatever the number of the process', async () => {
    const sentence = 'Fatal: failed to allocate rndv fragment request';
    for (const process of ['123  :0:456', '12345:0:12345', '7    :1:9', '71503:p-0:71611'])
      expect(await crashOf(`[node-1:${process}]        rndv.c:2033 ${sentence}`)).toEqual([
        `UCX: ${sentence}`,
      ]);
    const asserted = "Assertion `khret == UCS_KH_PUT_BUCKET_EMPTY' failed";
    expect(await crashOf(`[node-1:123  :0:456] proto_select.c:549  ${asserted}`)).toEqual([
      `UCX: ${asserted}`,
    ]);
  });

  it('is not read in lines of other programs', async () => {
    expect(await crashOf('git: Fatal: could not read from remote repository')).toEqual([]);
    expect(await crashOf('[node-1:123  :0:456] a note, Fatal: nothing')).toEqual([]);
  });
});
