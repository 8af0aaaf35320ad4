import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

const script = (frontend: string, worker: string, mode = 'kv'): string =>
  `${frontend} python3 -m dynamo.frontend --router-mode ${mode} &\n${worker} python3 -m dynamo.sglang --model-path m --page-size 16 --kv-events-config '{"publisher":"zmq"}' &\n`;

/** The findings of a script. */
const inScript = (...of: Parameters<typeof script>): readonly string[] => found({ 'a.sh': script(...of) });

describe('the event plane of a router and its workers', () => {
  it('is an error where both name one and they differ', () => {
    const differs = ['event-plane-differs a.sh:2 error'];
    expect(inScript('DYN_EVENT_PLANE=zmq', 'DYN_EVENT_PLANE=nats')).toEqual(differs);
    expect(inScript('DYN_EVENT_PLANE=nats', 'DYN_EVENT_PLANE=zmq')).toEqual(differs);
  });

  it('is a warning where the one that names none has an address of NATS', () => {
    expect(inScript('DYN_EVENT_PLANE=zmq', 'NATS_SERVER=nats://a:4222')).toEqual([
      'event-plane-differs a.sh:1 warning',
    ]);
    expect(inScript('NATS_SERVER=nats://a:4222', 'DYN_EVENT_PLANE=zmq')).toEqual([
      'event-plane-differs a.sh:2 warning',
    ]);
  });

  it.each([
    ['both name the same', 'DYN_EVENT_PLANE=zmq', 'DYN_EVENT_PLANE=zmq'],
    ['neither names one', 'NATS_SERVER=a', 'NATS_SERVER=a'],
    ['one names what the other has by default', 'DYN_EVENT_PLANE=nats', 'NATS_SERVER=a'],
    ['nothing says what the other takes', 'DYN_EVENT_PLANE=zmq', ''],
    ['one is not known', 'DYN_EVENT_PLANE=$PLANE', 'DYN_EVENT_PLANE=zmq'],
    ['discovery by files', 'DYN_EVENT_PLANE=zmq', 'DYN_DISCOVERY_BACKEND=file NATS_SERVER=a'],
    ['a variable of all', 'export DYN_EVENT_PLANE=zmq\n', 'NATS_SERVER=a'],
  ])('is right where %s', (_how, frontend, worker) => {
    expect(inScript(frontend, worker)).toEqual([]);
  });

  it('does not matter to a router that goes by load', () => {
    expect(inScript('DYN_EVENT_PLANE=zmq', 'DYN_EVENT_PLANE=nats', 'round-robin')).toEqual([]);
  });
});
