import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { run } from './run.js';

/** Why no address can be made unreachable here, or undefined when one can. */
export function blockingMissing(): string | undefined {
  // Whatever this makes is gone with the namespace that it is made in.
  const [unshare = '', ...args] = ['unshare', '--net', 'ip', ...routeTo('127.64.0.1', 'add')];
  const { error, status, stderr } = spawnSync(unshare, args, { encoding: 'utf8' });
  if (error === undefined && status === 0) return undefined;
  return `blocking an address needs root and the commands unshare and ip (${error?.message ?? stderr.trim()})`;
}

/** An address of the loopback that nothing else uses, so that blocking it concerns nobody else. */
export function ownAddress(): string {
  return `127.${randomInt(64, 128)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

/** From now on no connection can be made to this address of `ownAddress`. */
export function block(address: string): Promise<void> {
  return ip(...routeTo(address, 'add'));
}

/** The end of `block`. */
export function unblock(address: string): Promise<void> {
  return ip(...routeTo(address, 'del'));
}

function routeTo(address: string, verb: 'add' | 'del'): string[] {
  return ['route', verb, 'unreachable', `${address}/32`, 'table', 'local'];
}

async function ip(...args: readonly string[]): Promise<void> {
  const { status, stderr } = await run('ip', args);
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
