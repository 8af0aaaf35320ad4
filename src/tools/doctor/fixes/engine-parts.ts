import { partOfSentence } from '../../../engines/diagnosis/frame-parts.js';
import type { EnginePart } from '../../../engines/diagnosis/log-findings.js';
import { argumentsOf } from './lines.js';
import type { Repair } from './repair.js';

type Ways = Readonly<Record<EnginePart['part'], string>>;

const WITHOUT: Readonly<Record<EnginePart['engine'], Ways>> = {
  vllm: {
    speculation: 'without --speculative-config',
    attention: 'with another --attention-backend (VLLM_ATTENTION_BACKEND before 0.13)',
    lora: 'without --enable-lora and --lora-modules (merge the adapter into the weights)',
    grammar: `with --structured-outputs-config '{"backend":"guidance"}' (--guided-decoding-backend before 0.12)`,
    eplb: 'without --enable-eplb',
    all_reduce: 'with --disable-custom-all-reduce',
  },
  sglang: {
    speculation: 'without --speculative-algorithm',
    attention: 'with another --attention-backend',
    lora: 'without --enable-lora and --lora-paths (merge the adapter into the weights)',
    grammar: 'with --grammar-backend llguidance or outlines',
    eplb: 'without --enable-eplb',
    all_reduce: 'with --disable-custom-all-reduce',
  },
};

/** Starts the engine without the part that an error comes from; undefined where it comes from none that can be left out. */
export function withoutPart(parts: readonly EnginePart[], sentence: string): Repair | undefined {
  const said = partOfSentence(sentence);
  const all = parts.length === 0 && said !== undefined ? [said] : parts;
  const ways = [...new Set(all.map(({ part }) => part))].flatMap((one) => {
    // Of backends that build on each other the outermost was chosen.
    const chosen = all.findLast(({ part }) => part === one);
    if (chosen === undefined) return [];
    const way = WITHOUT[chosen.engine][one];
    return chosen.name === undefined ? way : `${way} than that of ${chosen.name}`;
  });
  const [first] = ways;
  if (first === undefined) return undefined;
  return {
    says: `Run a later release of the engine, and until then start it ${ways.slice(0, 2).join(', or ')}; where it worked before an update, go back to that release`,
    why: 'The traceback ends in this part of the engine: a fault of the program for this model and these settings. The engine works without it.',
    commands: [argumentsOf('the engine', first)],
  };
}
