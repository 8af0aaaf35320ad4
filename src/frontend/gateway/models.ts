import type {
  Catalogue,
  CatalogueGroup,
  CatalogueModel,
  CatalogueWorker,
} from '../../fleet/catalogue/catalogue.js';
import { notRoutedError, OpenAiError } from '../errors/openai-error.js';
import type { CardFields, FoundAdapter } from './engine-models.js';

/** A model as OpenAI's API describes it, with vLLM's `parent` for LoRA adapters, and what its engine says beside that. */
export interface ModelCard {
  readonly [field: string]: unknown;
  readonly id: string;
  readonly object: 'model';
  /** Seconds since 1970: when this gateway started, since engines do not say when. */
  readonly created: number;
  readonly owned_by: 'kv-accord';
  /** The model that an adapter belongs to; null for a model. */
  readonly parent: string | null;
}

/** A name that was asked for, and who serves it. */
export interface FoundModel {
  readonly model: CatalogueModel;
  /** With those of its workers alone that have this name. */
  readonly group: CatalogueGroup;
  /** Targets of the others. Empty for an adapter: the router itself knows who has it. */
  readonly excluded: readonly string[];
}

/** All of a group have most names. */
const NOBODY: readonly string[] = [];

/** Names that an answer quotes; `/v1/models` has them all. */
const MAX_QUOTED = 10;
/** Characters of an unknown name that an answer quotes. */
const MAX_QUOTED_CHARS = 256;

/** A catalogue, prepared for those who ask by name. */
export class Models {
  readonly #catalogue: Catalogue;
  readonly #byName: ReadonlyMap<string, FoundModel>;
  /** Of those names that not all have, what was found: worked out when it is asked for, since there may be thousands. */
  readonly #narrowed = new Map<string, FoundModel>();
  /** What was found for a path of an API, by path and name. */
  readonly #byPath = new Map<string, Map<string, FoundModel>>();
  /** Base URLs by target, of each group. */
  readonly #baseUrls: ReadonlyMap<string, ReadonlyMap<string, string | undefined>>;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
    const groups = new Map(catalogue.groups.map((group) => [group.group, group]));
    const byName = new Map<string, FoundModel>();
    for (const model of catalogue.models) {
      const group = groups.get(model.group);
      if (group !== undefined) byName.set(model.name, { model, group, excluded: NOBODY });
    }
    this.#byName = byName;
    this.#baseUrls = new Map(
      catalogue.groups.map(({ group, workers }) => [
        group,
        new Map(workers.map(({ target, baseUrl }) => [target, baseUrl])),
      ]),
    );
  }

  /** Whether it is the name of something that is served, or in dispute. */
  has(name: string): boolean {
    return this.#byName.has(name) || this.#catalogue.conflicts?.some((one) => one.name === name) === true;
  }

  /** An adapter that is in no report yet, at the workers that were found to have it. */
  asAdapter(name: string, { group: owner, targets }: FoundAdapter): FoundModel {
    const group = this.#catalogue.groups.find(({ group }) => group === owner);
    if (group === undefined) throw this.#unknown(name);
    const found = { model: { name, group: owner, loraName: name }, group, excluded: NOBODY };
    const narrowed = narrow(found, new Set(targets));
    // The router knows nothing of it, so those that lack it are named.
    return {
      ...narrowed,
      excluded: group.workers.map(({ target }) => target).filter((one) => !targets.includes(one)),
    };
  }

  /** All groups, those included that serve nothing now. */
  get groups(): readonly CatalogueGroup[] {
    return this.#catalogue.groups;
  }

  /**
   * Who serves a name on a path of an API: engines that say that they do not
   * have the path get no requests for it. Throws an `OpenAiError` where no worker does.
   */
  findFor(name: string, path: string): FoundModel {
    const known = this.#byPath.get(path)?.get(name);
    if (known !== undefined) return known;
    const found = this.#narrowTo(path, name);
    const byName = this.#byPath.get(path) ?? new Map<string, FoundModel>();
    this.#byPath.set(path, byName.set(name, found));
    return found;
  }

  #narrowTo(path: string, name: string): FoundModel {
    const found = this.find(name);
    const lacks = ({ apis }: CatalogueWorker): boolean => apis !== undefined && !apis.includes(path);
    if (!found.group.workers.some(lacks)) return found;
    const workers = found.group.workers.filter((worker) => !lacks(worker));
    if (workers.length === 0) throw notServedError(name, path);
    const lacking = found.group.workers.filter(lacks).map(({ target }) => target);
    return {
      ...found,
      group: { ...found.group, workers },
      excluded: [...found.excluded, ...lacking],
    };
  }

  /** Who serves a name; throws an `OpenAiError` where no worker does. */
  find(name: string): FoundModel {
    const found = this.#byName.get(name);
    if (found === undefined) throw this.#disputed(name) ?? this.#unknown(name);
    const { servedBy } = found.model;
    if (servedBy === undefined) return found;
    const narrowed = this.#narrowed.get(name) ?? narrow(found, new Set(servedBy));
    this.#narrowed.set(name, narrowed);
    return narrowed;
  }

  /** Where a worker can be sent requests; undefined where it is not known, or not any longer. */
  baseUrlOf(group: string, target: string): string | undefined {
    return this.#baseUrls.get(group)?.get(target);
  }

  /** Names under which something is served now, ascending: a client that sees a name expects that it works. */
  get listed(): readonly FoundModel[] {
    return this.#catalogue.models.flatMap(({ name }) => {
      const found = this.#byName.get(name);
      return found?.group.isReady === true ? [found] : [];
    });
  }

  #disputed(name: string): OpenAiError | undefined {
    const conflict = this.#catalogue.conflicts?.find((one) => one.name === name);
    return conflict === undefined
      ? undefined
      : new OpenAiError(503, conflict.text, { param: 'model', code: 'model_name_conflict' });
  }

  #unknown(name: string): OpenAiError {
    // Before the first report nobody can say what there will be, and a client takes a 404 for good.
    if (this.#byName.size === 0)
      return notRoutedError({ code: 'unknown_group', reasons: this.#catalogue.reasons });
    const names = [...this.#byName.keys()];
    const more = names.length > MAX_QUOTED ? ', …' : '';
    const served = names
      .slice(0, MAX_QUOTED)
      .map((one) => `\`${one}\``)
      .join(', ');
    return new OpenAiError(
      404,
      `The model \`${name.slice(0, MAX_QUOTED_CHARS)}\` does not exist. Served here: ${served}${more}.`,
      { param: 'model', code: 'model_not_found' },
    );
  }
}

function notServedError(name: string, path: string): OpenAiError {
  const quoted = name.slice(0, MAX_QUOTED_CHARS);
  return new OpenAiError(
    404,
    `No worker of the model \`${quoted}\` serves ${path}: its engine has no such path, which depends on the kind of the model and on how the engine was started.`,
    { param: 'model', code: 'api_not_served' },
  );
}

function narrow({ model, group }: FoundModel, having: ReadonlySet<string>): FoundModel {
  const others = group.workers.filter(({ target }) => !having.has(target));
  return {
    model,
    group: { ...group, workers: group.workers.filter(({ target }) => having.has(target)) },
    excluded: model.loraName === '' ? others.map(({ target }) => target) : NOBODY,
  };
}

/** One model on its own. `fields` are those of its engine, which are passed on as they are. */
export function cardOf(
  { name, group, loraName }: CatalogueModel,
  createdSeconds: number,
  fields: CardFields = {},
): ModelCard {
  const parent = loraName === '' ? null : group;
  return {
    ...fields,
    id: name,
    object: 'model',
    created: createdSeconds,
    owned_by: 'kv-accord',
    parent: typeof fields['parent'] === 'string' ? fields['parent'] : parent,
  };
}
