/** Marks of templates: Helm and Go, Jinja, ERB, Terraform, and names in capitals that something fills in. */
const TEMPLATE =
  /\{\{|\{%|<%|%\{|\$\{[A-Za-z_]+\}|<[A-Z][A-Z_-]{2,}>|\b__[A-Z_]+__\b|:\s*\{[A-Za-z][\w-]*\}[^\s,}]/;

/** Whether a text is a template that makes a manifest, and none itself. */
export function isTemplateText(text: string): boolean {
  return TEMPLATE.test(text);
}
