import type { Measurements } from '../measurements/measurements.js';
import { engineYaml } from './lines.js';

/** `max_tokens_in_buffer of cache_transceiver_config must be a multiple of tokens_per_block of kv_cache_config (tensorrt_llm/…`. */
const DEMAND =
  /^([a-z_]{3,60})(?: of ([a-z_]{3,60}))? must be (?:(a multiple of|at least|at most|more than|less than) )?(\d[\d.]*|true|false|[a-z_]{3,60})(?: of ([a-z_]{3,60}))? \(tensorrt_llm\//;
/** A size that all sizes of blocks divide that are in use. */
const WHOLE_BLOCKS = 8192;

/** What an assertion of an engine in C++ demands of a setting, in its YAML; undefined for other sentences. */
export function assertedSettings(
  measurements: Pick<Measurements, 'sizes'>,
  sentence: string,
): readonly [says: string, why: string, commands: readonly string[]] | undefined {
  const [, key = '', part = '', relation, other = '', otherPart] = DEMAND.exec(sentence) ?? [];
  if (key === '') return undefined;
  const isNumber = /^(?:\d|true$|false$)/.test(other);
  const value = wantedValue(measurements, { key, relation, other, isNumber });
  const line = part === '' ? `${key}: ${value}` : `${part}: { ${key}: ${value} }`;
  const than =
    relation === undefined && isNumber
      ? ''
      : `, ${relation ?? 'the same as'} ${other}${otherPart === undefined ? '' : ` of ${otherPart}`}`;
  const isBuffer = part === 'cache_transceiver_config';
  return [
    `Write ${line} into the engine file${than}${isBuffer ? ', the same in the files of both roles' : ''}`,
    `The engine checks these numbers against each other as it starts, and ends before the first request; nothing is wrong with its parts.${key === 'max_tokens_in_buffer' ? ' The buffer holds whole blocks, and should hold the longest prompt. The size of blocks itself stays: routers and the other engine of a pair count by it.' : ''}`,
    [engineYaml(line)],
  ];
}

function wantedValue(
  { sizes }: Pick<Measurements, 'sizes'>,
  {
    key,
    relation,
    other,
    isNumber,
  }: {
    readonly key: string;
    readonly relation: string | undefined;
    readonly other: string;
    readonly isNumber: boolean;
  },
): string {
  if (relation === undefined) return isNumber ? other : 'N';
  if (relation !== 'a multiple of' || other !== 'tokens_per_block') return 'N';
  const size = sizes.rows.find(({ side }) => side === 'worker')?.tokensPerBlock ?? 1;
  const isWhole = WHOLE_BLOCKS % size === 0;
  return key === 'max_tokens_in_buffer' ? String(isWhole ? WHOLE_BLOCKS : size * 256) : 'N';
}
