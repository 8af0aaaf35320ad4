/** The thread in which prompts are rendered and tokenised: 10,000 tokens would hold up the event loop for 20 to 50 ms. */
import { systemClock } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import { insideThread } from '../../edge/platform/processes/thread.js';
import { ChatTemplates } from './chat-template.js';
import { InexactError } from './jinja/errors.js';
import { specialTokensOf } from './special-tokens.js';
import { TextTokenizer } from './text-tokenizer.js';
import type { TokenizingData, TokenizingJob, TokenizingMessage } from './tokenizing.js';

const thread = insideThread();
const data = thread.data as TokenizingData;

interface Loaded {
  readonly tokenizer: TextTokenizer;
  readonly templates: ChatTemplates;
}

function load(): Loaded | TokenizingMessage {
  let file = 'tokenizer_config.json';
  try {
    const config: unknown = JSON.parse(data.config);
    file = 'tokenizer.json';
    const tokenizer = new TextTokenizer({ tokenizer: JSON.parse(data.tokenizer), config }, data);
    file = 'chat_template';
    return {
      tokenizer,
      templates: new ChatTemplates(data.templates, specialTokensOf(config), systemClock.wallMs),
    };
  } catch (error) {
    return { kind: 'refused', file, problem: describeError(error) };
  }
}

function tokenise({ tokenizer, templates }: Loaded, job: TokenizingJob): TokenizingMessage {
  try {
    const isChat = job.kind === 'chat';
    const rendered = isChat ? templates.render(job.body) : { text: job.text };
    if (rendered.text === undefined)
      return rendered.reason === 'unsure'
        ? none('no_tokenizer', 'an engine may make something else of this request')
        : none('bad_prompt', 'an engine would refuse it');
    if (rendered.text.length > data.maxChars) return none('too_long', 'the rendered text is too long');
    const special = isChat ? job.body['add_special_tokens'] === true : job.addSpecialTokens;
    const tokens = tokenizer.encode(rendered.text, special);
    if (tokens.length > data.maxTokens) return none('too_long', 'it has too many tokens');
    return { kind: 'tokens', tokens: tokens as Uint32Array<ArrayBuffer> };
  } catch (error) {
    if (error instanceof InexactError) return none('no_tokenizer', error.message);
    return none('failed', describeError(error));
  }
}

function none(
  reason: Extract<TokenizingMessage, { kind: 'none' }>['reason'],
  problem: string,
): TokenizingMessage {
  return { kind: 'none', reason, problem };
}

const loaded = load();
if ('kind' in loaded) {
  thread.post(loaded);
} else {
  thread.onMessage((job) => {
    const result = tokenise(loaded, job as TokenizingJob);
    thread.post(result, result.kind === 'tokens' ? [result.tokens.buffer] : []);
  });
  thread.post({ kind: 'ready' } satisfies TokenizingMessage);
}
