import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import type { InferenceObjectives } from '../../../../src/fleet/discovery/inference-pool/inference-objectives.js';
import { openObjectives } from '../../../../src/fleet/discovery/inference-pool/open-objectives.js';
import { FakeApiServer, refuse } from '../../../support/fake-api-server.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const OLD = '/apis/inference.networking.x-k8s.io/v1alpha2/namespaces/kv/inferenceobjectives';
const NEW = '/apis/llm-d.ai/v1alpha2/namespaces/kv/inferenceobjectives';
const open = new OpenThings();
let server: FakeApiServer;
let logger: RecordingLogger;

beforeEach(async () => {
  server = await FakeApiServer.start();
  logger = new RecordingLogger();
  open.add(() => server.close());
});

afterEach(() => open.close());

async function follow(): Promise<InferenceObjectives> {
  const modules = { clock: systemClock, random: systemRandom, logger };
  const opened = await openObjectives(
    { pool: 'kv/llama', kubeconfig: server.kubeconfig() },
    { ...modules, environment: {} },
  );
  open.add(() => opened.close());
  return opened.objectives;
}

/** Waits until an objective has a priority. */
async function becomes(objectives: InferenceObjectives, name: string, priority: number): Promise<void> {
  await expect.poll(() => objectives.priorityOf(name), { timeout: 20_000 }).toBe(priority);
}

/** What was logged beside the warning that the server is asked in plaintext. */
function logged(): string[] {
  return logger.messages().filter((message) => !message.includes('is asked in plaintext'));
}

function objective(priority: number | undefined, pool = 'llama'): Record<string, unknown> {
  return { spec: { ...(priority === undefined ? {} : { priority }), poolRef: { name: pool } } };
}

it('objectives of a pool have priorities, which change, and all else has 0', async () => {
  server.put(OLD, 'high', objective(10));
  server.put(OLD, 'batch', objective(-10));
  server.put(OLD, 'unset', objective(undefined));
  server.put(OLD, 'other', objective(5, 'mistral'));
  const objectives = await follow();
  expect(objectives.priorityOf('high')).toBe(0);
  await becomes(objectives, 'high', 10);
  expect(['batch', 'unset', 'other', 'nobody', undefined].map((name) => objectives.priorityOf(name))).toEqual(
    [-10, 0, 0, 0, 0],
  );
  server.put(OLD, 'high', objective(3));
  await becomes(objectives, 'high', 3);
  server.delete(OLD, 'high');
  await becomes(objectives, 'high', 0);
});

it('objectives of llm-d are read before those of the group that had the kind first', async () => {
  server.put(OLD, 'high', objective(1));
  server.put(NEW, 'high', objective(2));
  await becomes(await follow(), 'high', 2);
  expect(logged()).toEqual([]);
});

it('a cluster without the kind is nothing to warn of; one that refuses it is', async () => {
  server.put(OLD, 'high', objective(1));
  server.intercept = (request, response) => {
    if (request.path === OLD) return false;
    refuse(response, 404, 'the server could not find the requested resource');
    return true;
  };
  await becomes(await follow(), 'high', 1);
  expect(logged()).toEqual([]);
  server.intercept = (_request, response) => {
    refuse(response, 403, 'forbidden: User "u" cannot list resource "inferenceobjectives"');
    return true;
  };
  await follow();
  await expect.poll(() => logged().length, { timeout: 20_000 }).toBe(2);
});
