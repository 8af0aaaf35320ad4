import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { readConfigArgs } from '../config/config-args.js';
import { readDisaggregatedText } from '../config/disaggregated-config.js';
import type { Launch } from './launch.js';
import { flagOf } from './settings.js';

/** Some engines read their flags from a file too; those on the command line win. TensorRT-LLM's router reads nothing else. */
export function withConfigFile(launch: Launch): Launch {
  if (launch.program === 'trtllm-serve disaggregated') return withServers(launch);
  const flag = engineOfWord(launch.backend)?.launch?.flagsFileFlag;
  const file = flag === undefined ? undefined : flagOf(launch, flag);
  if (file === undefined) return launch;
  const text = launch.fileAt(file);
  const args = text === undefined ? undefined : readConfigArgs(text);
  if (args === undefined) return { ...launch, hasUnseenArgs: true };
  // The model of `vllm serve MODEL` stays in front.
  const own = launch.args[0]?.value?.startsWith('-') === false ? 1 : 0;
  return { ...launch, args: [...launch.args.slice(0, own), ...args, ...launch.args.slice(own)] };
}

function withServers(launch: Launch): Launch {
  const file = flagOf(launch, '-c', '--config-file', '--config');
  const text = file === undefined ? undefined : launch.fileAt(file);
  const gateway = text === undefined ? undefined : readDisaggregatedText(text);
  return gateway === undefined
    ? {
        ...launch,
        role: 'unchecked',
        unchecked: 'its configuration is a file that is not among these (--with FILE)',
      }
    : { ...launch, gateway };
}
