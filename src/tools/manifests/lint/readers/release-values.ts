import { type Document, isMap, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { YamlAccess } from '../../yaml-access.js';
import { JoinedSource } from '../kustomize/joined-source.js';
import { parsePart } from '../kustomize/parse-part.js';
import { scalarText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { type OpenFile, type PlainDocument, plainDocuments } from './yaml-words.js';

/** Charts of one object whose values are read. */
const MAX_CHARTS = 100;

/** Kinds of objects that install charts: where their values are read, a pod spec in them is a part of those. */
export const RELEASES: readonly string[] = ['HelmRelease', 'Application', 'HelmChart'];

/** Values of a chart, with the text that they stand in. */
export interface Values extends PlainDocument {
  readonly source: TextSource;
  /** The name of the chart; undefined for a file of values, and where another object names it. */
  readonly chart: string | undefined;
}

/** The values of one chart in an object that installs it: a mapping, or a text. */
interface Given {
  readonly chart: string | undefined;
  readonly map: YAMLMap | undefined;
  readonly text: PlacedText | undefined;
}

/**
 * All values of charts in a file: its documents without a kind, and those that a HelmRelease of Flux, an Application of Argo CD, a HelmChart
 * of k3s and the `helmCharts` of a kustomization have in them. Where others may win over them or add to them
 * (`valuesFrom`, `valueFiles`, `parameters`), what they leave out is not known, and they are not read.
 */
export function readValues(file: OpenFile): readonly Values[] {
  const own = plainDocuments(file).map((one) => ({ ...one, source: file.source, chart: undefined }));
  return [...own, ...file.documents.flatMap((document) => releaseValues(file.source, document))];
}

function releaseValues(source: TextSource, document: Document.Parsed): readonly Values[] {
  const access = new YamlAccess(document);
  const root = document.contents;
  if (!isMap(root)) return [];
  return givenIn(access, root)
    .slice(0, MAX_CHARTS)
    .flatMap(({ chart, map, text }): readonly Values[] => {
      if (map !== undefined) return [{ access, root: map, source, chart }];
      if (text === undefined) return [];
      const joined = new JoinedSource(source.file, () => false);
      const [inner] = parsePart(scalarText(source, text), joined) ?? [];
      return inner === undefined || !isMap(inner.contents)
        ? []
        : [{ access: new YamlAccess(inner), root: inner.contents, source: joined, chart }];
    });
}

function givenIn(access: YamlAccess, root: YAMLMap): readonly Given[] {
  const spec = access.map(root, 'spec');
  const has = (map: YAMLMap | undefined, ...keys: readonly string[]): boolean =>
    keys.some((key) => access.get(map, key) !== undefined);
  const textAt = (map: YAMLMap | undefined, key: string): string | undefined => access.text(map, key)?.value;
  switch (access.text(root, 'kind')?.value) {
    case 'HelmRelease':
      return has(spec, 'valuesFrom')
        ? []
        : [
            {
              chart: textAt(access.map(spec, 'chart', 'spec'), 'chart'),
              map: access.map(spec, 'values'),
              text: undefined,
            },
          ];
    case 'Application':
      return [access.map(spec, 'source'), ...access.maps(spec, 'sources')].flatMap((part) => {
        const helm = access.map(part, 'helm');
        const chart = textAt(part, 'chart') ?? textAt(part, 'path');
        return has(helm, 'valueFiles', 'parameters', 'fileParameters')
          ? []
          : [{ chart, map: access.map(helm, 'valuesObject'), text: access.text(helm, 'values') }];
      });
    case 'HelmChart':
      return has(spec, 'set', 'valuesSecrets')
        ? []
        : [
            {
              chart: textAt(spec, 'chart'),
              map: access.map(spec, 'values'),
              text: access.text(spec, 'valuesContent'),
            },
          ];
    default:
      return access
        .maps(root, 'helmCharts')
        .flatMap((one) =>
          has(one, 'valuesFile', 'additionalValuesFiles')
            ? []
            : [{ chart: textAt(one, 'name'), map: access.map(one, 'valuesInline'), text: undefined }],
        );
  }
}
