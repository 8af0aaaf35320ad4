import { describe, expect, it } from 'vitest';
import { AnswerWatch } from '../../../../src/frontend/proxy/answers/answer-watch.js';
import { OpenAiAnswers } from '../../../../src/tools/demo/engines/openai-answers.js';

const HEAD = { id: '1', created: 5, model: 'm' };
const USAGE = { promptTokens: 70, cachedTokens: 64, completionTokens: 2 };

function makeAnswers(kind: 'chat' | 'completion', includesUsage = true): OpenAiAnswers {
  return new OpenAiAnswers({ kind, includesUsage }, HEAD);
}

/** What the frontend reads of an answer that passes. */
function usageRead(answer: string, isStream: boolean): unknown {
  const watch = new AnswerWatch(isStream);
  watch.add(Buffer.from(answer));
  return watch.usage;
}

describe('the answers of a simulated engine', () => {
  it.each(['chat', 'completion'] as const)('say to the frontend what was cached: %s', (kind) => {
    const answers = makeAnswers(kind);
    const counted = { promptTokens: 70, cachedTokens: 64 };
    expect(usageRead(answers.whole('Hello there', USAGE), false)).toMatchObject(counted);
    const stream =
      answers.token('Hello', true, false) + answers.token(' there', false, true) + answers.end(USAGE);
    expect(usageRead(stream, true)).toMatchObject(counted);
    expect(stream.split('\n\n')).toHaveLength(5);
    expect(stream).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('say it in a stream only to a client that wants it', () => {
    expect(makeAnswers('chat', false).end(USAGE)).toBe('data: [DONE]\n\n');
  });

  it('have the role in front and the reason for their end behind', () => {
    const answers = makeAnswers('chat');
    const [choice] = JSON.parse(answers.token('Hello', true, false).slice('data: '.length)).choices;
    expect(choice).toMatchObject({ delta: { role: 'assistant', content: 'Hello' }, finish_reason: null });
    const [last] = JSON.parse(answers.token(' there', false, true).slice('data: '.length)).choices;
    expect(last).toMatchObject({ delta: { content: ' there' }, finish_reason: 'length' });
    expect(last.delta).not.toHaveProperty('role');
  });
});
