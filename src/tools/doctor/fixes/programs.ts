import { shellQuoted } from '../../../core/text/shell-quoted.js';
import type { ProposedFix } from '../diagnosis.js';
import { otherReleaseIn } from '../logs/general/other-release.js';
import { environmentOf } from './lines.js';
import { addSharedLibrary } from './missing-libraries.js';
import { findNixlPlugin } from './nixl-plugin.js';
import { packageOf, runtimeImageOf } from './package-names.js';

/** Makes NATS or etcd reachable. */
export function reachControlPlane(names: readonly string[]): ProposedFix {
  const settings = names.map((name) =>
    name === 'etcd' ? 'ETCD_ENDPOINTS=http://ETCD:2379' : 'NATS_SERVER=nats://NATS:4222',
  );
  return {
    says: `Start ${names.join(' and ') || 'NATS and etcd'}, and give each process its address: ${settings.join(' ')}`,
    why: 'Without an address programs ask their own host. In Kubernetes it is the Service of the platform; a NetworkPolicy has to let all workers and frontends there, and NATS needs JetStream (-js) where events are stored.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get pods,svc -A | grep -iE "nats|etcd"    # running, and under which name',
      ...settings.map((setting) => environmentOf('each worker and frontend', setting)),
      'docker run -d -p 4222:4222 nats -js    # on one host, for a trial',
    ],
    verify: ['kubectl logs WORKER --since=1m | grep -ciE "nats|etcd.*(error|fail|unable)"    # should be 0'],
  };
}

/** Makes a server reachable that a program reads or writes; `server` has its name, and its address where lines have it. */
export function reachServer(server: string): ProposedFix {
  const [name = server, address] = server.split(' at ');
  const place = address ?? 'HOST:PORT';
  return {
    says: `Start ${name}${address === undefined ? '' : ` so that it answers at ${address}`} and have a NetworkPolicy let this program there; where it runs elsewhere, correct the address that the program is given`,
    why: 'A connection that is refused finds nothing at that port: the server is not started, listens at another one or at its own host alone. A name that does not resolve is of another namespace, or misspelt; no answer is a firewall or a NetworkPolicy.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `kubectl exec POD -- curl -sv telnet://${place.replace(/^\w+:\/\//, '')} </dev/null    # from the pod of the program`,
      'kubectl get svc,endpoints -A    # under which name and port it runs',
    ],
    verify: [
      `kubectl logs POD --since=5m | grep -c ${shellQuoted(place.replace(/^\w+:\/\//, ''))}    # should be 0`,
    ],
  };
}

/** Symbols of PyTorch's C++ libraries: `_ZN3c104cuda9SetDeviceEa`, `_ZNK2at10TensorBase4dataEv`. */
const OF_TORCH = /undefined symbol: _ZNK?(?:3c10|2at|5torch|6caffe2)/;

/** Installs what a connector needs, in versions that belong together. */
export function installLibrary(sentence: string): ProposedFix {
  const plugin = findNixlPlugin(sentence);
  if (plugin !== undefined) return plugin;
  const command = askedCommand(sentence);
  if (command !== undefined) return installAsked(command);
  const symbol = /undefined symbol: (\w{2,100})/.exec(sentence)?.[1];
  const shared = addSharedLibrary(sentence);
  if (shared !== undefined) return shared;
  const built = buildForTorch(sentence);
  if (built !== undefined) return built;
  if (symbol !== undefined && /nixl[A-Z_]|^uc[mpst]_|^ibv_/.test(symbol)) return oneBuild(symbol);
  const library =
    /nixl|lmcache|mooncake|flexkv|(?<!lib)ucm(?!_)|pegakv|aibrix|kvbm|hf3fs|memfabric|ibverbs|rdma|ucx/i
      .exec(sentence)?.[0]
      ?.toLowerCase();
  const name = library === undefined ? 'LIBRARY' : packageOf(library);
  if (/UC[PXST] (?:API |library )?version/.test(sentence)) return oneUcx();
  const other = otherReleaseIn(sentence);
  if (other !== undefined || OF_DYNAMO.test(sentence)) return oneRelease(sentence, other);
  const module = /No module named '(\w+)\.[\w.]+'/.exec(sentence)?.[1];
  if (module !== undefined) return otherVersion(module, packageOf(module));
  const isSystem = /ibverbs|rdma|ucx/.test(library ?? '');
  if (!isSystem && library !== undefined && OF_CALLS.test(sentence))
    return otherCalls(library, name, OF_ENGINE.test(sentence));
  return {
    says: isSystem
      ? 'Add the libraries of RDMA to the image: apt-get install libibverbs1 rdma-core'
      : `Add ${library ?? 'the library'} to the image, in the version that the release notes of the engine name: pip install ${name}==VERSION`,
    why: 'Images of an engine have these libraries in one variant and lack them in another. A package that is there and fails was built for another CUDA, Python or engine: attributes and arguments that are missing say that one of the two is older.',
    disturbs: 'all_workers',
    files: [],
    commands: [
      `kubectl exec POD -- pip list | grep -iE "${library ?? 'nixl|lmcache|mooncake'}|torch"    # the versions that are there`,
    ],
    verify: [
      `kubectl exec POD -- python3 -c "import ${library === 'mooncake' ? 'mooncake.engine' : (library ?? 'nixl')}"    # ends without an error`,
    ],
  };
}

/** The command by which a sentence says to install what is missing; empty arguments are left to the rules for the library. */
function askedCommand(sentence: string): string | undefined {
  const command =
    /\bpip3? install (?:['"][^'"]{2,80}['"]|[\w.[\]=<>!~,/-]{2,80}(?: [\w.[\]=<>!~,/-]{1,60}){0,4}?)(?=[.;,:)\s'"`]|$)/.exec(
      sentence,
    )?.[0];
  return command?.replace(/[.,:;]$/, '');
}

function installAsked(command: string): ProposedFix {
  return {
    says: `Run ${command} in the image of the program that says so, and restart it (of what is compiled: as its documentation names the variables of the build)`,
    why: 'The part is optional, and the package of the program does not bring it. The sentence has the name under which it is installed.',
    disturbs: 'all_workers',
    files: [],
    commands: ['kubectl exec POD -- pip list    # whether it is there'],
    verify: ['kubectl logs POD --since=5m | grep -c "pip install"    # should be 0'],
  };
}

/** What is called of a library that is there: in another version it has other arguments and names. */
const OF_CALLS =
  /got an unexpected keyword argument|missing \d{1,2} required (?:positional|keyword)|takes (?:from )?\d{1,2} .{0,20}positional argument|has no attribute/;

/** Connectors that are vLLM's own, whatever library they call. */
const OF_ENGINE = /\b(?:Nixl|Mooncake|P2pNccl|Multi|Offloading)\w*Connector|KVConnector/;

/** A library that is there, called by what was written for another version of it. */
function otherCalls(library: string, name: string, isOfEngine: boolean): ProposedFix {
  return {
    says: isOfEngine
      ? 'Run the engine and the package that brings or calls its connectors in versions that belong together: pip list shows both, and a connector of kv_connector_module_path has to be written for this version of vLLM'
      : `Run ${library} in the version that the release notes of the engine (or of the router) name: pip install ${name}==VERSION, with a later one where it is ${library} itself that calls so`,
    why: `${isOfEngine ? 'The connector' : library} is installed. What calls it was written for another version, in which a function has other arguments or another name: one of the two is older.`,
    disturbs: 'all_workers',
    files: [],
    commands: [
      `kubectl exec POD -- pip list | grep -iE "${library}|vllm|sglang"    # the versions that are there`,
    ],
    verify: [
      'kubectl logs POD --since=5m | grep -cE "unexpected keyword|positional argument|has no attribute"    # should be 0',
    ],
  };
}

/** Names that Dynamo and the engine that it was built for share. */
const OF_DYNAMO =
  /'builtins\.\w{1,60}' object has no attribute|from 'dynamo\.|Remote(?:Prefill|Decode)(?:Request|Params)|Method '\w+' is not implemented|has no attribute '\w*(?:nixl_metadata|remote_prefill|remote_nixl)/;

/** Dynamo brings an engine of one version, which has what its workers call. */
function oneRelease(sentence: string, other: ReturnType<typeof otherReleaseIn>): ProposedFix {
  const ofBindings = /'builtins\.|from 'dynamo\./.test(sentence);
  return {
    says:
      other !== undefined
        ? `Install the ${other.engine} that this ai-dynamo pins, in one step: pip install "ai-dynamo[${other.folder}]==VERSION" (VERSION of pip show ai-dynamo), or run the image ${runtimeImageOf(other.folder)}:VERSION`
        : ofBindings
          ? 'Install ai-dynamo and ai-dynamo-runtime of one version: pip install ai-dynamo==VERSION ai-dynamo-runtime==VERSION (a checkout of examples or components: git checkout vVERSION)'
          : 'Run the runtime and the engine that were released together: pip install the engine that ai-dynamo of this version pins as its extra, or build the image from one tag; without speculative decoding until then',
    why: 'The worker calls the engine by names that this engine does not have, or gets messages of a version that has other fields. A later engine as its own project releases it lacks them as well.',
    disturbs: 'all_workers',
    files: [],
    commands: [
      'kubectl exec POD -- pip list | grep -iE "ai-dynamo|llm|lang|nixl"    # the versions that are there',
    ],
    verify: ['kubectl logs POD --since=5m | grep -cE "has no attribute|is not implemented"    # should be 0'],
  };
}

/** A module within a package that is there: the package is of another version. */
function otherVersion(module: string, name: string): ProposedFix {
  return {
    says: `Run ${module} in the version that this engine, and a router that imports it, are built for: pip install ${name}==VERSION; kubectl exec POD -- pip list shows the one that is there`,
    why: `${module} itself may well be installed: a module within it is missing, which versions rename (lmcache.experimental became lmcache.v1). Either that package or what imports it is older: a connector of an older engine generation too.`,
    disturbs: 'all_workers',
    files: [],
    commands: [`kubectl exec POD -- pip list | grep -iE "${module}|torch"    # the versions that are there`],
    verify: [`kubectl exec POD -- python3 -c "import ${module}"    # ends without an error`],
  };
}

/** An extension of a package that was compiled against another PyTorch than the one of the image; undefined for other sentences. */
export function buildForTorch(sentence: string): ProposedFix | undefined {
  if (!OF_TORCH.test(sentence)) return undefined;
  const [, folder, file] =
    /(?:(?:site|dist)-packages\/)?(?:([A-Za-z]\w{1,60})\/)?(?:[\w-]{1,60}\/)*(\w{1,60})\.[\w-]{0,60}\.?so: undefined symbol/.exec(
      sentence.slice(Math.max(0, sentence.search(/(?:site|dist)-packages\//))),
    ) ?? [];
  const module = folder ?? file ?? 'the package';
  const name = packageOf(module);
  return {
    says: `Install the release of ${name} that was built for the PyTorch of this image (pip install ${name}==VERSION, by the table of its documentation), or build it against that one: pip install --force-reinstall --no-deps --no-build-isolation --no-binary ${name} ${name} (needs nvcc)`,
    why: `The symbol is PyTorch's, and the PyTorch that runs does not have it: an extension of C++ works with the release alone that it was compiled against. Installing or updating the engine behind it replaced PyTorch, or the extension was compiled in an environment with another one.`,
    disturbs: 'all_workers',
    files: [],
    commands: [
      `kubectl exec POD -- sh -c "python3 -c 'import torch; print(torch.__version__, torch.version.cuda)'; pip list | grep -iE '${name}|vllm|sglang|torch'"    # which PyTorch runs`,
    ],
    verify: [
      `kubectl exec POD -- python3 -c "import torch, ${module === 'lmcache' ? 'lmcache.c_ops' : module}"    # ends without an error`,
    ],
  };
}

/** A symbol of NIXL, UCX or the verbs that the library that was loaded does not have. */
function oneBuild(symbol: string): ProposedFix {
  const [library, own] = /nixl/.test(symbol)
    ? [
        'NIXL',
        'the NIXL that came with the engine (tensorrt_llm/libs/nixl of TensorRT-LLM, the wheel nixl-cu12 or nixl-cu13 of vLLM and SGLang)',
      ]
    : symbol.startsWith('ibv_')
      ? ['rdma-core', 'the rdma-core of the image (libibverbs1 and librdmacm1 of one release)']
      : ['UCX', 'the UCX that came with NIXL or the engine'];
  return {
    says: `Have one ${library} in the image, of the version that its user was built for: put ${own} first in LD_LIBRARY_PATH, and take the other one out of it or out of the image`,
    why: `The ${library} that was loaded lacks the symbol ${symbol}: it is of another version than the library that asks for it, as several are installed and LD_LIBRARY_PATH is searched before a library's own folder. Functions of C++ change their symbol with each argument, as NIXL's did in 0.6.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      `kubectl exec POD -- sh -c "env | grep LD_LIBRARY_PATH; find / -name 'lib${library === 'NIXL' ? 'nixl' : library === 'UCX' ? 'ucp' : 'ibverbs'}*.so*' 2>/dev/null; pip list | grep -iE 'nixl|tensorrt|vllm|sglang'"    # which ones are there`,
    ],
    verify: ['kubectl logs POD --since=5m | grep -c "undefined symbol"    # should be 0'],
  };
}

/** Two versions of UCX in one process. */
function oneUcx(): ProposedFix {
  return {
    says: 'Let the engine load the UCX that came with NIXL: take the other one, whose path the line names, out of LD_LIBRARY_PATH or out of the image (apt-get remove libucx0)',
    why: 'A UCX of the system, of HPC-X or of MPI came first in the search path, and is older than what NIXL was built for. Calls that it lacks fail later, in the first transfer.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec POD -- sh -c "env | grep LD_LIBRARY_PATH; ldconfig -p | grep -E \'libuc[pst]\'; pip list | grep -i nixl"    # which UCX is found first',
    ],
    verify: ['kubectl logs POD --since=5m | grep -c "version is incompatible"    # should be 0'],
  };
}
