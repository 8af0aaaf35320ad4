import { describe, expect, it } from 'vitest';
import { templateKindOf } from '../../../src/tools/manifests/template-text.js';

describe('what a template is', () => {
  it.each([
    ['of Helm', 'chart/templates/a.yaml', 'x: {{ .Values.x }}'],
    ['of Helm', 'a.yaml', '{{- include "x" . | nindent 4 }}'],
    ['of Helm', 'a.yaml', 'name: {{ .Release.Name }}'],
    ['of Go', 'a.yaml', 'x: {{ .Values.x }}'],
    ['of Go', 'job_template.yaml', 'name: {{.Name}}'],
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
