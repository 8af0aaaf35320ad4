import type { ContainerSite, PodSite } from '../../pod-site.js';
import type { Word } from '../shell/words.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import { bareLaunch } from './bare-launch.js';
import type { Launch } from './launch.js';
import { shellScript } from './shell-script.js';
import { type UncheckedProgram, uncheckedImage } from './unchecked-programs.js';

/** What a container serves, of which no command shows a known program. */
export function uncheckedContainer(
  file: TextSource,
  site: PodSite,
  container: ContainerSite,
): readonly Launch[] {
  const texts = [...container.command, ...container.args];
  const words = texts.map((text): Word => ({ ...locateScalar(file, text), mayBeMore: false }));
  // A picker that has its configuration with it is read from that.
  if (texts.some(({ value }) => /^kind:\s*EndpointPickerConfig\b/m.test(value))) return [];
  const isScript = shellScript(words) !== undefined;
  const seen =
    container.list === 'model'
      ? { program: 'KServe runtime', reason: 'its runtime is chosen in the cluster' }
      : site.kind === 'Job'
        ? undefined
        : uncheckedImage(container.image?.value, isScript ? undefined : words);
  const at = container.image ?? texts[0] ?? site.at;
  return seen === undefined
    ? []
    : [unchecked(seen, { source: file, ...at, isExact: false }, site, container)];
}

/** A program that is seen and compared with nothing. */
export function unchecked(
  { program, reason }: UncheckedProgram,
  span: Span,
  site?: PodSite,
  container?: ContainerSite,
): Launch {
  return bareLaunch({ role: 'unchecked', program, site, container, unchecked: reason }, span);
}
