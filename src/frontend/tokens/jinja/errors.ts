/** What Jinja2 or a template itself raises: an engine refuses the request, too. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** What is not certain to come out here as Python's Jinja2 has it, or is not supported here: the engine must render it. */
export class InexactError extends Error {
  override readonly name = 'InexactError';
}

/** Throws an `InexactError`; for use in expressions. */
export function inexact(what: string): never {
  throw new InexactError(`${what} is not rendered here`);
}

/** Throws a `TemplateError`; for use in expressions. */
export function refuse(what: string): never {
  throw new TemplateError(what);
}
