import { isJsonObject } from '../../edge/platform/data/json-object.js';
import type { AgentRequest, ChatRequest, MediaUse } from '../../engines/descriptor/token-endpoint.js';

type Body = Readonly<Record<string, unknown>>;

/** Media of one prompt that an engine is asked about: more than models take, and each is loaded for it. */
const MAX_MEDIA_PARTS = 256;
/** Objects in a part of a message that are looked into. */
const MAX_PART_DEPTH = 4;

/** Parts of a message that are text, by vLLM 0.32's `TEXT_PART_TYPES`. */
const TEXT_PART_TYPES: ReadonlySet<unknown> = new Set([
  'text',
  'input_text',
  'output_text',
  'refusal',
  'thinking',
]);

/** Types of parts and blocks that are no text, of OpenAI's Responses and Anthropic's Messages. */
const MEDIA_TYPES: ReadonlySet<unknown> = new Set([
  'document',
  'image',
  'image_url',
  'input_audio',
  'input_file',
  'input_image',
  'input_video',
]);

/** Fields of a part by which an engine would load something from elsewhere. */
const LINK_FIELDS: ReadonlySet<string> = new Set([
  'audio_url',
  'file_id',
  'file_url',
  'image_url',
  'url',
  'video_url',
]);

/** Whether a part of a chat's message is text. One without a type is known by its fields, which may be an image's. */
function isTextPart(part: Body): boolean {
  return TEXT_PART_TYPES.has(part['type']);
}

/** Whether a turn, a block or a part of OpenAI's Responses or Anthropic's Messages is an image, a file or a sound. */
function isMediaBlock(part: Body): boolean {
  return MEDIA_TYPES.has(part['type']);
}

/** The media among the turns of a prompt; undefined where there are none. */
export function mediaUseOf(
  kind: ChatRequest['kind'] | AgentRequest['kind'],
  turns: readonly unknown[],
): MediaUse | undefined {
  const found: Body[] = [];
  collect(turns, kind === 'chat' ? isChatMedia : isMediaBlock, found);
  if (found.length === 0) return undefined;
  return found.length <= MAX_MEDIA_PARTS && found.every((part) => isInline(part, 0)) ? 'inline' : 'linked';
}

/** Turns stand in a chat's messages as well, and are no parts. */
function isChatMedia(part: Body): boolean {
  return !('role' in part) && !isTextPart(part);
}

function collect(list: readonly unknown[], isMedia: (part: Body) => boolean, found: Body[]): void {
  for (const item of list) {
    if (!isJsonObject(item)) continue;
    if (isMedia(item)) found.push(item);
    else for (const inner of listsOf(item)) collect(inner, isMedia, found);
  }
}

/** Whether all that the part names is in it, so that nothing is loaded from elsewhere. */
function isInline(part: Body, depth: number): boolean {
  if (depth > MAX_PART_DEPTH) return false;
  return Object.entries(part).every(([field, value]) => {
    if (typeof value === 'string')
      return LINK_FIELDS.has(field) ? /^data:/i.test(value) : !/^[a-z][a-z\d+.-]*:\/\//i.test(value);
    return !isJsonObject(value) || isInline(value, depth + 1);
  });
}

/**
 * The same prompt with a word in place of each image, sound and video, and
 * that word before all else in the turn with the first of them: an engine may
 * put what stands for an image before the text of its turn. All tokens that
 * this prompt has in common with the same of another word stand before the
 * first medium of the true one.
 */
export function withWord<P extends ChatRequest | AgentRequest>(prompt: P, word: string): P {
  const { kind, body } = prompt;
  const isMedia = kind === 'chat' ? isChatMedia : isMediaBlock;
  const text: Body = { type: kind === 'responses' ? 'input_text' : 'text', text: word };
  let isFirst = true;
  const replace = (list: readonly unknown[]): unknown[] =>
    list.map((item) => (!isJsonObject(item) ? item : isMedia(item) ? text : within(item)));
  const within = (item: Body): Body => {
    const changed: Record<string, unknown> = { ...item };
    for (const field of LIST_FIELDS) {
      const inner = item[field];
      if (!Array.isArray(inner) || !hasMedia(inner, isMedia)) continue;
      const replaced = replace(inner);
      changed[field] = isFirst ? [text, ...replaced] : replaced;
    }
    return changed;
  };
  const replaceTurns = (turns: readonly unknown[]): unknown[] =>
    turns.map((turn) => {
      if (!isJsonObject(turn) || !hasMedia([turn], isMedia)) return turn;
      const replaced = isMedia(turn) ? { role: 'user', content: [text] } : within(turn);
      isFirst = false;
      return replaced;
    });
  const field = kind === 'responses' ? 'input' : 'messages';
  const turns = replaceTurns(body[field] as readonly unknown[]);
  const { media: _, ...others } = prompt;
  return {
    ...others,
    body: { ...body, [field]: turns },
    ...(kind === 'chat' ? { messages: turns } : {}),
  } as unknown as P;
}

function hasMedia(list: readonly unknown[], isMedia: (part: Body) => boolean): boolean {
  const found: Body[] = [];
  collect(list, isMedia, found);
  return found.length > 0;
}

/** Where parts stand in a turn, or in what a tool gave. */
const LIST_FIELDS: readonly string[] = ['content', 'output'];

function listsOf(item: Body): readonly (readonly unknown[])[] {
  return LIST_FIELDS.map((field) => item[field]).filter((value) => Array.isArray(value));
}
