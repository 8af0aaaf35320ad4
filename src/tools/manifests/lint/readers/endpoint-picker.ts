import { isMap, isScalar, visit, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { identityOf } from '../../read-pod-sites.js';
import { readSourceFile } from '../../source-file.js';
import { placedText, placeOfNode, YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { Launch } from '../launches/launch.js';
import { scalarText } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import {
  ANOTHER,
  choiceOf,
  type PickerVersion,
  pickerVersionOf,
  SEVERAL,
  type Surrounding,
  selectedBy,
  surroundingsOf,
} from './picker-choice.js';
import { PICKER, readPickerConfig } from './picker-config.js';
import type { OpenFile } from './yaml-words.js';

/** What every such configuration says of itself, wherever it stands. */
const KIND = 'EndpointPickerConfig';

/** Configurations of one file. */
const MAX_CONFIGS = 100;

/**
 * The endpoint pickers that a file configures: a document of its own, a value of a
 * ConfigMap or of Helm's values, an argument (`--config-text`), a part of an LLMInferenceService.
 */
export function readEndpointPickers({ source, documents }: OpenFile): readonly Launch[] {
  if (!source.text.includes(KIND)) return [];
  const launches: Launch[] = [];
  for (const document of documents) {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? document.contents : undefined;
    const namespace = access.text(access.map(root, 'metadata'), 'namespace')?.value;
    const owner = root && identityOf(access, root);
    const add = (found: Launch | undefined): void => {
      if (found !== undefined && launches.length < MAX_CONFIGS) launches.push({ ...found, namespace, owner });
    };
    const versionAt = (around: readonly Surrounding[]): PickerVersion | undefined =>
      pickerVersionOf(source.text, access, around);
    visit(document, {
      Map(_key, map, path) {
        if (access.text(map, 'kind')?.value !== KIND) return undefined;
        add(
          readPickerConfig(access, map, {
            spanOf: (text) => scalarText(source, text).spanOf(0, text.value.length),
            at: spanAt(source, map),
            version: versionAt(surroundingsOf(path)),
          }),
        );
        return visit.SKIP;
      },
      Scalar(key, node, path) {
        const text = key === 'key' || !isScalar(node) ? undefined : placedText(node);
        if (text === undefined || !isConfig(text.value)) return;
        const around = surroundingsOf(path);
        const choice = choiceOf(source.text, access, around, isConfig);
        if (choice !== 'read') return add(unread(source, text, choice));
        add(withSelection(readText(source, text, versionAt(around)), selectedBy(access, around)));
      },
    });
  }
  return launches;
}

function withSelection(
  launch: Launch | undefined,
  selects: ReadonlyMap<string, string> | undefined,
): Launch | undefined {
  const { gateway } = launch ?? {};
  return launch === undefined || gateway === undefined || selects === undefined
    ? launch
    : { ...launch, gateway: { ...gateway, selects } };
}

function isConfig(text: string): boolean {
  return text.includes(KIND) && text.includes('plugins');
}

/** A configuration that its picker does not read, as far as that can be seen. */
function unread(source: TextSource, text: PlacedText, choice: 'another' | 'unknown'): Launch {
  return bareLaunch(
    {
      role: 'unchecked',
      program: PICKER,
      unchecked: choice === 'another' ? ANOTHER : SEVERAL,
    },
    scalarText(source, text).spanOf(0, text.value.length),
  );
}

function spanAt(source: TextSource, map: YAMLMap): Span {
  const { start, end } = placeOfNode(map);
  return { source, start, end, isExact: false };
}

/** A configuration in a text, whose places are those of the file around it. */
function readText(
  source: TextSource,
  text: PlacedText,
  version: PickerVersion | undefined,
): Launch | undefined {
  const outer = scalarText(source, text);
  const whole = outer.spanOf(0, text.value.length);
  for (const document of readSourceFile(source.file, text.value).documents) {
    const access = new YamlAccess(document);
    const root = document.contents;
    if (isMap(root) && access.text(root, 'kind')?.value === KIND)
      return readPickerConfig(access, root, {
        spanOf: (inner) => outer.spanOf(inner.start, inner.end),
        at: whole,
        version,
      });
  }
  return undefined;
}
