import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

const PLUGIN = /NIXL has no plugin for (\w{1,30})/;

/** A plugin of NIXL that is not found or cannot be loaded; undefined for other libraries. */
export function findNixlPlugin(sentence: string): ProposedFix | undefined {
  const name = PLUGIN.exec(sentence)?.[1];
  if (name === undefined) return undefined;
  return {
    says: `Have NIXL find libplugin_${name}.so and the libraries below it: pip install nixl (nixl-cu12 or nixl-cu13, by the CUDA of the image), whose wheel has both, or for a build of your own NIXL_PLUGIN_DIR=FOLDER and LD_LIBRARY_PATH for what ldd does not find`,
    why: 'NIXL loads its backends as plugins at run time, and passes over a plugin whose own libraries are missing (libucp.so.0 for UCX, libfabric.so.1 for LIBFABRIC). Settings of the backend have no effect before: it is not loaded.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      `kubectl exec POD -- sh -c "find / -name 'libplugin_${name}.so' 2>/dev/null; pip list | grep -i nixl"    # whether it is there, and which wheel`,
      `kubectl exec POD -- sh -c "ldd FOLDER/libplugin_${name}.so | grep 'not found'"    # prints nothing where all of it is there`,
      environmentOf('each engine', 'NIXL_PLUGIN_DIR=FOLDER', `the folder of libplugin_${name}.so`),
    ],
    verify: [
      'kubectl logs POD --since=5m | grep -cE "backend .*not found|unsupported backend|missing plugin"    # should be 0',
    ],
  };
}
