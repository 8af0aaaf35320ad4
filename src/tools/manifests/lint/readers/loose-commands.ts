import { isScalar, type Node, visit, type YAMLMap } from 'yaml';
import { placedText, placeOfNode } from '../../yaml-access.js';
import { ENGINE_ARGUMENTS, ENGINE_FLAG } from '../launches/engine-flags.js';
import type { Launch } from '../launches/launch.js';
import { unchecked } from '../launches/unchecked-launches.js';
import type { OpenFile } from './yaml-words.js';

/** Commands of one file that are named. */
const MAX_COMMANDS = 50;
/** Characters of one text that are looked at. */
const MAX_TEXT_CHARS = 100_000;

/** The program at the beginning of a line of commands, behind what may stand before it. */
const COMMAND =
  /^[ \t]*(?:(?:-|exec|nohup|sudo|then|do|&&|env|[A-Za-z_]\w{0,60}=[^\s]{0,200})[ \t]+){0,20}["']?(?:\S{0,200}\/)?(?:(?<vllm>vllm[ \t]+serve|python3?[ \t]+-m[ \t]+vllm\.entrypoints\.\S+)|(?<sglang>sglang[ \t]+serve|python3?[ \t]+-m[ \t]+sglang\.launch_server)|(?<trtllm>trtllm-serve|trtllm-llmapi-launch)|python3?[ \t]+-m[ \t]+(?<dynamo>dynamo\.(?:frontend|router|indexer|vllm|sglang|trtllm|mocker)))(?=[\s"'\\]|$)/m;

/** The same anywhere in a text that is no YAML. */
const LOOSE_FLAG = new RegExp(
  `(?:^|[\\s"'\\[,])${ENGINE_FLAG.source.slice(1).replace('[=\\s]', '[=\\s"\']')}`,
  'm',
);

/** What each of these commands has; most texts have none of it. */
const SIGN = /vllm|sglang|trtllm|tensorrt-llm|dynamo\./;

/** A container that a line of commands starts, up to the image of an engine. */
const RUN = /^[ \t]*(?:sudo[ \t]+)?(?:docker|podman|nerdctl)[ \t]+run\b/gm;
const IMAGE =
  /(?:^|[\s"'])(?:[\w.:-]{1,100}\/){0,5}(?:(?<vllm>vllm-openai)|(?<sglang>lmsysorg\/sglang)|(?<trtllm>tensorrt-llm\/release))(?=[:@\s"'])/;
/** Characters of such a line, with those that it goes on with. */
const MAX_RUN_CHARS = 4_000;

const NO_READER = 'it stands in a file of a kind that no rule reads';

/**
 * Commands and arguments of engines in a file of which nothing else was read: values of a chart that no rule knows, a
 * patch of Kustomize with arguments alone, a task that runs a script. They are named as seen and not checked.
 */
export function readLooseCommands({ source, documents }: OpenFile): readonly Launch[] {
  const launches: Launch[] = [];
  const add = (program: string, reason: string, node: Node): void => {
    if (launches.length >= MAX_COMMANDS) return;
    const { start, end } = placeOfNode(node);
    launches.push(unchecked({ program, reason }, { source, start, end, isExact: false }));
  };
  for (const document of documents) {
    visit(document, {
      Map(_key, node) {
        // Schemas describe commands, and start none.
        return isSchema(node) ? visit.SKIP : undefined;
      },
      Seq(_key, list) {
        const texts = list.items.flatMap((item) => {
          const text = isScalar(item) ? placedText(item) : undefined;
          return text === undefined ? [] : [text.value];
        });
        if (texts.length === 0 || texts.length < list.items.length) return undefined;
        const program = programIn(texts.join(' ').slice(0, MAX_TEXT_CHARS));
        if (program !== undefined) add(program, NO_READER, list);
        else if (texts.some((text) => ENGINE_FLAG.test(text)))
          add(ENGINE_ARGUMENTS.program, ENGINE_ARGUMENTS.reason, list);
        else return undefined;
        return visit.SKIP;
      },
      Scalar(key, node) {
        if (key === 'key' || !isScalar(node)) return;
        const text = placedText(node)?.value ?? '';
        const program = programIn(text.slice(0, MAX_TEXT_CHARS));
        if (program !== undefined) add(program, NO_READER, node);
        // `prefill_flags: "--tp-size 8 --page-size 64"`, which something puts into a command.
        else if (/^\s*--[a-z]/.test(text) && LOOSE_FLAG.test(text.slice(0, MAX_TEXT_CHARS)))
          add(ENGINE_ARGUMENTS.program, ENGINE_ARGUMENTS.reason, node);
      },
    });
  }
  return launches;
}

function programIn(text: string): string | undefined {
  if (!SIGN.test(text)) return undefined;
  const { vllm, sglang, trtllm, dynamo } = COMMAND.exec(text)?.groups ?? imageIn(text) ?? {};
  if (vllm !== undefined) return 'vllm';
  if (sglang !== undefined) return 'sglang';
  return trtllm === undefined ? dynamo : 'trtllm-serve';
}

function imageIn(text: string): Readonly<Record<string, string | undefined>> | undefined {
  for (const { index } of text.matchAll(RUN)) {
    const [line = ''] = /^(?:[^\n\\]|\\[\s\S])*/.exec(text.slice(index, index + MAX_RUN_CHARS)) ?? [];
    const groups = IMAGE.exec(line)?.groups;
    if (groups !== undefined) return groups;
  }
  return undefined;
}

/** Whether a text of some other kind starts an engine or has arguments that only engines have. */
export function startsEngine(text: string): boolean {
  const start = text.slice(0, MAX_TEXT_CHARS);
  return programIn(start) !== undefined || LOOSE_FLAG.test(start) || IMAGE.test(start);
}

function isSchema(map: YAMLMap): boolean {
  const kind = map.items.find(({ key }) => isScalar(key) && key.value === 'kind')?.value;
  return isScalar(kind) && kind.value === 'CustomResourceDefinition';
}
