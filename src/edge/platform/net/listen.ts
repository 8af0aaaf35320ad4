import { existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { type Address, formatTcp } from '../address.js';

/** An address that could not be listened on, in words with a way out. `field` names the setting behind it. */
export class ListenError extends Error {
  /** The system's code, such as `EADDRINUSE`. */
  readonly code: string;

  constructor(address: Address, field: string, cause: NodeJS.ErrnoException) {
    super(`${field}: cannot listen on ${address.text}: ${explain(address, cause)}`, { cause });
    this.name = 'ListenError';
    this.code = cause.code ?? 'UNKNOWN';
  }
}

/**
 * Starts `server` on `address`; resolves with the address that was really
 * taken (port 0 picks a free one). Rejects with a `ListenError`. A Unix
 * socket that a killed process left behind is replaced; one that answers is not.
 * With `isShared` the processes that `startSecondaryProcess` starts listen together.
 */
export async function listen(
  server: Server,
  address: Address,
  field: string,
  isShared = false,
): Promise<Address> {
  try {
    try {
      await listenOnce(server, address, isShared);
    } catch (error) {
      if (address.type !== 'unix' || !(await removeStaleSocket(address.path, error))) throw error;
      await listenOnce(server, address, isShared);
    }
  } catch (error) {
    throw new ListenError(address, field, error as NodeJS.ErrnoException);
  }
  const bound = server.address();
  if (address.type === 'unix' || bound === null || typeof bound === 'string') return address;
  // The host as it was written: 0.0.0.0 stays 0.0.0.0, a name stays a name.
  return { ...address, port: bound.port, text: formatTcp(address.host, bound.port) };
}

function listenOnce(server: Server, address: Address, isShared: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const where =
      address.type === 'unix' ? { path: address.path } : { host: address.host, port: address.port };
    // Never a share of a port that someone else listens on, unless it is asked for.
    server.listen({ ...where, exclusive: !isShared }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Removes a socket file on which no process listens any more; false when there is none such. */
async function removeStaleSocket(path: string, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return false;
  const isRefused = await new Promise<boolean>((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code === 'ECONNREFUSED'));
  });
  if (!isRefused || !lstatSync(path).isSocket()) return false;
  unlinkSync(path);
  return true;
}

function explain(address: Address, cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return address.type === 'unix'
        ? 'another process listens on it, or the file is no socket; stop that process or name another path'
        : 'another process listens on it; stop that process or choose another port (0 picks a free one)';
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address; 127.0.0.1 is always there, 0.0.0.0 means all of them';
    case 'EACCES':
      if (address.type !== 'unix')
        return 'this user may not take that port; ports from 1024 on need no privilege';
      // libuv says the same of a folder that is not there (`uv_pipe_bind2`).
      return existsSync(dirname(address.path))
        ? 'this user may not create a file there'
        : `the folder ${dirname(address.path)} does not exist`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be resolved';
    default:
      return cause.message;
  }
}
