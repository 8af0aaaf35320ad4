import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { CapabilitiesService, GetCapabilitiesResponse } from '../../src/gen/kvaccord/v1/capabilities.js';
import { FleetService } from '../../src/gen/kvaccord/v1/fleet.js';
import { IndexerService } from '../../src/gen/kvaccord/v1/indexer.js';
import { KvEventsService } from '../../src/gen/kvaccord/v1/kv_events.js';
import { RouterService } from '../../src/gen/kvaccord/v1/router.js';
import { ViewService } from '../../src/gen/kvaccord/v1/view.js';
import { makeWireReport } from '../support/reports.js';
import { importNodeClient, methodOf, type NodeClientModule } from './support/node-client.js';
import { anyMessageBytes, readRegistry } from './support/random-message.js';
import { compareReadings } from './support/reading-differences.js';

/** A method as the generated code defines it. */
interface GeneratedMethod {
  readonly requestDeserialize: (bytes: Buffer) => unknown;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
}

const SERVICES: Readonly<Record<string, Readonly<Record<string, GeneratedMethod>>>> = {
  'kvaccord.v1.Capabilities': CapabilitiesService,
  'kvaccord.v1.Fleet': FleetService,
  'kvaccord.v1.Indexer': IndexerService,
  'kvaccord.v1.KvEvents': KvEventsService,
  'kvaccord.v1.Router': RouterService,
  'kvaccord.v1.View': ViewService,
};

/** A report with what readers get wrong: absent and zero `optional` fields, large numbers, a map. */
const ANSWER = GetCapabilitiesResponse.encode({
  report: {
    ...makeWireReport('w-0', { revision: 2n ** 64n - 1n }),
    topology: {
      ...{ links: [], nics: [], numaNodes: [], notes: [] },
      gpus: [{ uuid: 'GPU-1', index: 0, memoryBytes: 2n ** 53n + 1n, productName: '', pciBusId: '' }],
      placement: { topologyDomains: { 'topology.kubernetes.io/zone': 'z1', rack_row: '' } },
    },
  },
}).finish();

let client: NodeClientModule;
beforeAll(async () => {
  client = await importNodeClient();
});

const registry = readRegistry();
const methods = Object.entries(SERVICES).flatMap(([name, generated]) => {
  const service = registry.getService(name);
  if (service === undefined) throw new Error(`the descriptors have no ${name}`);
  return service.methods.map((method) => {
    const own = generated[method.localName];
    if (own === undefined) throw new Error(`the generated code has no ${method}`);
    return { name, method, own, title: `${name}/${method.name}` };
  });
});

describe('the published .proto files, loaded with @grpc/proto-loader as the example does', () => {
  it('have every service of kvaccord.v1', () => {
    const published = [...registry]
      .filter((one) => one.kind === 'service')
      .map((one) => one.typeName)
      .filter((name) => name.startsWith('kvaccord.'));
    expect(published.sort()).toEqual(Object.keys(SERVICES).sort());
  });

  it.each(methods)('read every field of $title as the generated code does', ({ name, method, own }) => {
    const loaded = methodOf(client.packageDefinition, name, method.name);
    let compared = 0;
    fc.assert(
      fc.property(anyMessageBytes(method.output), anyMessageBytes(method.input), (answer, request) => {
        for (const [theirs, mine] of [
          [own.responseDeserialize(Buffer.from(answer)), loaded.responseDeserialize(Buffer.from(answer))],
          [own.requestDeserialize(Buffer.from(request)), loaded.requestDeserialize(Buffer.from(request))],
        ]) {
          const { differences, sameCount } = compareReadings(mine, theirs);
          expect(differences).toEqual([]);
          compared += sameCount;
        }
      }),
      { numRuns: 25 },
    );
    if (method.output.fields.length > 0) expect(compared).toBeGreaterThan(20);
  });

  it.each(methods)(
    'write a request of $title that the generated code reads the same',
    ({ name, method, own }) => {
      const loaded = methodOf(client.packageDefinition, name, method.name);
      fc.assert(
        fc.property(anyMessageBytes(method.input), (bytes) => {
          const request = loaded.requestDeserialize(Buffer.from(bytes));
          const written = loaded.requestSerialize(request);
          expect(own.requestDeserialize(written)).toEqual(own.requestDeserialize(Buffer.from(bytes)));
        }),
        { numRuns: 10 },
      );
    },
  );

  it('read an absent optional field as no key, one of 0 as 0, and 64 bits and keys of maps as they are', () => {
    const { packageDefinition } = client;
    const { responseDeserialize } = methodOf(
      packageDefinition,
      'kvaccord.v1.Capabilities',
      'GetCapabilities',
    );
    const { report } = responseDeserialize(Buffer.from(ANSWER)) as {
      readonly report: Record<string, unknown>;
    };
    expect(report).toMatchObject({ revision: '18446744073709551615', worker_id: 'w-0', digest: '' });
    const { gpus, placement } = report['topology'] as Record<'gpus' | 'placement', unknown>;
    expect(gpus).toEqual([
      // No numa_node: the machine did not say. Text that is not `optional` is always there.
      { uuid: 'GPU-1', index: 0, memory_bytes: '9007199254740993', product_name: '', pci_bus_id: '' },
    ]);
    expect(placement).toEqual({ topology_domains: { 'topology.kubernetes.io/zone': 'z1', rack_row: '' } });
  });

  it.each([
    ['longs: Number', { longs: Number }, 'message.report.revision: 18446744073709552000'],
    ['defaults: false', { defaults: false }, 'message.report.digest: nothing'],
    ['oneofs: true', { oneofs: true }, 'message.report.topology.gpus[0]._memory_bytes: "memory_bytes"'],
  ])('would be read differently with %s', (_option, options, difference) => {
    const loaded = loadSync('kvaccord/v1/capabilities.proto', { ...client.LOADER_OPTIONS, ...options });
    const { responseDeserialize } = methodOf(loaded, 'kvaccord.v1.Capabilities', 'GetCapabilities');
    const { differences } = compareReadings(
      responseDeserialize(Buffer.from(ANSWER)),
      GetCapabilitiesResponse.decode(ANSWER),
    );
    expect(differences.join('\n')).toContain(difference);
  });
});
