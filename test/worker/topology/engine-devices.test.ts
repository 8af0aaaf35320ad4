import { describe, expect, it } from 'vitest';
import { UNKNOWN_SHARE } from '../../../src/core/contract/topology/unknown-share.js';
import type { Topology } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { readTopology } from '../../../src/worker/topology/read-topology.js';
import { topologyReaders } from '../../../src/worker/topology/readers.js';
import { FakeClock } from '../../support/fake-clock.js';
import { madeHost, never, recordedHost } from './support.js';

const H100 = 'GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3';
const LISTED = `GPU 0: NVIDIA H100 80GB HBM3 (UUID: ${H100}c)\n`;
const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };

const read = (host: ReturnType<typeof madeHost>, readDevices?: () => Promise<string>): Promise<Topology> =>
  readTopology(
    {
      readers: topologyReaders,
      host,
      clock: new FakeClock(),
      timeoutMs: 1_000,
      ...(readDevices === undefined ? {} : { readDevices }),
    },
    never,
  );
const says = (text: string) => async (): Promise<string> => text;
const uuids = ({ gpus }: Topology): readonly string[] => gpus.map(({ uuid }) => uuid);

describe('what the engine says of its GPUs', () => {
  it('narrows the GPUs of the node to those of its container', async () => {
    const topology = await read(recordedHost('h100-nvswitch', POD), says(LISTED));
    expect(uuids(topology)).toEqual([`${H100}c`]);
    expect(topology.gpus[0]?.numaNode).toBe(0);
    expect(topology.notes.join()).not.toContain(UNKNOWN_SHARE);
  });

  it("counts instead of the sidecar's own variables, in the order in which an engine applies it", async () => {
    const host = recordedHost('h100-nvswitch', { ...POD, CUDA_VISIBLE_DEVICES: '0' });
    const text = `PATH=/bin\nNVIDIA_VISIBLE_DEVICES=${H100}b,${H100}c\nCUDA_VISIBLE_DEVICES=1\n`;
    expect(uuids(await read(host, says(text)))).toEqual([`${H100}c`]);
  });

  it('outranks NVIDIA_VISIBLE_DEVICES=void, and takes slices for what they are', async () => {
    const slice = 'MIG-a45882f0-9215-5733-a0c1-49286ab31cb5';
    const gpu = 'GPU-513536b6-7d19-9063-b049-b6664d9ad3e6';
    const text = `GPU 0: NVIDIA A100 (UUID: ${gpu})\n  MIG 1g.5gb Device 0: (UUID: ${slice})\nNVIDIA_VISIBLE_DEVICES=void\n`;
    expect(uuids(await read(madeHost({ environment: POD }), says(text)))).toEqual([slice]);
  });

  it('is all there is where the sidecar sees none itself', async () => {
    const topology = await read(madeHost({ environment: POD }), says(LISTED));
    expect(topology.gpus.map(({ uuid, productName }) => [uuid, productName])).toEqual([
      [`${H100}c`, 'NVIDIA H100 80GB HBM3'],
    ]);
  });

  it('is read again each time: an engine that restarts may have been given others', async () => {
    const texts = [undefined, LISTED, 'hello\n'];
    const next = (): Promise<string> => {
      const text = texts.shift();
      return text === undefined
        ? Promise.reject(new Error('devices: does not exist'))
        : Promise.resolve(text);
    };
    const host = recordedHost('h100-nvswitch', POD);
    const known = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const { notes } = await read(host, next);
      known.push(!notes.some((note) => note.startsWith(UNKNOWN_SHARE)));
    }
    expect(known).toEqual([false, true, false]);
  });

  it('is missed in a note while the file is not there, or names none', async () => {
    const missing = (): Promise<string> => Promise.reject(new Error('devices: does not exist'));
    expect((await read(recordedHost('h100-nvswitch', POD), missing)).notes).toEqual(
      expect.arrayContaining([
        expect.stringContaining(UNKNOWN_SHARE),
        '--engine-devices: devices: does not exist',
      ]),
    );
    expect((await read(recordedHost('h100-nvswitch', POD), says('hello\n'))).notes.join()).toContain(
      'names no GPU',
    );
  });
});

describe('whose GPUs a sidecar sees', () => {
  it.each([
    ['in a pod where nothing narrows them', POD, true],
    ['in a pod that is shown all', { ...POD, NVIDIA_VISIBLE_DEVICES: 'all' }, true],
    ['in a pod with a claim of its own', { ...POD, NVIDIA_VISIBLE_DEVICES: 'void' }, false],
    ['in a pod with the variable of its container', { ...POD, NVIDIA_VISIBLE_DEVICES: `${H100}b` }, false],
    ['on a host', {}, false],
  ])('%s', async (_where, environment, isUnknown) => {
    const { notes } = await read(recordedHost('h100-nvswitch', environment));
    expect(notes.some((note) => note.startsWith(UNKNOWN_SHARE))).toBe(isUnknown);
  });

  it('is not asked where there are none', async () => {
    expect((await read(madeHost({ environment: POD }))).notes.join()).not.toContain(UNKNOWN_SHARE);
  });
});
