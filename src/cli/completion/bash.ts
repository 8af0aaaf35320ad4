import { type CompletionCommand, type CompletionFlag, PROGRAM_FLAGS } from './model.js';

/**
 * The script for bash 3.2 and later. It needs no bash-completion package and
 * starts no process: a Node process at every Tab would be felt, and a script
 * that hands the typed words to `eval` would run what stands in them.
 */
export function bashScript(commands: readonly CompletionCommand[]): string {
  const names = [...commands.map(({ name }) => name), ...PROGRAM_FLAGS.map(({ flag }) => flag)];
  return `# bash completion of kv-accord
_kv_accord() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev='' command='' index
  COMPREPLY=()
  if ((COMP_CWORD > 0)); then prev=\${COMP_WORDS[COMP_CWORD - 1]}; fi
  # bash splits --flag=value at the sign.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _kv_accord_words '${names.join(' ')}'
    return
  fi
  command=\${COMP_WORDS[1]}
  for ((index = 2; index < COMP_CWORD; index++)); do
    if [[ \${COMP_WORDS[index]} == '--' ]]; then
      # What follows is another program: its name, then whatever bash offers by itself.
      if ((index == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); fi
      return
    fi
  done
  case $command in
${commands.map(commandCase).join('\n')}
  esac
}

# Offers these words and no file names.
_kv_accord_words() {
  compopt +o default +o bashdefault 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

complete -o bashdefault -o default -F _kv_accord kv-accord
`;
}

function commandCase(command: CompletionCommand): string {
  const words = [...command.operands, ...command.flags.map(({ flag }) => flag)];
  const values = command.flags.flatMap(valueCase);
  const cases = values.length === 0 ? '' : `      case $prev in\n${values.join('\n')}\n      esac\n`;
  // An empty answer makes bash offer paths.
  const isPath = command.takesFiles ? '      if [[ $cur != -* ]]; then return; fi\n' : '';
  return `    ${command.name})\n${cases}${isPath}      _kv_accord_words '${words.join(' ')}'\n      ;;`;
}

function valueCase({ flag, value }: CompletionFlag): string[] {
  if (value === undefined) return [];
  const words = value.words.join(' ');
  // An empty answer makes bash offer paths.
  const offer =
    value.path === undefined
      ? `_kv_accord_words '${words}'`
      : `COMPREPLY=($(compgen -W '${words}' -- "$cur"))`;
  return [`        ${flag})\n          ${offer}\n          return\n          ;;`];
}
