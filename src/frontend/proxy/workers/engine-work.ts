import type { Dispatcher, Pool } from 'undici';
import type { Clock } from '../../../edge/platform/clock.js';
import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { withDeadline } from '../../../edge/platform/time/deadline.js';
import { engineOfOwner } from '../../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../../engines/descriptor/engine-descriptor.js';
import { COMPLETIONS } from '../../../engines/descriptor/prompt-path.js';
import { MAX_METRICS_BYTES, readMetrics } from '../../../engines/facts/prometheus-text.js';
import { OTHER } from '../../../engines/other/descriptor.js';
import { wholeAnswer } from '../../engine-access/whole-answer.js';

/**
 * What an engine shows when it is asked whether it computes:
 * - `works`: its counters have changed, or it computed a token for who asked;
 * - `stands`: its counters have not changed, and it computed none;
 * - `mute`: it computed no token, and has no counters that are known: all its places may be taken;
 * - `unknown`: it cannot be asked.
 */
export type WorkSign = 'works' | 'stands' | 'mute' | 'unknown';

/** Where an engine is asked. */
export interface AskedEngine {
  readonly pool: Pool;
  /** What goes before each path. */
  readonly pathPrefix: string;
  /** The name of its model. */
  readonly model: string;
  /** Headers with its key; empty for none. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What was found. */
export interface WorkAnswer {
  readonly sign: WorkSign;
  /** Its counters, as text to be compared; undefined where they are not known. */
  readonly counters: string | undefined;
}

/** Says in the engine's log who asked for a token. */
const ASKER = 'kv-accord';

/** The first token of a vocabulary that is no control token in most of them; which one it is does not matter. */
const ONE_TOKEN = [1];

/**
 * Asks an engine whether it computes: first for its counters, which cost it nothing, and for one token only where they have not
 * changed since `before`. Takes `waitMs` at most. Never rejects.
 */
export async function askForWork(
  engine: AskedEngine,
  before: string | undefined,
  waitMs: number,
  { clock }: { readonly clock: Clock },
): Promise<WorkAnswer> {
  let counters: string | undefined;
  let isAsked = false;
  try {
    return await withDeadline({ timeoutMs: waitMs }, { clock }, async (signal) => {
      const kind = await kindOf(engine, signal);
      counters = await countersOf(engine, kind, signal);
      if (before !== undefined && counters !== undefined && counters !== before)
        return { sign: 'works', counters };
      isAsked = true;
      const status = await statusOfToken(engine, kind, signal);
      if (status === 200) return { sign: 'works', counters };
      // SGLang answers 503 when no token came.
      if (status === 503) return { sign: counters === undefined ? 'mute' : 'stands', counters };
      return { sign: before === undefined || counters === undefined ? 'unknown' : 'stands', counters };
    });
  } catch {
    // No answer is an answer where a token was asked for; before that, nothing is known.
    if (!isAsked) return { sign: 'unknown', counters };
    return { sign: counters === undefined ? 'mute' : 'stands', counters };
  }
}

/** A page of an engine. */
export interface EnginePage {
  readonly status: number;
  readonly text: string;
}

/** Prompt tokens that an engine ever had no need to compute, by its own counters; undefined where they are not known. Never rejects. */
export async function askNotComputed(
  engine: AskedEngine,
  waitMs: number,
  { clock }: { readonly clock: Clock },
): Promise<number | undefined> {
  try {
    return await withDeadline({ timeoutMs: waitMs }, { clock }, (signal) =>
      notComputedOf((path) => read(engine, { method: 'GET', path }, signal)),
    );
  } catch {
    // An engine that does not answer shows that elsewhere.
    return undefined;
  }
}

/** The same of an engine whose pages `get` reads; rejects as `get` does. */
export async function notComputedOf(get: (path: string) => Promise<EnginePage>): Promise<number | undefined> {
  const counters = kindFrom(await get('/v1/models')).load?.notComputed;
  if (counters === undefined) return undefined;
  const { page, name, label, values } = counters;
  const { status, text } = await get(page);
  const samples = status === 200 ? readMetrics(text, new Set([name])).samples.get(name) : undefined;
  const counted = samples?.filter(({ labels }) => values.includes(labels.get(label) ?? ''));
  const sum = counted?.reduce((all, { valueText }) => all + Number(valueText), 0);
  return sum === undefined || !Number.isFinite(sum) ? undefined : sum;
}

async function kindOf(engine: AskedEngine, signal: AbortSignal): Promise<EngineDescriptor> {
  return kindFrom(await read(engine, { method: 'GET', path: '/v1/models' }, signal));
}

function kindFrom({ status, text }: EnginePage): EngineDescriptor {
  if (status !== 200) return OTHER;
  const models: unknown = JSON.parse(text);
  const data = isJsonObject(models) ? models['data'] : undefined;
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  return engineOfOwner(isJsonObject(first) ? first['owned_by'] : undefined) ?? OTHER;
}

async function countersOf(
  engine: AskedEngine,
  { load }: EngineDescriptor,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (load?.work === undefined) return undefined;
  const { page, names } = load.work;
  const { status, text } = await read(engine, { method: 'GET', path: page }, signal);
  if (status !== 200) return undefined;
  const { samples } = readMetrics(text, new Set(names));
  if (samples.size === 0) return undefined;
  return [...samples.values()]
    .flat()
    .map(({ name, labels, valueText }) => `${name} ${[...labels.values()].join(',')} ${valueText}`)
    .join('\n');
}

async function statusOfToken(
  engine: AskedEngine,
  { generationCheckPath }: EngineDescriptor,
  signal: AbortSignal,
): Promise<number> {
  const asked: Asked =
    generationCheckPath === undefined
      ? {
          method: 'POST',
          path: COMPLETIONS.path,
          body: JSON.stringify(COMPLETIONS.body({ type: 'tokens', tokens: ONE_TOKEN }, engine.model, ASKER)),
        }
      : { method: 'GET', path: generationCheckPath };
  return (await read(engine, asked, signal)).status;
}

type Asked = Pick<Dispatcher.RequestOptions, 'method' | 'path'> & { readonly body?: string };

async function read(
  { pool, pathPrefix, headers }: AskedEngine,
  { method, path, body }: Asked,
  signal: AbortSignal,
): Promise<EnginePage> {
  const options = {
    method,
    path: pathPrefix + path,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  };
  const answer = await wholeAnswer(pool, options, MAX_METRICS_BYTES, signal);
  return { status: answer.status, text: answer.body.toString() };
}
