import { describe, expect, it } from 'vitest';
import { ENGINES } from '../../../../src/engines/catalogue/engines.js';
import { ProbeError, type ProbeModules, type ProbeTarget } from '../../../../src/engines/probing/probe.js';
import { EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { EngineLocator, fixedLocation } from '../../../../src/worker/sidecar/probing/engine-locator.js';
import type { EngineLocation } from '../../../../src/worker/sidecar/probing/engine-watch.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const never = new AbortController().signal;
const VLLM = '{"data":[{"id":"tiny","owned_by":"vllm"}]}';

/** A machine on which something listens at some base URLs, and a locator that looks at it. */
class Machine {
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  /** What `/v1/models` says at a base URL. */
  readonly listening = new Map<string, string>();
  asked = 0;
  readonly locator: EngineLocator;

  constructor(named: ProbeTarget = {}) {
    const probeModules: ProbeModules = {
      clock: this.clock,
      engines: ENGINES,
      httpGet: async (url) => {
        this.asked += 1;
        const body = this.listening.get(new URL(url).origin);
        if (body === undefined) throw new ProbeError('unreachable', `GET ${url}`, 'connect ECONNREFUSED');
        return { status: 200, contentType: 'application/json', body };
      },
      rpc: {
        call: async (address) => {
          throw new ProbeError('unreachable', `gRPC ${address}`, 'connect ECONNREFUSED');
        },
      },
      readFile: () => Promise.reject(new Error('no files')),
      listFiles: () => Promise.reject(new Error('no files')),
    };
    this.locator = new EngineLocator({ environment: {}, named }, { probeModules, logger: this.logger });
  }

  locate(state: EngineState = EngineState.UNREACHABLE): Promise<EngineLocation> {
    return this.locator.locate(state, never);
  }
}

function addressIn(location: EngineLocation): string {
  return location.type === 'at' ? location.address : location.type;
}

describe('--engine auto', () => {
  it('says where it looked while nothing is found, and how to name the engine', async () => {
    const location = await new Machine().locate(EngineState.STARTING);
    expect(location).toEqual({
      type: 'nowhere',
      reason: expect.stringMatching(
        /^no engine has been found yet at http:\/\/127\.0\.0\.1:8000, .*--engine/,
      ),
    });
  });

  it('takes the engine it finds and says once what it found and why', async () => {
    const machine = new Machine();
    await machine.locate();
    machine.listening.set('http://127.0.0.1:8000', VLLM);
    expect(addressIn(await machine.locate())).toBe('http://127.0.0.1:8000');
    expect(addressIn(await machine.locate())).toBe('http://127.0.0.1:8000');
    expect(machine.logger.messages('info')).toEqual([
      'Found an engine by itself: vLLM at http://127.0.0.1:8000 (/v1/models says owned_by "vllm").',
    ]);
  });

  it('does not search on while its engine is ready or starting', async () => {
    const machine = new Machine();
    machine.listening.set('http://127.0.0.1:8000', VLLM);
    await machine.locate();
    const { asked } = machine;
    await machine.locate(EngineState.READY);
    await machine.locate(EngineState.STARTING);
    expect(machine.asked).toBe(asked);
  });

  it('keeps looking at the place of an engine that is gone, and finds one that came up elsewhere', async () => {
    const machine = new Machine();
    machine.listening.set('http://127.0.0.1:8000', VLLM);
    await machine.locate();
    machine.listening.clear();
    expect(addressIn(await machine.locate())).toBe('http://127.0.0.1:8000');
    machine.listening.set('http://127.0.0.1:30000', VLLM);
    expect(addressIn(await machine.locate())).toBe('http://127.0.0.1:30000');
  });

  it('takes none of two, and names both', async () => {
    const machine = new Machine();
    machine.listening.set('http://127.0.0.1:8000', VLLM).set('http://127.0.0.1:30000', VLLM);
    expect(await machine.locate()).toEqual({
      type: 'nowhere',
      reason: expect.stringMatching(/more than one engine here: .*:8000.*:30000.*; say which with --engine$/),
    });
  });

  it('joins what the operator named to what it found, and looks at that alone while nothing is', async () => {
    const machine = new Machine({ grpcAddress: '127.0.0.1:50051' });
    expect(addressIn(await machine.locate())).toBe('127.0.0.1:50051');
    machine.listening.set('http://127.0.0.1:8000', VLLM);
    expect(await machine.locate()).toMatchObject({
      targets: [{ httpBaseUrl: 'http://127.0.0.1:8000', grpcAddress: '127.0.0.1:50051' }],
    });
  });

  it('searches every five seconds only, once it has searched for two minutes', async () => {
    const machine = new Machine();
    for (let second = 0; second < 121; second += 1) {
      await machine.locate();
      await machine.clock.advanceMs(1_000);
    }
    const { asked } = machine;
    for (let second = 0; second < 20; second += 1) {
      await machine.locate();
      await machine.clock.advanceMs(1_000);
    }
    // Four ports, four searches.
    expect(machine.asked - asked).toBe(16);
    expect(machine.clock.pendingTimers).toBe(0);
  });

  it('names all addresses of several frontends', () => {
    expect(addressIn(fixedLocation([{ httpBaseUrl: 'http://a:1' }, { httpBaseUrl: 'http://b:1' }]))).toBe(
      'http://a:1, http://b:1',
    );
  });
});
