import { describe, expect, it } from 'vitest';
import { loadLogKnowledge } from '../../../../src/tools/doctor/logs/log-knowledge.js';
import { summaryOf } from './summaries.js';

async function programsOf(line: string): Promise<readonly string[]> {
  const { programs } = await summaryOf(`${line}\n`);
  return [...programs.keys()];
}

describe('the program of a line', () => {
  it.each([
    ['dynamo', '2026-03-03T10:00:00.123456Z  INFO dynamo_llm::kv_router: Selected worker'],
    ['dynamo', 'ERROR dynamo_llm::discovery::watcher: Error adding model from discovery'],
    ['vllm', '(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:900] it ends'],
    ['vllm', '(EngineCore_DP0 pid=7) Traceback (most recent call last):'],
    ['vllm', '(VllmWorker TP1 pid=7)   File "a.py", line 1, in f'],
    ['vllm', '    INFO 11-02 10:00:00 [loggers.py:215] Engine 000: x'],
    ['sglang', '[2026-03-03 10:00:00 TP0] Prefill batch, #new-seq: 1'],
    ['sglang', 'Decode batch. #running-req: 1, #token: 7'],
    ['trtllm', '[TRT-LLM] [I] started'],
  ])('is %s by %s', async (program, line) => {
    expect(await programsOf(line)).toEqual([program]);
  });

  it.each([
    'INFO some_crate::server: started',
    '(Worker pid=7) a line of some actor of Ray',
    'INFO: a batch. #running',
  ])('is not known by %s', async (line) => {
    expect(await programsOf(line)).toEqual(['unknown']);
  });
});

it('every needle is long enough for the search to leap: the shortest one is the window of all', async () => {
  const { rules } = await loadLogKnowledge();
  const short = rules.map(({ needle }) => needle).filter(({ length }) => length < 11);
  expect(short).toEqual([]);
});
