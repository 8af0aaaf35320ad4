import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml';
import { hasUnprintable } from '../../core/text/printable.js';
import type { Address } from '../../edge/platform/address.js';
import { findYamlExcess } from '../../edge/platform/data/yaml-bounds.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_ENDPOINTS, MAX_TARGET_CHARS } from './limits.js';
import { parseWorkerAddress } from './parse-target.js';
import type { Endpoint } from './source.js';

/** What a file of workers must hold, for messages and documentation. */
const WORKER_LIST_FORM =
  'a YAML or JSON list whose entries are HOST:PORT, [::1]:PORT, unix:/path, or {target: NAME, address: HOST:PORT, draining: true}';

/**
 * Reads a file of workers:
 * ```yaml
 * - 10.0.0.5:50061
 * - { target: worker-b, address: "10.0.0.6:50061", draining: true }
 * ```
 * JSON is read as the subset of YAML that it is, and a byte order mark is left out. `target` defaults to the
 * address, `draining` to false. Throws a `DiscoveryError` that names the file
 * and the line; nothing is half-taken.
 */
export function readWorkerList(content: string, path: string): Endpoint[] {
  // The parser takes a dash behind the mark for no list.
  const text = content.replace(/^\uFEFF/, '');
  checkAmount(text, path);
  const lines = new LineCounter();
  // Without merge keys and aliases there is nothing in it that can grow when it is expanded.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: false });
  const place = (offset: number): string => `${path}:${lines.linePos(offset).line}`;
  const fault = document.errors[0];
  if (fault !== undefined) {
    throw new DiscoveryError('invalid_file', `${place(fault.pos[0])}: ${describeFault(fault, text)}`, {
      cause: fault,
    });
  }
  const list = document.contents;
  // A half-written file is empty as well: no workers have to be said.
  if (list === null || (isScalar(list) && list.value === null)) {
    throw new DiscoveryError('invalid_file', `${path} is empty; write [] when there are no workers`);
  }
  const placeOf = (node: unknown): string => place((node as Node | null)?.range?.[0] ?? 0);
  if (!isSeq(list)) throw new DiscoveryError('invalid_file', `${placeOf(list)}: must be ${WORKER_LIST_FORM}`);
  if (list.items.length > MAX_ENDPOINTS) {
    throw new DiscoveryError(
      'too_many_endpoints',
      `${path} lists ${list.items.length} workers, at most ${MAX_ENDPOINTS} are allowed`,
    );
  }

  const targets = new Map<string, string>();
  const addresses = new Map<string, string>();
  return list.items.map((item) => {
    const where = placeOf(item);
    const endpoint = readEntry(item, where);
    for (const [known, value] of [
      [targets, endpoint.target],
      [addresses, endpoint.address],
    ] as const) {
      const first = known.get(value);
      if (first !== undefined)
        throw new DiscoveryError('duplicate_target', `${where}: ${value} is listed already in ${first}`);
      known.set(value, where);
    }
    return endpoint;
  });
}

function readEntry(item: unknown, where: string): Endpoint & { readonly address: string } {
  if (isScalar(item) && typeof item.value === 'string') {
    const { text } = addressAt(item.value, where);
    return { target: text, address: text };
  }
  if (!isMap(item)) throw new DiscoveryError('invalid_file', `${where}: an entry must be ${ENTRY_FORM}`);
  let address: Address | undefined;
  let target: string | undefined;
  let draining = false;
  for (const { key, value } of item.items) {
    const name = isScalar(key) ? key.value : undefined;
    const content = isScalar(value) ? value.value : undefined;
    if (name === 'address' && typeof content === 'string') address = addressAt(content, where);
    else if (name === 'target' && typeof content === 'string') target = nameAt(content, where);
    else if (name === 'draining' && typeof content === 'boolean') draining = content;
    else throw new DiscoveryError('invalid_file', `${where}: ${describeField(name)}`);
  }
  if (address === undefined)
    throw new DiscoveryError('invalid_file', `${where}: address is missing; an entry must be ${ENTRY_FORM}`);
  return { target: target ?? address.text, address: address.text, ...(draining ? { draining } : {}) };
}

/**
 * Most pieces that YAML's lexer may find in a list of the longest allowed
 * length: an entry with all three fields has about 40, spaces included.
 */
const MAX_LEXEMES = 64 * MAX_ENDPOINTS;

/** A list of objects has two levels of brackets, or a dash and one. */
const MAX_DEPTH = 2;

/**
 * Refuses what would keep the parser busy for seconds: 4 MiB of brackets or of
 * dashes.
 */
function checkAmount(text: string, path: string): void {
  const excess = findYamlExcess(text, { maxLexemes: MAX_LEXEMES, maxDepth: MAX_DEPTH });
  if (excess === 'too_deep')
    throw new DiscoveryError('invalid_file', `${path}: is nested too deeply; must be ${WORKER_LIST_FORM}`);
  if (excess === 'too_much')
    throw new DiscoveryError(
      'too_many_endpoints',
      `${path}: holds more than a list of ${MAX_ENDPOINTS} workers, which is the most that is allowed`,
    );
}

const ENTRY_FORM = 'HOST:PORT or {target: NAME, address: HOST:PORT, draining: true}';

/** What each field of an entry must be. */
const FIELDS: Readonly<Record<string, string>> = {
  address: 'text: HOST:PORT, [::1]:PORT or unix:/path',
  target: 'text: the name that people see',
  draining: 'true or false',
};

function describeField(name: unknown): string {
  if (typeof name === 'string' && Object.hasOwn(FIELDS, name)) return `${name} must be ${FIELDS[name]}`;
  const allowed = Object.keys(FIELDS).join(', ');
  return `unknown field ${JSON.stringify(String(name).slice(0, MAX_TARGET_CHARS))}; an entry has ${allowed}`;
}

function addressAt(text: string, where: string): Address {
  try {
    return parseWorkerAddress(text);
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error;
    throw new DiscoveryError(error.code, `${where}: ${error.message}`, { cause: error });
  }
}

function nameAt(text: string, where: string): string {
  // Control characters in a name would let a file write lines of its own into the log.
  if (text !== '' && text.length <= MAX_TARGET_CHARS && !hasUnprintable(text)) return text;
  throw new DiscoveryError(
    'invalid_target',
    `${where}: target must have 1 to ${MAX_TARGET_CHARS} characters and no control characters`,
  );
}

function describeFault(fault: YAMLError, text: string): string {
  if (fault.code === 'MULTIPLE_DOCS') return 'must be one list, without a second document after ---';
  const lineStart = text.lastIndexOf('\n', fault.pos[0] - 1) + 1;
  const isBareIpv6 = /^\s*-\s*\[[0-9A-Fa-f:.]+\]/.test(text.slice(lineStart, lineStart + MAX_TARGET_CHARS));
  const hint = isBareIpv6 ? '; an IPv6 address must be in quotes: "[::1]:50061"' : '';
  return `${fault.message.split('\n', 1)[0]}${hint}`;
}
