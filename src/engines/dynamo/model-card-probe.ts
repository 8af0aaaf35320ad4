import { excerpt } from '../../edge/platform/probe-error.js';
import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { type EngineProbe, ProbeError, type ProbeModules, type ProbeTarget } from '../probing/probe.js';
import { concerns } from '../probing/probe-origin.js';
import { fromFileError, readSourceFile } from '../probing/read-source-file.js';
import { type CardPlace, readCardFileName } from './card-place.js';
import { cardsFolder, MAX_CARD_BYTES } from './cards-folder.js';
import { type ModelCard, readModelCard } from './model-card.js';

/** Cards that are read in one round: workers that share one discovery folder. */
const MAX_CARDS = 256;

/** A file of the cards' folder. */
interface CardFile extends CardPlace {
  readonly name: string;
}

interface Card extends ModelCard {
  readonly instanceId: string;
}

/**
 * The model card that a Dynamo worker leaves in file discovery, which is what
 * Dynamo's router goes by. It holds what the worker declares, and not what its
 * engine runs with: all of it counts as declared.
 *
 * Several workers may share the folder. The card of this one is known by the
 * address of the worker's system port in it; when there is only one, it is that.
 */
export const dynamoModelCard: EngineProbe = {
  name: 'dynamo-model-card',
  engineKind: EngineKind.DYNAMO,
  origin: (target) =>
    target.dynamoFileKv === undefined || !concerns(target, EngineKind.DYNAMO)
      ? undefined
      : `folder ${cardsFolder(target.dynamoFileKv)}`,
  async probe(target, modules) {
    const folder = cardsFolder(target.dynamoFileKv ?? '');
    const origin = `folder ${folder}`;
    const files = await listCards(folder, origin, modules);
    const cards: Card[] = [];
    const problems: string[] = [];
    for (const file of files.filter(({ adapter }) => adapter === undefined)) {
      try {
        cards.push(await readCard(folder, file, files, modules));
      } catch (cause) {
        if (!(cause instanceof ProbeError)) throw cause;
        problems.push(cause.message);
      }
    }
    const own = chooseCards(cards, target, origin, problems);
    return {
      facts: own.flatMap(({ facts }) => facts),
      warnings: [...problems, ...own.flatMap(({ warnings }) => warnings)],
    };
  },
};

async function listCards(
  folder: string,
  origin: string,
  modules: ProbeModules,
): Promise<readonly CardFile[]> {
  let names: readonly string[];
  try {
    names = await modules.listFiles(folder);
  } catch (cause) {
    throw fromFileError(cause, origin);
  }
  const files = names.flatMap((name) => {
    const place = readCardFileName(name);
    return place === undefined ? [] : [{ name, ...place }];
  });
  if (files.length > MAX_CARDS) {
    throw new ProbeError(
      'too_large',
      origin,
      `has ${files.length} model cards; at most ${MAX_CARDS} are read`,
    );
  }
  if (files.length === 0)
    throw new ProbeError('not_ready', origin, 'has no model card yet; the worker has not registered');
  return files;
}

async function readCard(
  folder: string,
  { name, instanceId }: CardFile,
  files: readonly CardFile[],
  modules: ProbeModules,
): Promise<Card> {
  const origin = `file ${folder}/${name}`;
  const text = await readSourceFile(`${folder}/${name}`, MAX_CARD_BYTES, origin, modules);
  const adapters = files
    .filter((other) => other.instanceId === instanceId)
    .flatMap(({ adapter }) => adapter ?? []);
  const card = readModelCard(parseJsonObject(text, origin), {
    source: EvidenceSource.DECLARED,
    origin,
    observedAtMs: modules.clock.wallMs(),
    instanceId,
    adapters,
  });
  return { ...card, instanceId };
}

/** The cards of this worker; a process that runs several worker instances has one for each. */
function chooseCards(
  cards: readonly Card[],
  target: ProbeTarget,
  origin: string,
  problems: readonly string[],
): readonly Card[] {
  const [first] = cards;
  if (first === undefined) {
    throw new ProbeError('bad_answer', origin, `no model card can be read: ${excerpt(problems.join('; '))}`);
  }
  if (target.httpBaseUrl !== undefined && URL.canParse(target.httpBaseUrl)) {
    const asked = new URL(target.httpBaseUrl);
    const exact = cards.filter(({ systemPort }) => systemPort === asked.origin);
    if (exact.length > 0) return exact;
    // The worker advertises its own address; the sidecar asks it over the loopback.
    const samePort = cards.filter(
      ({ systemPort }) => systemPort !== undefined && new URL(systemPort).port === asked.port,
    );
    if (new Set(samePort.map(({ systemPort }) => systemPort)).size === 1) return samePort;
  }
  if (cards.length === 1) return [first];
  const listed = cards
    .map(({ instanceId, systemPort }) => `${instanceId} at ${systemPort ?? 'no system port'}`)
    .join(', ');
  throw new ProbeError(
    'bad_answer',
    origin,
    `has the cards of ${cards.length} workers (${listed.slice(0, 400)}), and which is this one's is not known; ` +
      'start the worker with DYN_SYSTEM_PORT and give that port with --engine',
  );
}
