import { stringify } from 'yaml';

/** Lines of YAML for a value, from the first column on, each with its line end. */
export function renderYaml(value: unknown, eol: string): string {
  // Kubernetes reads YAML 1.1, where `on` and `012` are no texts: they are quoted.
  const text = stringify(value, {
    indent: 2,
    indentSeq: false,
    lineWidth: 0,
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
  });
  return eol === '\n' ? text : text.replaceAll('\n', eol);
}

/** The same on one line, for use inside brackets. */
export function renderFlow(value: unknown): string {
  return JSON.stringify(value);
}
