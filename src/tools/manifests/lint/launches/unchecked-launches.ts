import type { ContainerSite, PodSite } from '../../pod-site.js';
import type { Word } from '../shell/words.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import { bareLaunch } from './bare-launch.js';
import type { Launch } from './launch.js';
import { shellScript } from './shell-script.js';
import { NOT_HERE, type UncheckedProgram, uncheckedImage } from './unchecked-programs.js';

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
        : (uncheckedWorker(site, container, words) ??
          (isModule(words)
            ? undefined
            : uncheckedImage(container.image?.value, isScript ? undefined : words)));
  const at = container.image ?? texts[0] ?? site.at;
  return seen === undefined
    ? []
    : [unchecked(seen, { source: file, ...at, isExact: false }, site, container)];
}

/** Components of a graph of Dynamo that have a cache. */
const WORKER_TYPES: readonly (string | undefined)[] = ['worker', 'prefill', 'decode'];

/** A command that is a variable which nobody here sets: `$COMMAND`, `exec ${COMMAND}`. */
const OPEN_COMMAND = /^\s*(?:exec\s+|eval\s+)?["']?\$\{?[A-Za-z_]/;

/** The worker of a graph whose command is filled in later. */
function uncheckedWorker(
  site: PodSite,
  { name, list }: ContainerSite,
  words: readonly Word[],
): UncheckedProgram | undefined {
  const isMain = list === 'mainContainer' || name === 'main';
  if (site.kind !== 'DynamoGraphDeployment' || !isMain || !WORKER_TYPES.includes(site.componentType?.value))
    return undefined;
  const command = (shellScript(words) ?? words[0])?.value ?? '';
  return OPEN_COMMAND.test(command) ? { program: 'Dynamo worker', reason: NOT_HERE } : undefined;
}

/** Whether a command is arguments of an image that starts Python: `-m dynamo.frontend`, beside a worker. */
function isModule([first, second]: readonly Word[]): boolean {
  return first?.value === '-m' && second?.value?.startsWith('dynamo.') === true;
}

/** A program that is seen and compared with nothing. */
export function unchecked(
  { program, reason, isGuessing = false }: UncheckedProgram,
  span: Span,
  site?: PodSite,
  container?: ContainerSite,
): Launch {
  const launch = bareLaunch({ role: 'unchecked', program, site, container, unchecked: reason }, span);
  return isGuessing ? { ...launch, isGuessing } : launch;
}
