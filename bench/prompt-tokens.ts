/**
 * What the next turn of a conversation costs the thread that renders and tokenises prompts: from its messages to its
 * tokens, when all but the last message was there before, against tokenising the whole of it again. With a tokenizer
 * that treats every piece alike, and with one that puts a blank before the first word alone.
 */
import { ChatTemplates } from '../src/frontend/tokens/chat-template.js';
import { specialTokensOf } from '../src/frontend/tokens/special-tokens.js';
import { TextTokenizer } from '../src/frontend/tokens/text-tokenizer.js';
import { readTokenizerFolder } from '../src/frontend/tokens/tokenizer-folder.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';

const ROUNDS = IS_QUICK ? 3 : 9;
const TOKENS = [10_000, 100_000];
const TOKENS_PER_MESSAGE = 500;
/** One part in four: what is new is one part in twenty, or in two hundred. */
const AIM = 0.25;
const SENTENCE = 'The weather in Zürich is clear today, with 21 degrees and a light wind from the west. ';
const MEMORY_BYTES = 128 * 1024 * 1024;

/** Of the repository, wherever the compiled bench is. */
const FIXTURES = `${process.cwd()}/test/fixtures/tokenizers`;

interface Message {
  readonly role: string;
  readonly content: string;
}

async function load(
  name: string,
  maxRememberedBytes: number,
): Promise<(messages: readonly Message[]) => Uint32Array> {
  const files = await readTokenizerFolder(`${FIXTURES}/${name}`);
  const config: unknown = JSON.parse(files.config);
  const tokenizer = new TextTokenizer(
    { tokenizer: JSON.parse(files.tokenizer), config },
    { maxRememberedBytes },
  );
  const templates = new ChatTemplates(files.templates, specialTokensOf(config), Date.now);
  return (messages) => {
    const { text } = templates.render({ messages });
    if (text === undefined) throw new Error(`${name} renders no such conversation`);
    return tokenizer.encode(text, false);
  };
}

function millisecondsOf(run: () => void): number {
  const startNs = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - startNs) / 1e6;
}

for (const name of ['chatml', 'pieces']) {
  const remembering = await load(name, MEMORY_BYTES);
  const forgetting = await load(name, 0);
  const perSentence = forgetting([{ role: 'user', content: SENTENCE.repeat(100) }]).length / 100;
  const message = (at: number): Message => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `${at} ${SENTENCE.repeat(Math.round(TOKENS_PER_MESSAGE / perSentence))}`,
  });
  for (const tokens of TOKENS) {
    // An odd number, so that the client speaks last.
    const count = Math.floor(tokens / TOKENS_PER_MESSAGE / 2) * 2 + 1;
    const before = Array.from({ length: count - 1 }, (_, at) => message(at));
    remembering(before);
    const ours: number[] = [];
    const whole: number[] = [];
    let made = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const turn = [...before, { ...message(0), content: `${round} of ${message(0).content}` }];
      ours.push(
        millisecondsOf(() => {
          made = remembering(turn).length;
        }),
      );
      whole.push(millisecondsOf(() => forgetting(turn)));
    }
    title(`The next turn of a conversation of ${count} messages, tokenizer ${name}`);
    figure('its tokens', made, '');
    ratio('rendered and tokenised, per turn', median(ours), median(whole), 'ms', AIM);
  }
}
