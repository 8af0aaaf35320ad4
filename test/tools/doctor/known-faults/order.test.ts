import { describe, expect, it } from 'vitest';
import { CAUSES } from '../../../../src/tools/doctor/diagnosis.js';
import { knownFaultsOf } from '../../../../src/tools/doctor/measurements/known-faults.js';
import { summaryOf } from '../logs/summaries.js';
import { KNOWN_FAULTS } from '../support/known-faults.js';

/** Two rows of one cause, without patterns, of which the second has the longer words. */
const PLAIN = KNOWN_FAULTS.filter(
  ({ cause, pattern, atLeast, isSign }) =>
    cause === 'settings_refused' && pattern === undefined && atLeast === undefined && isSign !== true,
);
const byLength = [...PLAIN].sort((a, b) => (a.needles[0] ?? '').length - (b.needles[0] ?? '').length);
const [short, long] = [byLength[0], byLength.at(-1)];

describe('known faults of one line', () => {
  it('are named by the most particular first, wherever its words stand', async () => {
    const words = [short?.needles[0] ?? '', long?.needles[0] ?? ''];
    for (const line of [words.join(' | '), [...words].reverse().join(' | ')]) {
      const [first] = knownFaultsOf([await summaryOf(`${line}\n`)], 'settings_refused');
      expect(first?.fault.id).toBe(long?.id);
    }
  });

  it('stand behind those of lines before', async () => {
    const log = `${short?.needles[0]}\n${long?.needles[0]}\n`;
    const [first] = knownFaultsOf([await summaryOf(log)], 'settings_refused');
    expect(first?.fault.id).toBe(short?.id);
  });
});

/** A row that follows another one, and that other one. */
const behind = KNOWN_FAULTS.find(({ id }) => id === 'mooncake_name_taken');
const reason = KNOWN_FAULTS.find(({ id }) => id === behind?.follows?.[0]);

async function idsOf(...lines: readonly string[]): Promise<readonly string[]> {
  const log = lines.map((line) => `${line}\n`).join('');
  return knownFaultsOf([await summaryOf(log)], 'transfer_path_broken').map(({ fault }) => fault.id);
}

describe('known faults of lines near by', () => {
  const [ofBehind, ofReason] = [behind?.needles[0] ?? '', reason?.needles[0] ?? ''];

  it('are the reason alone, whichever comes first', async () => {
    expect(await idsOf(ofBehind, ofReason)).toEqual([reason?.id]);
    expect(await idsOf(ofReason, ofBehind)).toEqual([reason?.id]);
  });

  it('are both named where they are of other times', async () => {
    const between = Array.from({ length: 60 }, () => 'INFO all is well');
    expect(await idsOf(ofBehind, ...between, ofReason)).toEqual([behind?.id, reason?.id]);
  });

  it('are both named where they are of other logs', async () => {
    const logs = await Promise.all([summaryOf(`${ofBehind}\n`), summaryOf(`${ofReason}\n`)]);
    expect(knownFaultsOf(logs).map(({ fault }) => fault.id)).toEqual([behind?.id, reason?.id]);
  });

  it('count only behind a mark that they depend on, and near it', async () => {
    const marked = KNOWN_FAULTS.find(({ id }) => id === 'nixl_listens_on_foreign_address');
    const [mark = ''] = marked?.below ?? [];
    const line = "zmq.error.ZMQError: Cannot assign requested address (addr='tcp://10.0.0.5:5600')";
    const idOf = async (log: string): Promise<string | undefined> =>
      knownFaultsOf([await summaryOf(log)])[0]?.fault.id;
    expect(await idOf(`Exception in thread ${mark}:\n${line}\n`)).toBe(marked?.id);
    expect(await idOf(`Exception in thread ${mark}:\n${'INFO\n'.repeat(100)}${line}\n`)).not.toBe(marked?.id);
    expect(await idOf(`${line}\n`)).toBe('vllm_foreign_address');
  });

  it('have passed where a line says so below their last one', async () => {
    const waits =
      'Warning  FailedScheduling  1s  default-scheduler  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.';
    const placed = 'Normal  Scheduled  1s  default-scheduler  Successfully assigned llm/vllm-0 to gpu-1';
    const idsIn = async (...lines: readonly string[]): Promise<readonly string[]> =>
      knownFaultsOf([await summaryOf(`${lines.join('\n')}\n`)]).map(({ fault }) => fault.id);
    expect(await idsIn(waits)).toEqual(['pod_lacks_gpus']);
    expect(await idsIn(waits, placed)).toEqual([]);
    expect(await idsIn(waits, placed, waits)).toEqual(['pod_lacks_gpus']);
  });

  it('follow rows and causes that there are', () => {
    const ids: readonly string[] = [...KNOWN_FAULTS.map(({ id }) => id), ...CAUSES];
    expect(KNOWN_FAULTS.flatMap(({ follows = [] }) => follows).filter((id) => !ids.includes(id))).toEqual([]);
  });
});
