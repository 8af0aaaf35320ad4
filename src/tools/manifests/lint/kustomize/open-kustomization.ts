import type { YAMLMap } from 'yaml';
import type { YamlAccess } from '../../yaml-access.js';
import type { TreeFiles } from '../config/tree-files.js';
import type { JoinedSource } from './joined-source.js';

/** A kustomization while its objects are changed. */
export interface OpenKustomization {
  readonly root: YAMLMap;
  readonly access: YamlAccess;
  readonly file: string;
  readonly folder: string;
  readonly tree: TreeFiles;
  readonly source: JoinedSource;
}
