import { isGiven, isJsonObject } from '../../edge/platform/data/json-object.js';
import { messageOf } from '../../edge/platform/describe-error.js';
import { templateKwargs } from '../../engines/descriptor/template-kwargs.js';
import { type ContentFormat, isExact, templateMessages, templateTools } from './chat-messages.js';
import { contentFormatOf } from './content-format.js';
import { InexactError } from './jinja/errors.js';
import { ChatTemplate } from './jinja/template.js';
import { strip } from './jinja/text.js';
import { UNSURE } from './jinja/values.js';

/** The text that a chat becomes, or why there is none. */
export type Rendered =
  | { readonly text: string; readonly reason?: undefined }
  | {
      readonly text: undefined;
      /** `unsure`: an engine may make something else of it than would be made here. */
      readonly reason: 'unsure' | 'bad_prompt';
    };

/** Sources of templates by name; `default`, and `tool_use` for requests with tools where there is one. */
export type TemplateSources = Readonly<Record<string, string>>;

const TAG = 'CONTINUE_FINAL_MESSAGE_TAG ';

/**
 * Names that are arguments of `apply_chat_template` and of the engine itself:
 * a request that sets them by `chat_template_kwargs` changes more than a variable.
 */
const RESERVED_KWARGS: ReadonlySet<string> = new Set([
  'chat_template',
  'conversation',
  'max_length',
  'messages',
  'padding',
  'return_assistant_tokens_mask',
  'return_dict',
  'return_tensors',
  'tokenize',
  'tokenizer_kwargs',
  'tools',
  'truncation',
]);

interface Compiled {
  readonly source: string;
  readonly template: ChatTemplate;
  readonly format: ContentFormat;
}

/** Renders chats as Hugging Face's `apply_chat_template` does, given what vLLM gives it. */
export class ChatTemplates {
  /** Undefined for a template that is not rendered here. */
  readonly #compiled = new Map<string, Compiled | undefined>();
  readonly #specialTokens: Readonly<Record<string, string>>;

  /**
   * `nowMs` is the wall clock, in milliseconds since 1970. Throws when a
   * template cannot be parsed; the message names it.
   */
  constructor(
    sources: TemplateSources,
    specialTokens: Readonly<Record<string, string>>,
    nowMs: () => number,
  ) {
    this.#specialTokens = specialTokens;
    for (const [name, source] of Object.entries(sources)) {
      try {
        const template = new ChatTemplate(source, nowMs);
        this.#compiled.set(name, { source, template, format: contentFormatOf(template.statements) });
      } catch (error) {
        if (error instanceof InexactError) {
          this.#compiled.set(name, undefined);
          continue;
        }
        throw new Error(`the chat template "${name}" cannot be used: ${messageOf(error)}`, { cause: error });
      }
    }
  }

  /** `body` is a request that was read by `readPrompt`. Throws what the template raises. */
  render(body: Readonly<Record<string, unknown>>): Rendered {
    try {
      return this.#render(body);
    } catch (error) {
      if (error instanceof InexactError) return none('unsure');
      throw error;
    }
  }

  #render(body: Readonly<Record<string, unknown>>): Rendered {
    const isAdding = body['add_generation_prompt'] ?? true;
    const isContinuing = body['continue_final_message'] ?? false;
    if (typeof isAdding !== 'boolean' || typeof isContinuing !== 'boolean') return none('bad_prompt');
    if (isAdding && isContinuing) return none('bad_prompt');
    const hasTools = isGiven(body['tools']);
    const name = hasTools && this.#compiled.has('tool_use') ? 'tool_use' : 'default';
    const compiled = this.#compiled.get(name);
    if (compiled === undefined || isGiven(body['chat_template'])) return none('unsure');
    const kwargs = kwargsOf(body);
    const tools = hasTools ? templateTools(body['tools']) : null;
    const messages = templateMessages(body['messages'] as Record<string, unknown>[], compiled.format);
    if (kwargs === undefined || tools === undefined || messages === undefined) return none('unsure');
    // Without a word for it in the template, the engine makes system messages of them and moves them.
    if (messages.some(({ role }) => role === 'developer') && !/["']developer["']/.test(compiled.source))
      return none('unsure');
    const shown = messages.map(withUnsure);
    const variables = {
      ...this.#specialTokens,
      documents: null,
      ...kwargs,
      tools,
      add_generation_prompt: isAdding,
    };
    if (!isContinuing) return { text: compiled.template.render({ ...variables, messages: shown }) };
    return renderContinued(compiled, variables, shown);
  }
}

/**
 * The last message stays open: `render_jinja_template` of transformers 5 marks
 * its end before it renders, and cuts there.
 */
function renderContinued(
  { source, template }: Compiled,
  variables: Readonly<Record<string, unknown>>,
  messages: readonly Readonly<Record<string, unknown>>[],
): Rendered {
  const last = messages.at(-1) as Readonly<Record<string, unknown>>;
  const { content } = last;
  const parts = Array.isArray(content) ? (content as { type: string; text: string }[]) : undefined;
  const final = parts === undefined ? (content as string) : parts.at(-1)?.text;
  if (final === undefined || !source.includes('content')) return none('bad_prompt');
  const marked =
    parts === undefined
      ? `${final}${TAG}`
      : [...parts.slice(0, -1), { type: 'text', text: `${final}${TAG}` }];
  const text = template.render({
    ...variables,
    messages: [...messages.slice(0, -1), { ...last, content: marked }],
  });
  const at = text.lastIndexOf(TAG.trimEnd());
  if (at === -1 || !text.includes(strip(final, null))) return none('bad_prompt');
  // A template that trims the message has taken the blank at the mark's end with it.
  return { text: text.startsWith(TAG, at) ? text.slice(0, at) : strip(text.slice(0, at), null, 'right') };
}

function kwargsOf(body: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const given = body['chat_template_kwargs'];
  if (isGiven(given) && !isJsonObject(given)) return undefined;
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(templateKwargs(body))) {
    if (RESERVED_KWARGS.has(name) || !isExact(value)) return undefined;
    // `merge_kwargs` of vLLM takes both for not given.
    if (value !== null && value !== 'auto') kept[name] = value;
  }
  return kept;
}

/** transformers 5.23 gives a message's reasoning as `thinking` too, which 5.19 (vLLM 0.32, SGLang 0.5.23) does not. */
function withUnsure(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isGiven(message['reasoning_content']) ? { ...message, thinking: UNSURE } : message;
}

function none(reason: 'unsure' | 'bad_prompt'): Rendered {
  return { text: undefined, reason };
}
