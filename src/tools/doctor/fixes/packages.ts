import { addSharedLibrary } from './missing-libraries.js';
import { packageOf, runtimeImageOf } from './package-names.js';
import type { Repair } from './repair.js';

/** Engines and runtimes: where one is missing as a whole, another Python runs than the one that has it. */
const PROGRAMS = /^(?:vllm|sglang|tensorrt_llm|dynamo|torch)$/;

/** Packages that do not belong together, by the one that a sentence names; undefined where it names none. */
export function repairPackages(sentence: string): Repair | undefined {
  return (
    requiredVersion(sentence) ??
    addSharedLibrary(sentence) ??
    missingModule(sentence) ??
    missingName(sentence)
  );
}

/** "vllm 0.11 requires transformers>=4.55.2", "This modeling file requires torch==2.8". */
function requiredVersion(sentence: string): Repair | undefined {
  const [, name, wanted] =
    /\brequires?:? `?'?([a-z][a-z0-9.-]{1,60}?)`?'? ?((?:[<>=!~]=|[<>]) ?\d{1,5}\.\d[\w.]{0,30}(?:, ?(?:[<>=!~]=|[<>]) ?\d[\w.]{0,30})?)/.exec(
      sentence,
    ) ?? [];
  if (name === undefined || wanted === undefined || /^(?:python|cuda|rocm|version)$/.test(name))
    return undefined;
  const demand = `${packageOf(name)}${wanted.replace(/\s/g, '').replace(/\.$/, '')}`;
  return {
    says: `Install what the sentence asks for: pip install "${demand}"; kubectl exec POD -- pip check shows what else wants another version`,
    why: 'One package was installed or updated behind another one that needs it in a certain version.',
    commands: [`kubectl exec POD -- sh -c "pip show ${packageOf(name)}; pip check"`],
  };
}

/** "No module named 'zmq'", "No module named 'vllm._C'". */
function missingModule(sentence: string): Repair | undefined {
  const [, module = '', inner] = /No module named '(\w{2,60})(\.[\w.]{1,120})?'/.exec(sentence) ?? [];
  if (module === '') return undefined;
  const commands = [
    `kubectl exec POD -- sh -c "which python3; pip show ${packageOf(module)}; cd /; python3 -c 'import ${module}; print(${module}.__file__)'"    # which one is imported`,
  ];
  const worker = /^\.(vllm|sglang|trtllm)\b/.exec(module === 'dynamo' ? (inner ?? '') : '')?.[1];
  if (worker !== undefined)
    return {
      says: `Install the workers of Dynamo for this engine in the version of its runtime (pip install "ai-dynamo[${worker}]==VERSION", as pip show ai-dynamo-runtime says), or run their image (${runtimeImageOf(worker)} of the release)`,
      why: 'The package of the runtime has the folder dynamo too, without the workers. Releases also move modules within it: a command of one release does not start in another.',
      commands: [
        `kubectl exec POD -- sh -c "pip list | grep -i dynamo; python3 -m dynamo.${worker} --help | head -3"`,
      ],
    };
  if (inner !== undefined)
    return /^\._?C\b|^\._[\w.]*(?:_C|kernel)/.test(inner)
      ? {
          says: `Start the program outside of a folder named ${module} (a checkout hides the package that is installed), or build its extension there: pip install -e . in it; else install the wheel of ${packageOf(module)} for this platform again`,
          why: `${module}${inner} is compiled. A source tree that was not built has no such file, and Python imports from the current folder first.`,
          commands,
        }
      : {
          says: `Install the release of ${packageOf(module)} that has ${module}${inner}: the one that the release notes of the program which imports it name (pip install "${packageOf(module)}==VERSION")`,
          why: `${module} is there, and this module in it is not: releases move and remove modules. A folder or file named ${module} in the current folder hides the package as well.`,
          commands,
        };
  return PROGRAMS.test(module)
    ? {
        says: `Start the program with the Python that ${module} is installed in (its virtual environment: /path/to/venv/bin/python -m …), or install it into this one: pip install ${packageOf(module)}`,
        why: 'The Python that was started is another one than the one that pip installed into: that of the system, of another user, or of another image.',
        commands,
      }
    : {
        says: `Install ${packageOf(module)} into the environment of the program (pip install ${packageOf(module)}), or run the image of the project, which has what its release needs`,
        why: 'It is an optional package of the program, or one that a new release needs in addition. An image that was built by hand lacks it.',
        commands,
      };
}

/** "cannot import name 'A' from 'b.c'", "module 'b' has no attribute 'A'", "B.f() got an unexpected keyword argument 'a'". */
function missingName(sentence: string): Repair | undefined {
  const [, imported, from] =
    /cannot import name '(\w{1,80})' from '(\w{2,60})[\w.]{0,120}'/.exec(sentence) ?? [];
  const [, of, attribute] =
    /module '(\w{2,60})[\w.]{0,120}' has no attribute '(\w{1,80})'/.exec(sentence) ?? [];
  const module = from ?? of;
  const name = imported ?? attribute;
  if (module === undefined || name === undefined) return undefined;
  if (/partially initialized module|circular import/.test(sentence))
    return {
      says: `Rename the file or folder ${module} beside the program (${module}.py, or a checkout), which Python imports in place of the package; where there is none, install ${packageOf(module)} again`,
      why: 'A module that is imported while it is being imported is a file of the same name, or a package that was installed in part.',
      commands: [`kubectl exec POD -- python3 -c "import ${module}; print(${module}.__file__)"`],
    };
  if (module === 'transformers' && /^[A-Z]/.test(name)) return otherTransformers(name);
  return {
    says: `Install the release of ${packageOf(module)} that has ${name}: the one that the release notes or requirements of the program which imports it name (pip install "${packageOf(module)}==VERSION"), in place of the one that pip show ${packageOf(module)} names`,
    why: `${module} is there in a release without ${name}: an older one lacks it still, or a later one has taken it away. Packages that were updated behind the engine are the usual way there.`,
    commands: [
      `kubectl exec POD -- sh -c "pip show ${packageOf(module)}; pip check"    # which one is there`,
    ],
  };
}

/** Classes of models come with a release; those of the Auto family, and what is no model's, have gone with the fifth. */
function otherTransformers(name: string): Repair {
  const isLater =
    !name.startsWith('Auto') && /(?:Config|For\w{3,40}|Processor|Tokenizer\w{0,4}|Model)$/.test(name);
  return {
    says: isLater
      ? `Install a later transformers, which has ${name} (pip install -U transformers), and the release of the engine that goes with it; or take the file that imports it out (an engine imports all of its models at the start)`
      : `Install the transformers that this engine was built for (pip install "transformers<5" where a release of it is older than the fifth), in place of the one that pip show transformers names`,
    why: isLater
      ? 'A class of a model is in transformers from the release on that knows the model. The engine is newer than the transformers beside it.'
      : 'What an engine imports by this name is gone in a later release of transformers, most with 5.0.',
    commands: ['kubectl exec POD -- sh -c "pip show transformers; pip check"    # which one is there'],
  };
}
