import { type Command, forEachChild, type Function as ShellFunction, type SyntaxNode } from 'unbash';

/** Commands that start nothing and change nothing: half of a long script. */
const TALKING: ReadonlySet<string> = new Set(['echo', 'printf']);

/** Whether a command of a name can be passed over: `echo text`, and not `echo text > file`, nor `printf -v NAME`. */
export function isTalk(tool: string, { redirects, args: [first] }: Command): boolean {
  return TALKING.has(tool) && redirects.length === 0 && first?.text !== '-v';
}

/** Whether a function does nothing but talk: `print_step`, `log`. */
export function onlyTalks({ body }: ShellFunction): boolean {
  return hasTalkAlone(body);
}

function hasTalkAlone(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'Word':
      return true;
    case 'Command':
      return node.name?.value === 'local' || isTalk(node.name?.value ?? '', node);
    case 'BraceGroup':
    case 'CompoundList':
    case 'Statement':
    case 'If':
    case 'TestCommand': {
      let isAlone = true;
      forEachChild(node, (child) => {
        isAlone &&= hasTalkAlone(child);
      });
      return isAlone;
    }
    default:
      return false;
  }
}
