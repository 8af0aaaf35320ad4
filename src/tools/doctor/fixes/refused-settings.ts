import { capitalised } from '../../../core/text/capitalised.js';
import type { ProposedFix } from '../diagnosis.js';
import { type RefusedKey, refusedKeyIn } from '../logs/general/parser-errors.js';
import { advisedVariable } from '../logs/general/refused-settings.js';
import { wordsOfSglang } from '../logs/general/sglang-checks.js';
import { ownAdviceIn } from '../logs/own-advice.js';
import type { Measurements } from '../measurements/measurements.js';
import { assertedSettings } from './asserted-settings.js';
import { noteOfArgument } from './gone-arguments.js';
import { jsonObject } from './json-settings.js';
import { argumentsOf, engineYaml, environmentOf } from './lines.js';
import { listedValue } from './listed-value.js';
import { lmcacheSettings } from './lmcache-settings.js';
import { repairNamed } from './named-settings.js';
import { offloadedSizes } from './offloaded-sizes.js';
import { repairRefusedKey } from './parser-errors.js';
import { pickerConfig } from './picker-config.js';
import { repairRefusedWords } from './refused-words.js';
import { renamedFlag } from './renamed-flags.js';
import type { Repair } from './repair.js';
import { workersForRouter } from './routers.js';
import { settingFix as fix } from './setting-fix.js';
import {
  conflictingFlags,
  demandedSettings,
  isSizeOfBlocks,
  knownValues,
  refusedFeatures,
  removedFlags,
  requiredFlag,
  settingOfValue,
  switchToLeaveOut,
  type WantedSetting,
} from './setting-words.js';
import { correctedArguments } from './sglang-arguments.js';

const WHY =
  'The program checks combinations of model, attention, cache and connector at its start. A later version may allow what this one refuses; its release notes name it.';
const WHY_KEY =
  'The program reads its settings before it does anything else, and ends at the first that it does not take. Names and values change between versions.';
const FOLLOW =
  'It is the number of tokens per block too: start the other engine of a pair with the same, and give the router the new number';

/** Changes what a sentence demands, in the settings of the program that was seen. */
export function acceptableSettings(measurements: Measurements, sentence: string): ProposedFix {
  if (/^EndpointPickerConfig\b|^Failed to validate flags: |^llm-d's sidecar: /.test(sentence))
    return pickerConfig(sentence);
  if (/^failed to load config\b/.test(sentence)) return readableConfiguration(sentence);
  const variable = advisedVariable(sentence);
  if (variable !== undefined) return setVariable(variable);
  const checked = wordsOfSglang(sentence);
  if (checked !== undefined) return acceptableArguments(checked);
  const workers = workersForRouter(sentence);
  if (workers !== undefined) return workers;
  const asserted = assertedSettings(measurements, sentence) ?? offloadedSizes(sentence);
  if (asserted !== undefined) return fix(...asserted);
  if (/longer than 107 characters/.test(sentence)) return shorterPath();
  if (/--durable-kv-events requires/.test(sentence)) return durableEvents();
  const ofLmcache = lmcacheSettings(sentence);
  if (ofLmcache !== undefined) return ofLmcache;
  const json = jsonObject(sentence);
  if (json !== undefined) return fix(...json);
  const refused = refusedKeyIn(sentence);
  if (refused !== undefined) return fix(repairRefusedKey(refused), WHY_KEY, keyCommands(refused));
  const word = measurements.seen.engines.length === 1 ? measurements.seen.engines[0]?.word : undefined;
  const connector = connectorOfHybrids(measurements, sentence);
  if (connector !== undefined) return connector;
  const pages = fittingPages(measurements, sentence);
  if (pages !== undefined) return pages;
  if (/unrecognized arguments/.test(sentence)) return withoutUnknown(sentence, word);
  if (OF_PICKER.test(sentence)) return pickerConfig(sentence);
  const named = ofNamedFlags(sentence, word);
  if (named !== undefined) return named;
  const wanted = demandedSettings(sentence, word);
  const features = wanted.some(({ isNamed }) => isNamed) ? [] : refusedFeatures(sentence, word);
  if (features.length > 0) return withoutFeatures(features, word);
  const values = knownValues(sentence);
  if (values !== undefined && wanted.every(({ isValued }) => !isValued))
    return settingOf(listedValue(...values, settingOfValue(sentence)));
  const ofName =
    wanted.length === 1 && wanted[0]?.isValued === true && !EXCLUDES.test(sentence)
      ? undefined
      : repairNamed(sentence, word);
  if (ofName !== undefined) return settingOf(ofName);
  const corrected = word === 'sglang' && !sentence.includes('--') ? correctedArguments(sentence) : undefined;
  if (corrected !== undefined && wanted.every(({ isValued }) => !isValued)) return fix(...corrected);
  if (wanted.length > 0) return setWanted(wanted, sentence, word);
  // Plugins of engines are no part of a picker.
  const isOfPicker = /plugin/i.test(sentence) && measurements.seen.engines.length === 0;
  return isOfPicker ? pickerConfig(sentence) : unnamed(sentence);
}

/** What is to be done about flags that a sentence names as missing, in each other's way, or gone. */
function ofNamedFlags(sentence: string, word: string | undefined): ProposedFix | undefined {
  const off = word === 'sglang' ? switchToLeaveOut(sentence) : undefined;
  if (off !== undefined) return withoutFlag([off]);
  const required = requiredFlag(sentence);
  if (required !== undefined) return setRequired(...required);
  const [flags = []] = [conflictingFlags(sentence), removedFlags(sentence)].filter(
    ({ length }) => length > 0,
  );
  return flags.length > 0 ? withoutFlag(flags) : undefined;
}

/** What a check of SGLang's arguments asks for. */
function acceptableArguments(sentence: string): ProposedFix {
  const named = ofNamedFlags(sentence, 'sglang');
  if (named !== undefined) return named;
  const wanted = demandedSettings(sentence, 'sglang');
  if (wanted.some(({ isValued }) => isValued)) return setWanted(wanted, sentence, 'sglang');
  const corrected = correctedArguments(sentence);
  if (corrected !== undefined) return fix(...corrected);
  return fix(
    `Correct in the command of the engine what this check of SGLang's arguments names (kubectl edit): "${sentence.replaceAll('"', "'")}"`,
    WHY,
    [],
  );
}

/** What llm-d's picker and the router plugins of its configuration say. */
const OF_PICKER =
  /Failed to (?:parse|complete) (?:plugins )?configuration|instantiate plugins|populate controller config|plugin type/i;

/** The value in such a sentence is what is set, and not what is asked for. */
const EXCLUDES = /=\S{1,60} (?:is|are) (?:incompatible|not (?:supported|compatible)) with\b/;

function settingOf({ says, why, commands }: Repair): ProposedFix {
  return fix(says, why, commands);
}

function keyCommands({ place, key }: RefusedKey): readonly string[] {
  if (place === 'argument')
    return key === '' ? [] : [argumentsOf('the program', key, 'as the sentence asks')];
  return place === 'object'
    ? ['kubectl apply --dry-run=server -f FILE    # says the same without a change']
    : [];
}

/** JetStream keeps events, and only NATS has it. */
function durableEvents(): ProposedFix {
  return fix(
    'Start the frontend without --durable-kv-events (DYN_ROUTER_DURABLE_KV_EVENTS), or all programs with DYN_EVENT_PLANE=nats',
    'Durable events are those of JetStream, which is a part of NATS. With the event plane of ZMQ routers read what they missed from the local indexers of the workers instead. Workers and frontends need the same event plane.',
    [environmentOf('each worker and frontend', 'DYN_EVENT_PLANE=nats', 'with NATS_SERVER')],
  );
}

function setVariable(variable: string): ProposedFix {
  return fix(
    `Set ${variable}, as the sentence asks`,
    'The program names the setting that this model and this connector need together; engines of both roles need the same.',
    [environmentOf('each engine', variable)],
  );
}

/** Settings by their flags, with the values that the sentence demands. */
function setWanted(
  wanted: readonly WantedSetting[],
  sentence: string,
  word: string | undefined,
): ProposedFix {
  const names = wanted.map(({ text }) => text);
  const hasValue = wanted.some(({ isValued }) => isValued);
  const isSize = isSizeOfBlocks(names[0] ?? '');
  const noCommon = /no common block size/i.test(sentence);
  const mamba = /MambaRadixCache/.test(sentence)
    ? ', or keep the page size with --mamba-scheduler-strategy extra_buffer'
    : '';
  const how = hasValue ? ' (kubectl edit)' : ' as the sentence asks (kubectl edit)';
  const where = word === 'trtllm' ? ' in the engine file' : '';
  return fix(
    noCommon
      ? `Start the engine without --block-size, or with one that all attention backends of the model take (${takenSizes(sentence)})`
      : `Set ${names.join(' and ')}${where}${how}${mamba}${isSize ? '; router and pair must follow' : ''}`,
    isSize ? `${WHY} ${FOLLOW}.` : WHY,
    names.map((name) =>
      word === 'trtllm'
        ? engineYaml(name)
        : argumentsOf('the program', name, hasValue ? '' : 'as the sentence asks'),
    ),
  );
}

/** "No common block size for 16 (CPU_ATTN: [MultipleOf(32)])." */
function takenSizes(sentence: string): string {
  const units = [...sentence.matchAll(/MultipleOf\((\d{1,4})\)/g)].map(([, unit]) => Number(unit));
  return units.length === 0
    ? 'a multiple of 16 as a rule, 64 for MLA'
    : `a multiple of ${Math.max(...units)}`;
}

/** A flag that another one needs. */
function setRequired(flag: string, by: string): ProposedFix {
  return fix(
    `Set ${flag} (kubectl edit), or start the program without ${by}`,
    'The program checks at its start which of its arguments need each other.',
    [argumentsOf('the program', flag, `or without ${by}`)],
  );
}

/** Flags that do not go together, or not with this model. */
function withoutFlag(flags: readonly string[]): ProposedFix {
  return fix(
    `Start the program without ${flags.join(', or without ')} (kubectl edit)`,
    WHY,
    flags.slice(0, 1).map((flag) => argumentsOf('the program', `without ${flag}`)),
  );
}

/** Features that this model, this attention or another feature does not go with. */
function withoutFeatures(features: readonly string[], word: string | undefined): ProposedFix {
  const [first = ''] = features;
  return fix(
    word === 'trtllm'
      ? `Write ${features.join(', or ')} into the engine file (kubectl edit), or run a version that has both`
      : `Start the engine ${features.join(word === undefined ? ', and ' : ', or ')} for this model (kubectl edit), or a version that has both`,
    'The sentence refuses a feature for this model, its attention, or another feature. The engine works without it; a later version may have the two together, and its release notes name it.',
    word === undefined ? [] : [word === 'trtllm' ? engineYaml(first) : argumentsOf('the program', first)],
  );
}

/** One start refuses the connector beside the hybrid KV cache manager, another the model without it: following either sentence leads to the other. */
function connectorOfHybrids({ signal }: Measurements, sentence: string): ProposedFix | undefined {
  if (!/does not support HMA/.test(sentence)) return undefined;
  const refused = [...(signal('settings_refused')?.values.keys() ?? [])];
  if (!refused.some((one) => HYBRID_OFF.test(one))) return undefined;
  return fix(
    'Start the engine without --disable-hybrid-kv-cache-manager, and with a KV connector that supports the manager (NixlConnector, MooncakeConnector, OffloadingConnector; LMCacheMPConnector in place of LMCacheConnectorV1) or without --kv-transfer-config',
    'The model has layers with a window or a state and cannot run without the hybrid KV cache manager, and this connector cannot run with it.',
    [argumentsOf('the engine', '--no-disable-hybrid-kv-cache-manager')],
  );
}

const HYBRID_OFF = /hybrid KV cache manager is disabled/i;

/** The KV caches of a hybrid model's layers, or of its draft model, do not make blocks of one size. */
function fittingPages({ settings }: Measurements, sentence: string): ProposedFix | undefined {
  const isHybridOff = HYBRID_OFF.test(sentence);
  if (
    !isHybridOff &&
    !/one page size|[Cc]annot unify|page size of the layer|maximum page size/.test(sentence)
  )
    return undefined;
  if (isHybridOff)
    return fix(
      'Start the engine with --no-disable-hybrid-kv-cache-manager in a version that takes it beside KV events and connectors, else without --kv-events-config and --kv-transfer-config (kubectl edit)',
      'A hybrid model needs the hybrid KV cache manager, and KV events or a connector that does not know it turned it off. Later versions leave it on beside both.',
      [argumentsOf('the engine', '--no-disable-hybrid-kv-cache-manager')],
    );
  const speculation = settings('speculation').length > 0 ? 'It has a draft model. ' : '';
  return fix(
    'Run vLLM 0.32 or later, which pads the pages of Mamba and attention layers to one size; until then start the engine with --kv-cache-dtype auto, and without --speculative-config and VLLM_PP_LAYER_PARTITION (kubectl edit)',
    `${speculation}Pages of all layers come from one pool. A draft model, another dtype of the KV cache, or a pipeline stage whose layers were chosen by hand makes pages of a hybrid model that do not divide each other.`,
    [argumentsOf('the engine', 'without --speculative-config; --kv-cache-dtype auto')],
  );
}

/** Arguments that the program does not have, each with what is known of it. */
function withoutUnknown(sentence: string, engine: string | undefined): ProposedFix {
  const flags = [...new Set(sentence.match(/--[a-z][\w-]{2,60}/g) ?? [])].slice(0, 3);
  const renamed = flags.flatMap((flag) => renamedFlag(flag) ?? []);
  if (renamed.length > 0)
    return fix(
      `${capitalised(renamed.join(', and '))}, or run the release that the command was written for`,
      'Names of flags change between releases, and manifests of one release do not start the images of another.',
      [argumentsOf('the program', flags.join(', '), 'as this release has it')],
    );
  const named = flags.map((flag) => {
    const note = noteOfArgument(flag, engine);
    return note === undefined ? flag : `${flag} (${note})`;
  });
  const isKnown = named.every((text) => text.includes(' ('));
  return fix(
    `Start the program without ${named.join(' and ') || 'the argument that it does not know'} (kubectl edit)${isKnown && named.length > 0 ? '' : ', or run a version that has it'}`,
    WHY,
    flags.length === 0 ? [] : [argumentsOf('the program', `without ${flags.join(', ')}`)],
  );
}

/** Of a program that is not known by its sentence. */
function readableConfiguration(sentence: string): ProposedFix {
  return fix(
    `Correct the configuration that the program loads, or the path to it (kubectl get configmap): "${sentence.replaceAll('"', "'")}"`,
    'A program reads its configuration as it starts, and ends where it cannot; one that runs goes on with what it had before.',
    [],
  );
}

function unnamed(sentence: string): ProposedFix {
  const asked = ownAdviceIn(sentence);
  if (asked !== undefined) return fix(`Do what the sentence asks for ("${asked}")`, WHY, []);
  const words = repairRefusedWords(sentence);
  if (words !== undefined) return settingOf(words);
  return fix(
    'Set what the sentence speaks of (kubectl edit); the flags of the program have its words in them: --help',
    WHY,
    [],
  );
}

function shorterPath(): ProposedFix {
  return {
    ...fix(
      'Give the sockets a shorter path: a shorter engine_id and lmcache_rpc_port in --kv-transfer-config, and TMPDIR=/tmp or VLLM_RPC_BASE_PATH=/tmp on the engine',
      'Linux takes 107 characters for the path of a socket, and programs put folder, engine id and name of the port into it one behind the other.',
      [environmentOf('each engine', 'VLLM_RPC_BASE_PATH=/tmp TMPDIR=/tmp')],
    ),
    verify: ['kubectl logs POD --since=5m | grep -c "longer than 107"    # should be 0'],
  };
}
