import type { PodSite } from '../../pod-site.js';
import { folderOf } from '../config/folders.js';
import type { NetworkSite, PortLine } from '../readers/network-site.js';

/** In one folder, and not known to be in another namespace: further away may be another deployment. */
export function isBeside({ source, namespace }: NetworkSite, site: PodSite, file: string): boolean {
  if (folderOf(source.file) !== folderOf(file)) return false;
  return namespace === undefined || site.namespace === undefined || namespace === site.namespace;
}

/** Whether a Service or a policy selects the pods of a template. */
export function isSelected(labels: ReadonlyMap<string, string> | undefined, site: PodSite): boolean {
  return [...(labels ?? [])].every(([key, value]) => site.labels.get(key) === value);
}

/** Whether each of the ports is in a line; a name may be any of them. */
export function carries(lines: readonly PortLine[], port: number, count: number): boolean {
  if (lines.some(({ first }) => first === undefined)) return true;
  return Array.from({ length: count }, (_, rank) => port + rank).every((wanted) =>
    lines.some(({ first = 0, last = first }) => first <= wanted && wanted <= last),
  );
}
