import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StreamingApi } from '../../../src/edge/kubernetes/api.js';
import { KubernetesError } from '../../../src/edge/kubernetes/kubernetes-error.js';
import { openCluster } from '../../../src/edge/kubernetes/open-cluster.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { FakeApiServer } from '../../support/fake-api-server.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const LOG = '/api/v1/namespaces/kv/pods/a/log';
const open = new OpenThings();
let server: FakeApiServer;
let api: StreamingApi;

beforeEach(async () => {
  server = await FakeApiServer.start();
  open.add(() => server.close());
  const modules = { clock: systemClock, logger: new RecordingLogger(), environment: {} };
  api = await openCluster({ kubeconfig: server.kubeconfig() }, modules);
  open.add(() => api.close());
});

afterEach(() => open.close());

function answerWith(answer: (response: ServerResponse) => void): void {
  server.intercept = (_, response) => {
    answer(response);
    return true;
  };
}

async function read(maxBytes: number, signal = new AbortController().signal): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of api.bytes({ path: LOG, query: { container: 'c' }, signal }, maxBytes))
    pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe('the bytes of an answer', () => {
  it('come as they are, with the query that was asked', async () => {
    answerWith((response) => response.end('one\ntwo\n'));
    expect(await read(100)).toBe('one\ntwo\n');
    expect(server.requests).toMatchObject([{ path: LOG, query: { container: 'c' } }]);
  });

  it('end where they are enough, and the connection with them', async () => {
    const isClosed = new Promise((resolve) =>
      answerWith((response) => {
        response.once('close', resolve);
        response.write('x'.repeat(1_000));
      }),
    );
    expect(await read(10)).toBe('x'.repeat(10));
    await isClosed;
  });

  it('that break off are reported', async () => {
    answerWith((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    });
    await expect(read(1_000)).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('that are refused are reported with the rule for that part of the object', async () => {
    answerWith((response) => response.writeHead(403).end('{"message":"cannot get resource \\"pods/log\\""}'));
    const error = await read(10).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KubernetesError);
    expect((error as KubernetesError).message).toContain(
      'may not get pods/log of a in the namespace kv (403)',
    );
    expect((error as KubernetesError).message).toContain(
      '{apiGroups: [""], resources: ["pods/log"], verbs: ["get"]}',
    );
  });

  it('are no longer waited for when nobody wants them', async () => {
    const stop = new AbortController();
    answerWith((response) => {
      response.write('x');
      stop.abort(new Error('enough'));
    });
    await expect(read(10, stop.signal)).rejects.toThrow('enough');
  });
});
