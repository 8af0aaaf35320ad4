import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Serving, servingOf } from '../../../src/core/contract/serving.js';
import { MAX_COUNTS } from '../../../src/core/contract/wire/report-limits.js';
import {
  CapabilityReport,
  type DeepPartial,
  EngineRole,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../../src/gen/kvaccord/v1/capabilities.js';

const of = (report: DeepPartial<CapabilityReport>): Serving =>
  servingOf(CapabilityReport.fromPartial(report));

const urlsOf = (...addresses: string[]): readonly string[] =>
  of({
    engine: {
      servingAddresses: addresses.map((address) => ({
        protocol: ServingAddress_Protocol.OPENAI_HTTP,
        address,
      })),
    },
  }).httpUrls;

describe('where a worker serves', () => {
  it('is every base URL of its HTTP, in the order of the report', () => {
    const servingAddresses = [
      { protocol: ServingAddress_Protocol.ENGINE_GRPC, address: '127.0.0.1:50051' },
      { protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'http://b:8000' },
      { protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'https://a/prefix' },
    ];
    expect(of({ engine: { servingAddresses } }).httpUrls).toEqual(['http://b:8000', 'https://a/prefix']);
  });

  it.each([
    'ftp://a',
    'javascript:alert(1)',
    'http:a',
    'file:///etc/passwd',
    'unix:/run/engine.sock',
    'a:8000',
    '',
    'http://',
    'http://a:99999',
    'http://a:0',
    'http://user@a',
    'http://:secret@a',
    'http://a/?key=1',
    'http://a/?',
    'http://a/#x',
    'http://a\n',
    `http://${'a'.repeat(600)}`,
  ])('is nothing that /v1 cannot be appended to, or that holds a password: %j', (address) => {
    expect(urlsOf(address, 'http://good:1')).toEqual(['http://good:1']);
  });

  it('is looked at in 16 addresses at most', () => {
    expect(urlsOf(...Array.from({ length: 1_000 }, (_, n) => `http://a:${n + 1}`))).toHaveLength(16);
  });
});

describe('the ranks of a worker', () => {
  const source = (dataParallelRank: number): { dataParallelRank: number } => ({ dataParallelRank });
  const declared = { field: 'kv_event_sources', source: EvidenceSource.DECLARED };

  it.each([
    ['are those with sources of KV events', { kvEventSources: [source(3), source(1), source(3)] }, [1, 3]],
    ['are one where nothing is reported', {}, [0]],
    [
      'are all of them where one server stands before all',
      { parallelism: { dataParallelSize: 3 } },
      [0, 1, 2],
    ],
    [
      'are its own where each rank has a server',
      { parallelism: { dataParallelRank: 2, dataParallelSize: 4 } },
      [2],
    ],
    [
      'are as many as it runs itself, from its first on',
      { parallelism: { dataParallelRank: 2, dataParallelSize: 8, dataParallelSizeLocal: 2 } },
      [2, 3],
    ],
    ...(
      [
        ['are those that the operator names sources for, where the engine says nothing', {}, [0, 1]],
        ['are those, and what else the engine runs', { parallelism: { dataParallelSize: 3 } }, [0, 1, 2]],
      ] as const
    ).map(
      ([title, report, ranks]) =>
        [title, { ...report, kvEventSources: [source(0), source(1)], evidence: [declared] }, [...ranks]] as [
          string,
          DeepPartial<CapabilityReport>,
          number[],
        ],
    ),
    ['are never none', { parallelism: { dataParallelSize: 0, dataParallelSizeLocal: 0 } }, [0]],
  ] satisfies [string, DeepPartial<CapabilityReport>, number[]][])('%s', (_, report, ranks) => {
    expect(of(report).ranks).toEqual(ranks);
  });

  it('are bounded, whatever a peer says', () => {
    expect(of({ parallelism: { dataParallelSize: 2 ** 32 - 1 } }).ranks).toHaveLength(
      MAX_COUNTS.kvEventSources,
    );
  });
});

describe('what else a worker says of how it serves', () => {
  it.each([
    [undefined, 'aggregated'],
    [EngineRole.UNSPECIFIED, 'aggregated'],
    [EngineRole.AGGREGATED, 'aggregated'],
    [EngineRole.PREFILL, 'prefill'],
    [EngineRole.DECODE, 'decode'],
    // Of a newer peer: whatever it is, it is not all of a request.
    [4 as EngineRole, 'other'],
  ])('role %s is %s', (role, expected) => {
    expect(of({ engine: role === undefined ? {} : { role } }).role).toBe(expected);
  });

  it('is what it reports, and absent where it reports nothing', () => {
    const model = {
      servedNames: ['a', 'b'],
      loraAdapters: ['l'],
      maxModelLen: 4096,
      tokenizerFingerprint: 'f',
    };
    expect(of({ model })).toMatchObject(model);
    expect(of({})).toEqual({
      httpUrls: [],
      ranks: [0],
      servedNames: [],
      loraAdapters: [],
      role: 'aggregated',
      maxModelLen: undefined,
      tokenizerFingerprint: undefined,
    });
    expect(of({ model: { maxModelLen: 0 } }).maxModelLen).toBeUndefined();
  });

  it('has no adapter whose name could write lines of its own, or has none', () => {
    expect(of({ model: { loraAdapters: ['', 'a\nb', 'x'.repeat(513), 'good'] } }).loraAdapters).toEqual([
      'good',
    ]);
  });

  it('is read from whatever the wire can carry', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        let report: CapabilityReport;
        try {
          report = CapabilityReport.decode(bytes);
        } catch {
          return; // No message at all.
        }
        const { ranks, httpUrls } = servingOf(report);
        expect(ranks.length).toBeGreaterThan(0);
        for (const url of httpUrls) expect(URL.canParse(url)).toBe(true);
      }),
    );
  });
});
