import { ENGINES } from '../../../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../../../engines/descriptor/engine-descriptor.js';
import type { Word } from '../shell/words.js';
import { type EnvInFront, envInFront } from './env-in-front.js';
import type { Backend, Launch } from './launch.js';

/** What a program is, before its arguments are looked at. */
export type Program = Pick<Launch, 'role' | 'program' | 'backend' | 'isDynamo'>;

/** A program in a command line. */
export interface FoundProgram {
  readonly program: Program;
  /** Its words: `python3`, `-m`, `dynamo.frontend`. */
  readonly at: readonly Word[];
  readonly args: readonly Word[];
  /** What the words in front of it do to its variables. */
  readonly inFront: EnvInFront;
  readonly isGated: boolean;
  /** The command that `kv-accord exec` starts. */
  readonly child: readonly Word[] | undefined;
}

/** The gateway of SGLang, under the names that its packages had. */
const SMG: Program = { role: 'gateway', program: 'smg', backend: undefined, isDynamo: false };

/** Its commands; with `launch` behind them, which may be left out. */
const SMG_COMMANDS: readonly string[] = ['smg', 'amg', 'sgl-model-gateway', 'sglang-router', 'sgl-router'];

/** TensorRT-LLM's own router between context and generation servers. */
const DISAGGREGATED: Program = {
  role: 'gateway',
  program: 'trtllm-serve disaggregated',
  backend: undefined,
  isDynamo: false,
};

const MODULES: Readonly<Record<string, Program>> = {
  'dynamo.frontend': dynamo('frontend'),
  'dynamo.router': dynamo('router'),
  // `dynamo.router` with a queue of its own: it has all of its options (thunderagent_router/args.py of 1.3).
  'dynamo.thunderagent_router': { ...dynamo('router'), program: 'dynamo.thunderagent_router' },
  'dynamo.indexer': dynamo('indexer'),
  'dynamo.mocker': worker('dynamo.mocker', 'mocker', true),
  ...Object.fromEntries(['sglang_router.launch_router', 'smg.launch_router'].map((module) => [module, SMG])),
  ...Object.fromEntries(ENGINES.flatMap(modulesOf)),
};

/** Modules that start an engine: its own, and Dynamo's wrapper around it. */
function modulesOf({ word, launch }: EngineDescriptor): readonly (readonly [string, Program])[] {
  if (launch === undefined) return [];
  const { modules, dynamo: wrapper } = launch;
  return [
    ...(wrapper === undefined
      ? []
      : [wrapper.module, ...(wrapper.otherModules ?? [])].map(
          (module) => [module, worker(wrapper.module, word, true)] as const,
        )),
    ...Object.entries(modules).map(([module, program]) => [module, worker(program, word, false)] as const),
  ];
}

/** A command that starts an engine: how many words it has, and its program. Undefined for any other command. */
function engineCommand(name: string, next: string): { program: Program; count: number } | undefined {
  for (const { word, launch } of ENGINES) {
    const commands = launch?.commands ?? {};
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) continue;
    const { program, subcommand, others } = command;
    const isSubcommand = next === subcommand.name;
    if (others.includes(next) || (!isSubcommand && !subcommand.isOptional)) return undefined;
    return { program: worker(program, word, false), count: isSubcommand ? 2 : 1 };
  }
  return undefined;
}

/** Modules that are an engine's command: `python3 -m vllm.entrypoints.cli.main serve`. */
const COMMAND_MODULE = /^(vllm|sglang)(?:\.entrypoints)?\.cli(?:\.main)?$/;

/** Tools that name programs without starting them. */
const NOT_STARTING: readonly string[] = [
  ...[
    'echo',
    'printf',
    'pip',
    'pip3',
    'grep',
    'pgrep',
    'pkill',
    'killall',
    'kill',
    'cat',
    'curl',
    'wget',
    'which',
  ],
  ...[
    'type',
    'apt',
    'apt-get',
    'git',
    'kubectl',
    'helm',
    'test',
    '[',
    'command',
    'man',
    'sed',
    'awk',
    'tee',
    'ls',
  ],
];

/** Words in front of a program that are looked at: `exec env A=b numactl … tini -- program`. */
const MAX_WORDS_IN_FRONT = 200;

/** The program that a command line starts, behind any wrappers. */
export function findProgram(words: readonly Word[]): FoundProgram | undefined {
  if (NOT_STARTING.includes(baseName(words[0]))) {
    return undefined;
  }
  for (let index = 0; index < Math.min(words.length, MAX_WORDS_IN_FRONT); index += 1) {
    const found = programAt(words, index);
    if (found !== undefined) {
      return { ...found, inFront: envInFront(words.slice(0, index)), isGated: false };
    }
  }
  return undefined;
}

function programAt(
  words: readonly Word[],
  index: number,
): Pick<FoundProgram, 'program' | 'at' | 'args' | 'child'> | undefined {
  const take = (
    program: Program,
    count: number,
  ): Pick<FoundProgram, 'program' | 'at' | 'args' | 'child'> => ({
    program,
    at: words.slice(index, index + count),
    args: words.slice(index + count),
    child: undefined,
  });
  const name = baseName(words[index]);
  const next = words[index + 1]?.value ?? '';
  if (/^python(?:3(?:\.\d+)?)?$/.test(name) || isSomePython(words, index)) {
    const flag = words.findIndex(({ value }, at) => at > index && value === '-m');
    const isOptions = areOptions(words.slice(index + 1, Math.max(flag, 0)), ['-W', '-X']);
    const module = words[flag + 1]?.value ?? '';
    if (flag === -1 || !isOptions) return undefined;
    const program = moduleProgram(module);
    if (program !== undefined) return take(program, flag + 2 - index);
    const [, command] = COMMAND_MODULE.exec(module) ?? [];
    const called = command === undefined ? undefined : engineCommand(command, words[flag + 2]?.value ?? '');
    return called === undefined ? undefined : take(called.program, flag + 1 + called.count - index);
  }
  const engine = engineCommand(name, next);
  if (engine !== undefined) return take(engine.program, engine.count);
  if (name === 'trtllm-serve' && next === 'disaggregated') return take(DISAGGREGATED, 2);
  if (SMG_COMMANDS.includes(name)) {
    return next === 'launch' ? take(SMG, 2) : next.startsWith('-') ? take(SMG, 1) : undefined;
  }
  switch (name) {
    case 'kv-accord':
      return ownCommand(words, index);
    case 'main.js':
      // With a Node of its own, as it is carried into another image.
      return words[index]?.value?.endsWith('/kv-accord/dist/cli/main.js') === true
        ? ownCommand(words, index)
        : undefined;
    default:
      return undefined;
  }
}

/** Whether a word of unknown value is a Python: `"$PYTHON" -m MODULE`, `$VENV/bin/python3 -u -m MODULE`. */
function isSomePython(words: readonly Word[], index: number): boolean {
  const { value, known } = words[index] ?? {};
  return (
    value === undefined &&
    known !== undefined &&
    !known.prefix.startsWith('-') &&
    (words[index + 1]?.value === '-m' || /\/python(?:3(?:\.\d+)?)?$/.test(known.suffix))
  );
}

/** Whether words are options of an interpreter alone: after anything else comes what is its script's. */
export function areOptions(words: readonly Pick<Word, 'value'>[], withValue: readonly string[]): boolean {
  return words.every(
    ({ value = '' }, index) => /^[-+]/.test(value) || withValue.includes(words[index - 1]?.value ?? ''),
  );
}

function ownCommand(
  words: readonly Word[],
  index: number,
): Pick<FoundProgram, 'program' | 'at' | 'args' | 'child'> | undefined {
  const command = words[index + 1]?.value;
  if (command === undefined || !/^[a-z]+$/.test(command)) {
    return undefined;
  }
  const program: Program = {
    role: 'kv-accord',
    program: `kv-accord ${command}`,
    backend: undefined,
    isDynamo: false,
  };
  const end = words.findIndex(({ value }, at) => at > index && value === '--');
  const takesCommand = (command === 'exec' || command === 'demo') && end !== -1;
  return {
    program,
    at: words.slice(index, index + 2),
    args: words.slice(index + 2, takesCommand ? end : undefined),
    child: takesCommand ? words.slice(end + 1) : undefined,
  };
}

function moduleProgram(module: string): Program | undefined {
  const name = module.replace(/\.(?:__main__|main|unified_main)$/, '');
  return Object.hasOwn(MODULES, name) ? MODULES[name] : undefined;
}

/** The name of a program, also in a folder that is known only at run time: `$VENV/bin/vllm`. */
function baseName(word: Word | undefined): string {
  const { prefix = '', suffix = '' } = word?.known ?? {};
  const path = word?.value ?? (/^-|=/.test(prefix) || !suffix.includes('/') ? '' : suffix);
  return path.split('/').at(-1) ?? '';
}

function dynamo(role: 'frontend' | 'router' | 'indexer'): Program {
  return { role, program: `dynamo.${role}`, backend: undefined, isDynamo: true };
}

function worker(program: string, backend: Backend, isDynamo: boolean): Program {
  return { role: 'worker', program, backend, isDynamo };
}
