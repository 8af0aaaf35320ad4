import type { ContainerSite, PodSite } from '../../pod-site.js';
import { readShellCommands } from '../shell/shell-commands.js';
import type { Word } from '../shell/words.js';
import { locateScalar, scalarText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';

/**
 * What KServe starts in the container `main` of an LLMInferenceService that gives no
 * command: vLLM, with arguments of its preset that are not seen, and `VLLM_ADDITIONAL_ARGS` behind them
 * (config/llmisvcconfig of KServe 0.16). Undefined for every other container.
 */
export function presetWords(
  file: TextSource,
  site: PodSite,
  { name, env, image, args }: ContainerSite,
): readonly Word[] | undefined {
  if (!isOfPreset(site, name)) return undefined;
  const more = env.findLast((entry) => entry.name === 'VLLM_ADDITIONAL_ARGS')?.value;
  const { span } = locateOf(file, image ?? args[0] ?? more, site);
  const [added] = more === undefined ? [] : readShellCommands(scalarText(file, more), new Map());
  return [
    ...['vllm', 'serve'].map((value): Word => ({ value, span, mayBeMore: false })),
    { value: undefined, span, mayBeMore: true },
    ...(added?.words ?? []),
  ];
}

/** Whether a container is one that KServe merges with those of the same name in presets. */
function isOfPreset({ kind, path }: PodSite, name: string): boolean {
  return kind.startsWith('LLMInferenceService') && name === 'main' && !path.includes('router');
}

/** What a base gives a container that has a command and no arguments of its own: those of the base, whatever they are. Those of KServe's presets say a name, a port and certificates. */
export function presetArgs(
  file: TextSource,
  site: PodSite,
  { name, command, args }: ContainerSite,
): readonly Word[] {
  const [first] = command;
  return first === undefined || args.length > 0 || !site.hasBase || !isOfPreset(site, name)
    ? []
    : [{ value: undefined, ...locateOf(file, first, site), mayBeMore: true }];
}

function locateOf(
  file: TextSource,
  text: ContainerSite['image'],
  { at: { start, end } }: PodSite,
): Pick<Word, 'span'> {
  return text === undefined
    ? { span: { source: file, start, end, isExact: false } }
    : { span: { ...locateScalar(file, text).span, isExact: false } };
}
