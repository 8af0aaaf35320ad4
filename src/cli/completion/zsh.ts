import { shellQuoted } from '../../core/text/shell-quoted.js';
import { type CompletionCommand, type CompletionFlag, PROGRAM_FLAGS } from './model.js';

/** The script for zsh: to be sourced, or kept as a file `_kv-accord` on `fpath`. */
export function zshScript(commands: readonly CompletionCommand[]): string {
  const described = commands
    .map(({ name, summary }) => `      ${shellQuoted(`${name}:${summary}`)}`)
    .join('\n');
  return `#compdef kv-accord
# zsh completion of kv-accord
_kv_accord() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a known
  _arguments -C \\
    ${PROGRAM_FLAGS.map((flag) => `${flagSpec(flag)} \\\n    `).join('')}'1: :->command' \\
    '*:: :->arguments'
  case $state in
  command)
    known=(
${described}
    )
    _describe command known
    ;;
  arguments)
    curcontext="\${curcontext%:*:*}:kv-accord-$line[1]:"
    case $line[1] in
${commands.map(commandCase).join('\n')}
    esac
    ;;
  esac
}

if [[ $funcstack[1] == _kv-accord ]]; then
  _kv_accord "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _kv_accord kv-accord
fi
`;
}

function commandCase(command: CompletionCommand): string {
  const specs = command.flags.map(flagSpec);
  if (command.operands.length > 0) specs.push(shellQuoted(`1: :(${command.operands.join(' ')})`));
  if (command.takesFiles) specs.push(shellQuoted('*:file:_files'));
  if (command.passesThrough)
    specs.push(shellQuoted('(-)1:program: _command_names -e'), shellQuoted('*::arguments: _normal'));
  return `    ${command.name})\n      _arguments -S ${specs.map((spec) => `\\\n        ${spec}`).join(' ')}\n      ;;`;
}

function flagSpec({ flag, help, value }: CompletionFlag): string {
  const text = `[${help.replace(/[[\]\\]/g, '\\$&')}]`;
  if (value === undefined) return shellQuoted(`${flag}${text}`);
  const action = actionOf(value.words, value.path);
  return shellQuoted(`${value.repeats ? '*' : ''}${flag}=${text}:${value.placeholder}:${action}`);
}

function actionOf(words: readonly string[], path: 'file' | 'folder' | undefined): string {
  const files = path === 'folder' ? '_files -/' : '_files';
  if (path === undefined) return words.length === 0 ? ' ' : `(${words.join(' ')})`;
  if (words.length === 0) return files;
  // The space keeps zsh from adding options of its own; a bare colon would begin another value.
  return ` _alternative "words\\:word\\:(${words.join(' ')})" "files\\:file\\:${files}"`;
}
