import { folderOf } from '../config/folders.js';
import type { Launch } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import type { FilePrograms } from './views.js';

/** Flags behind which a router of others has the addresses of its workers, one or several. */
const ADDRESSES: readonly string[] = ['--prefill', '--decode', '--worker-urls', '--worker-url', '--backends'];

const ADDRESS = /^(?:https?|grpc):\/\/(?<host>[^/]*):(?<port>\d{1,5})(?:\/|$)/;

/** Hosts at which a server takes connections for whatever name it has. */
const ANY_HOST: readonly string[] = ['0.0.0.0', '::', ''];

interface Address {
  /** Undefined where it is known only at run time. */
  readonly host: string | undefined;
  readonly port: string;
}

/**
 * Scripts of one folder that serve together, although each starts one program: a router names the addresses of its workers, and
 * one script of the folder starts a worker at each that is found. Where two might be meant, nothing is said.
 */
export function joinedScripts(scripts: readonly FilePrograms[]): readonly (readonly Launch[])[] {
  return scripts.flatMap(({ file, launches }) => {
    const routers = launches.filter(({ role }) => role === 'gateway');
    if (routers.length !== 1 || launches.some(({ role }) => role === 'worker')) return [];
    const folder = folderOf(file);
    const near = scripts
      .filter((one) => one.file !== file && folderOf(one.file) === folder)
      .flatMap((one) => one.launches.filter(({ role }) => role === 'worker'));
    const found = routers
      .flatMap(addressesOf)
      .map((address) => near.filter((worker) => isAt(worker, address)));
    const workers = new Set(found.flat());
    return workers.size === 0 || found.some((one) => one.length > 1) ? [] : [[...routers, ...workers]];
  });
}

function addressesOf({ args }: Launch): readonly Address[] {
  let isAddress = false;
  return args.flatMap((word) => {
    const text = textOfWord(word);
    if (text.startsWith('-')) isAddress = ADDRESSES.includes(text);
    const { host, port } = (isAddress ? ADDRESS.exec(text)?.groups : undefined) ?? {};
    return host === undefined || port === undefined
      ? []
      : [{ host: host.includes(UNKNOWN) ? undefined : host, port }];
  });
}

/** Whether a worker may be what an address leads to: by its port, and by its host where both say one. */
function isAt(worker: Launch, { host, port }: Address): boolean {
  const own = flagOf(worker, '--host');
  return (
    flagOf(worker, '--port')?.value === port &&
    (host === undefined || own?.value === undefined || ANY_HOST.includes(own.value) || own.value === host)
  );
}
