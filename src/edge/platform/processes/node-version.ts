/** The version of Node that runs this: `22.10.0`. */
export function nodeVersion(): string {
  return process.versions.node;
}
