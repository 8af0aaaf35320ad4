/** Longest name of one folder or file, and how deep they go: what every file system takes. */
const MAX_NAME_CHARS = 100;
const MAX_DEPTH = 12;

/** A relative path that stays where it is put, whatever the name of a file or of an object of a cluster. */
export function safePath(name: string): string {
  const names = name
    .split(/[/\\]+/)
    .map((part) => part.replace(/[^A-Za-z0-9._@+=-]+/g, '_').slice(-MAX_NAME_CHARS))
    // A name that begins with a dash would be taken for an option.
    .map((part) => part.replace(/^-+/, '_'))
    .filter((part) => !/^\.*$/.test(part));
  const path = names.slice(-MAX_DEPTH).join('/');
  return path === '' || path === '_' ? 'standard-input.yaml' : path;
}
