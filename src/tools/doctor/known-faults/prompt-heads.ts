import type { KnownFault } from './known-fault.js';

/** What clients write near the beginning of each prompt that is another one each time: all behind it is computed again. */
export const PROMPT_HEADS: readonly KnownFault[] = [
  {
    id: 'prompt_head_of_claude_code',
    cause: 'no_shared_prefixes',
    needles: ['x-anthropic-billing-header'],
    pattern: /x-anthropic-billing-header: ?.{0,300}?\bcch=([\w<>.…]{1,20})/,
    isSign: true,
    says: 'Claude Code begins each prompt with a header of its own (cch=…) that is another one each time: nothing behind it is found again',
    why: 'From 2.1.36 on the first block of the system prompt has it, and blocks are found from the beginning of a prompt on alone. vLLM takes it out since March 2026 (pull request 36829); other servers and gateways pass it on as it came.',
    cure: 'Set CLAUDE_CODE_ATTRIBUTION_HEADER=0 where Claude Code runs (env of ~/.claude/settings.json), or have the gateway strip that line before the prompt is tokenized',
    commands: ['grep -n ATTRIBUTION ~/.claude/settings.json'],
    disturbs: 'nothing',
  },
];

/** The row of what two copies of one beginning differ in, which a text shows; no line has it by itself. */
export const CHANGING_HEAD: KnownFault = {
  id: 'prompt_head_changes',
  cause: 'no_shared_prefixes',
  needles: [],
  isSign: true,
  says: 'Prompts are the same but for what changes each time near their beginning ($1, then $2): nothing behind it is found again',
  why: 'Engines and routers find blocks from the beginning of a prompt on, up to the first token that differs. A time, a number of the request or a random id in the system prompt ends that for all that follows, the conversation too.',
  cure: 'Take what changes out of the system prompt, freeze it for a conversation (the date in place of the time), or write it behind all that stays the same, at the end of the last message',
  disturbs: 'nothing',
};
