import { describe, expect, it } from 'vitest';
import { summaryOf } from '../summaries.js';

async function valuesOf(
  line: string,
  signal: 'publisher_failed' | 'events_lost',
): Promise<readonly string[]> {
  const { signals } = await summaryOf(`${line}\n`);
  return [...(signals.get(signal)?.values.keys() ?? [])];
}

describe('lines of publishers of KV events', () => {
  it.each([
    [
      "[TRT-LLM] [E] Error in thread dispatch_kv_cache_events_thread: 'NoneType' object has no attribute 'new_value'",
      "dispatch_kv_cache_events_thread: 'NoneType' object has no attribute 'new_value'",
    ],
    [
      '[TRT-LLM] [E] Failed to publish streaming KV event batch rank=0; seq=7 will be missing from the stream',
      'a batch of events is not sent',
    ],
    [
      "ValueError: Invalid endpoint: must contain 'inproc' or 'tcp'",
      "the address of its events is none: Invalid endpoint: must contain 'inproc' or 'tcp'",
    ],
    [
      'ValueError: KV event endpoint port exceeds 65535 for rank 3',
      'the address of its events is none: KV event endpoint port exceeds 65535 for rank 3',
    ],
    [
      'E0803 10:00:00.000000 1 kv_event_publisher.cpp:81] kv_events enabled but backend_id is empty',
      "Mooncake's master, kv_events enabled but backend_id is empty",
    ],
  ])('are signs with what they say: %j', async (line, value) => {
    expect(await valuesOf(line, 'publisher_failed')).toEqual([value]);
  });

  it('are lost events where a queue is full', async () => {
    const line =
      '[TRT-LLM] [W] Dropping streaming KV event batch on rank=0 because the publisher queue is full; seq=7 will be missing';
    expect(await valuesOf(line, 'events_lost')).toEqual(['the queue of its publisher is full']);
  });

  it.each([
    '[TRT-LLM] [I] Thread dispatch_kv_cache_events_thread stopped.',
    '[TRT-LLM] [E] Error in thread dispatch_stats_thread: timed out',
    '  File "/opt/vllm/distributed/kv_events.py", line 451, in _service_replay',
    'INFO Using KV event endpoint tcp://*:5557',
  ])('are none where no event is lost: %j', async (line) => {
    expect(await valuesOf(line, 'publisher_failed')).toEqual([]);
  });
});
