import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenThings } from './open-things.js';

/** What a test says of a worker; the rest is as a real one registered it. */
export interface CardSketch {
  /** Default 32. */
  readonly size?: number;
  /** Name of the served model; default `tiny`. */
  readonly model?: string;
  /** `HOST:PORT` of its system port; default `127.0.0.1:27011`. */
  readonly systemPort?: string;
}

/** Text of a recorded file of Dynamo 1.6.1. */
export function dynamoRecording(name: string): string {
  return readFileSync(
    fileURLToPath(new URL(`../fixtures/engines/dynamo-1.6.1/${name}`, import.meta.url)),
    'utf8',
  );
}

/** A worker's model card: the recorded one, with what the sketch says changed. */
export function modelCard({
  size = 32,
  model = 'tiny',
  systemPort = '127.0.0.1:27011',
}: CardSketch = {}): string {
  return dynamoRecording('model-card.verbatim.json')
    .replace('"kv_cache_block_size":32', `"kv_cache_block_size":${size}`)
    .replace('"display_name":"tiny"', `"display_name":"${model}"`)
    .replaceAll('127.0.0.1:27011', systemPort);
}

/** Name of the file that a worker's card has; `adapter` is that of one of its LoRA adapters. */
export function cardFileName(instanceId: string, adapter?: string): string {
  const end = adapter === undefined ? '' : `%2F${adapter}`;
  return `dynamo%2Fbackend%2Fgenerate%2F${instanceId}${end}`;
}

/** What the worker is called. */
export function workerName(instanceId: string): string {
  return `dynamo/backend/generate/${instanceId}`;
}

/** A folder on disk as `DYN_FILE_KV` names it, with workers that come and go. */
export class DynamoFolder {
  readonly path: string;
  readonly #cards: string;

  private constructor(path: string) {
    this.path = path;
    this.#cards = join(path, 'v1', 'mdc');
  }

  /** Removed again with `open`. */
  static async create(open: OpenThings): Promise<DynamoFolder> {
    const made = new DynamoFolder(await mkdtemp(join(tmpdir(), 'kv-accord-dynamo-')));
    open.add(() => rm(made.path, { recursive: true, force: true }));
    return made;
  }

  /** `--workers dynamo-file://…`. */
  get workers(): string[] {
    return ['--workers', `dynamo-file://${this.path}`];
  }

  async register(instanceId: string, card: CardSketch | string = {}): Promise<void> {
    await mkdir(this.#cards, { recursive: true });
    const text = typeof card === 'string' ? card : modelCard(card);
    await writeFile(join(this.#cards, cardFileName(instanceId)), text);
  }

  /** The worker ends as it should. */
  async leave(instanceId: string): Promise<void> {
    await rm(join(this.#cards, cardFileName(instanceId)));
  }

  /** As if nobody had renewed the card for so long. */
  async age(instanceId: string, ageMs: number): Promise<void> {
    const at = new Date(Date.now() - ageMs);
    await utimes(join(this.#cards, cardFileName(instanceId)), at, at);
  }
}
