import type { Repair } from './repair.js';

/** One of the values that a sentence lists, in place of the one that is set; `name` is of the setting, where the sentence has it. */
export function listedValue(value: string, known: string, name = ''): Repair {
  const what = name === '' ? `Write one of ${known}` : `Set ${name} to one of ${known}`;
  return {
    says: `${what} in place of ${value} (kubectl edit)`,
    why: 'The program takes the values of a list, which the sentence has; others are of another version, or misspelt.',
    commands: [`kubectl get pods -o yaml | grep -n -e "${value}"    # where it is set`],
  };
}
