/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: names that a template fills in. */
import { describe, expect, it } from 'vitest';
import { readSourceFile } from '../../../src/tools/manifests/source-file.js';
import { isTemplateText, templateKindOf } from '../../../src/tools/manifests/template-text.js';

describe('what a template is', () => {
  it.each([
    ['of Helm', 'chart/templates/a.yaml', 'x: {{ .Values.x }}'],
    ['of Helm', 'a.yaml', '{{- include "x" . | nindent 4 }}'],
    ['of Helm', 'a.yaml', 'name: {{ .Release.Name }}'],
    ['of Go', 'a.yaml', 'x: {{ .Values.x }}'],
    ['of Go', 'job_template.yaml', 'name: {{.Name}}'],
    ['of Helm', 'chart/templates/a.yaml', 'x: {{ .Values.x }}\ny: {{ .Name }}'],
    ['of Helm', 'chart/templates/a.yaml', '{{- range $i, $x := $all }}\nx: {{ $x }}\n{{- end }}'],
    ['of Go', 'engine/templates/a.yaml', 'name: "{{ .EndpointName }}"\n{{ .Volumes | toYaml | indent 6 }}'],
    ['of Go', 'a.yaml', 'x: {{ $.Service }}\n{{ .Volumes | toYaml | nindent 6 }}'],
    ['of Go', 'a.yaml', '{{/* a word */}}\nx: {{ end }}'],
    ['of helmfile', 'helmfile.yaml', 'x: {{ requiredEnv "X" }}'],
    ['of gomplate', 'a.yaml', 'x: {{ getenv "X" }}'],
    ['of Jinja', 'a.yaml', '{% if on %}'],
    ['of Jinja', 'a.yaml', 'x: {{ size | default("64") }}'],
    ['of Jinja', 'a.yaml.j2', 'x: {{ size }}'],
    ['of Handlebars or Mustache', 'a.yaml', 'x: {{{IMAGE}}}'],
    ['of Handlebars or Mustache', 'a.yaml', '{{#if X}}\na: 1\n{{/if}}'],
    ['of Argo Workflows', 'a.yaml', 'x: {{inputs.parameters.size}}'],
    ['of ERB', 'a.yaml', 'x: <%= size %>'],
    ['with names in braces', 'a.yaml', 'spec: {{POD_SPEC}}'],
    ['', 'a.yaml', 'image: <IMAGE>'],
  ])('a template %s: %s, %s', (name, file, text) => {
    expect(templateKindOf(text, file).name).toBe(name);
  });

  it('is soon said of a text with nothing but braces', () => {
    expect(templateKindOf('{{ '.repeat(200_000), 'a.yaml').name).toBe('');
  });
});

describe('whether a mark of a template is why a text cannot be read', () => {
  const isTemplate = (text: string): boolean => {
    const [problem] = readSourceFile('a.yaml', text).problems;
    if (problem === undefined) throw new Error('it can be read');
    const { line, message } = problem;
    return isTemplateText(
      text,
      text
        .split('\n')
        .slice(Math.max(0, line - 2), line)
        .join('\n'),
      message,
    );
  };

  it.each([
    [
      'a key twice, marks in a block of text',
      'run: |\n  ls {{ x }}\n  {% if y %}\n  {{ z }}\n  {% endif %}\na: 1\na: 2\n',
    ],
    ['a key twice, marks in a folded text', 'run: >-\n  helm --set a={{ x }}\nb: {a: 1, a: 2}\n'],
    ['a key twice, marks in its own values', 'image: "{{ x }}"\nimage: "{{ y }}"\n'],
    ['a key twice, marks in the middle of a text', 'name: start {{ x }} now\na: 1\na: 2\n'],
    ['a wrong indentation', 'run: |\n  ls {{ x }}\nb: 1\n   c: 2\n'],
    ['a wrong indentation beside a mark', 'b: 1\n   c: "{{ x }}"\nrun: |\n  {{ y }}\n'],
    ['a list that does not end', 'run: |\n  ls {{ x }}\nb: [1, 2\n'],
    ['a tab', 'run: |\n  ls {{ x }}\nb:\n\tc: 1\n'],
    ['marks of ERB in texts', 'size: <%= size %>\na: 1\na: 2\n'],
  ])('is not so: %s', (_name, text) => {
    expect(isTemplate(text)).toBe(false);
  });

  it.each([
    ['a value', 'a: {{ x }}\n'],
    ['a value behind a block of text with a mark', 'run: |\n  ls {{ x }}\na: {{ x }}\n'],
    ['a branch with the key in both arms', '{{- if x }}\na: 1\n{{- else }}\na: 2\n{{- end }}\n'],
    ['a branch of Jinja', '{% if x %}\na: 1\n{% else %}\na: 2\n{% endif %}\n'],
    ['branches in comments', '# {% if x %}\na: 1\n# {% else %}\na: 2\n# {% endif %}\n'],
    ['branches of Go in comments', '#{{- if .x }}\na: 1\n#{{- else }}\na: 2\n#{{- end }}\n'],
    ['branches of ytt', '#@ if x:\na: 1\n#@ else:\na: 2\n#@ end\n'],
    ['keys that are filled in', '"{A}": 1\n${NAME}: 1\n${NAME}: 2\n'],
    ['a mark behind a text in quotes', 'a: "b" {{ c }}\n'],
    ['a block that is included', 'a:\n  {{- include "x" . | nindent 2 }}\nb: 1\n'],
  ])('is so: %s', (_name, text) => {
    expect(isTemplate(text)).toBe(true);
  });
});
