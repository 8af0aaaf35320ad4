import { type CompletionCommand, type CompletionFlag, PROGRAM_FLAGS } from './model.js';

/** The script for fish 3 and later. */
export function fishScript(commands: readonly CompletionCommand[]): string {
  return `# fish completion of kv-accord
function __kv_accord_has_no_command
    test (count (commandline -opc)) -eq 1
end

function __kv_accord_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]; and not contains -- -- $words
end

function __kv_accord_runs_program
    contains -- -- (commandline -opc)
end

complete -c kv-accord -f
complete -c kv-accord -n __kv_accord_runs_program -F -a '(__fish_complete_command)'
${PROGRAM_FLAGS.map((flag) => flagLine('__kv_accord_has_no_command', flag)).join('\n')}
${commands.flatMap(commandLines).join('\n')}
`;
}

function commandLines(command: CompletionCommand): string[] {
  const condition = quote(`__kv_accord_is ${command.name}`);
  const summary = quote(command.summary);
  const lines = [`complete -c kv-accord -n __kv_accord_has_no_command -a ${command.name} -d ${summary}`];
  if (command.operands.length > 0) {
    lines.push(`complete -c kv-accord -n ${condition} -a ${quote(command.operands.join(' '))}`);
  }
  if (command.takesFiles) lines.push(`complete -c kv-accord -n ${condition} -F`);
  return [...lines, ...command.flags.map((flag) => flagLine(condition, flag))];
}

function flagLine(condition: string, { flag, help, value }: CompletionFlag): string {
  const start = `complete -c kv-accord -n ${condition} -l ${flag.slice(2)} -d ${quote(help)}`;
  if (value === undefined) return start;
  const words = value.path === 'folder' ? [...value.words, '(__fish_complete_directories)'] : value.words;
  const offered = words.length === 0 ? '' : ` -a ${quote(words.join(' '))}`;
  return `${start} ${value.path === 'file' ? '-r -F' : '-x'}${offered}`;
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
