/** The version of Node that runs this: `22.10.0`. */
export function nodeVersion(): string {
  return process.versions.node;
}

/** Whether this Node can be asked to take any number of resets: `streamResetBurst` of `http2.createServer`, from 22.10 on. */
export function canTakeResets(version: string = nodeVersion()): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 10);
}
