import { describe, expect, it } from 'vitest';
import { checkEventSources } from '../../../../src/core/contract/evidence/event-source-check.js';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import { resolveFacts } from '../../../../src/core/contract/evidence/resolve.js';
import { EvidenceSource, type KvEventSource } from '../../../../src/gen/kvaccord/v1/capabilities.js';

function source(rank: number, endpoint: string, topic = ''): KvEventSource {
  return { dataParallelRank: rank, transport: 'zmq', endpoint, topic };
}

const evidence = (source: EvidenceSource, origin: string) => ({ source, origin, raw: '', observedAtMs: 0 });
const CONFIGURED = evidence(EvidenceSource.DECLARED, '--kv-event-sources');
const SAID = evidence(EvidenceSource.ENGINE_HTTP, 'GET http://e:8000/kv_event_sources');

const check = (configured: KvEventSource[], said: KvEventSource[]) =>
  checkEventSources({ value: configured, evidence: CONFIGURED }, { value: said, evidence: SAID });

describe('where events are read, and where the engine says that it publishes them', () => {
  it.each([
    ['the same', [source(0, 'tcp://127.0.0.1:5557')], [source(0, 'tcp://127.0.0.1:5557', 'kv')]],
    ['another name of the host', [source(0, 'tcp://pod-0:5557')], [source(0, 'tcp://127.0.0.1:5557')]],
    ['the subscriber binds', [source(0, '@tcp://*:5557')], [source(0, '@tcp://frontend:5557')]],
    ['a local socket', [source(0, 'ipc:///run/kv')], [source(0, 'ipc:///run/kv')]],
    [
      'some ranks of several',
      [source(1, 'tcp://e:5558')],
      [source(0, 'tcp://e:5557'), source(1, 'tcp://e:5558')],
    ],
  ])('agree: %s', (_what, configured, said) => {
    expect(check(configured, said)).toBeUndefined();
  });

  it.each([
    [
      'another port',
      [source(0, 'tcp://e:5567')],
      [source(0, 'tcp://e:5557')],
      'it publishes rank 0 at tcp://e:5557',
    ],
    [
      'ranks that are swapped',
      [source(0, 'tcp://e:5558'), source(1, 'tcp://e:5557')],
      [source(0, 'tcp://e:5557'), source(1, 'tcp://e:5558')],
      'rank 0 at tcp://e:5557',
    ],
    [
      'a rank that it has not',
      [source(1, 'tcp://e:5557')],
      [source(0, 'tcp://e:5557')],
      'publishes rank 0 at',
    ],
    ['another topic', [source(0, 'tcp://e:1', 'a')], [source(0, 'tcp://e:1', 'b')], '(topic b)'],
    ['no events at all', [source(0, 'tcp://e:5557')], [], 'it publishes no KV events'],
    ['another local socket', [source(0, 'ipc:///run/a')], [source(0, 'ipc:///run/b')], 'ipc:///run/b'],
  ])('differ: %s', (_what, configured, said, words) => {
    const problem = check(configured, said);
    expect(problem?.warning).toContain(words);
    expect(problem?.warning).toContain('--kv-event-sources');
    expect(problem?.conflict).toMatchObject({ field: 'kv_event_sources', otherOrigin: SAID.origin });
  });

  it('are in the report as a warning and a conflict, and the report stays complete', () => {
    const fact = (value: KvEventSource[], from: typeof SAID) => fieldFact('kv_event_sources', value, from);
    const differing = resolveFacts([
      fact([source(0, 'tcp://127.0.0.1:5567')], CONFIGURED),
      fact([source(0, 'tcp://127.0.0.1:5557')], SAID),
    ]);
    expect(differing.problems).toEqual([]);
    expect(differing.conflicts).toMatchObject([
      { field: 'kv_event_sources', keptValue: 'tcp://127.0.0.1:5567', otherValue: 'tcp://127.0.0.1:5557' },
    ]);
    expect(differing.warnings).toHaveLength(1);
    expect(resolveFacts([fact([source(0, 'tcp://e:1')], CONFIGURED)]).warnings).toEqual([]);
  });
});
