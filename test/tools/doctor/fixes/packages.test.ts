import { describe, expect, it } from 'vitest';
import { repairPackages } from '../../../../src/tools/doctor/fixes/packages.js';

describe('packages that do not belong together', () => {
  it.each([
    ["No module named 'zmq'", 'pip install pyzmq'],
    ["No module named 'torchcodec'", 'pip install torchcodec'],
    ["No module named 'cutlass'", 'pip install nvidia-cutlass-dsl'],
    ["No module named 'vllm'", 'the Python that vllm is installed in'],
    ["No module named 'dynamo'", 'pip install ai-dynamo'],
    ["No module named 'dynamo.vllm'", 'pip install "ai-dynamo[vllm]==VERSION"'],
    ["No module named 'dynamo.trtllm.main'", 'tensorrtllm-runtime of the release'],
    ["No module named 'vllm._C'", 'outside of a folder named vllm'],
    ["No module named 'vllm.utils.torch_utils'", 'the release of vllm that has vllm.utils.torch_utils'],
    ['libmpi.so.40: cannot open shared object file: No such file', 'apt-get install libopenmpi-dev'],
    ['ImportError: libGL.so.1: cannot open shared object file', 'apt-get install libgl1'],
    ["cannot import name 'Gemma4TextConfig' from 'transformers'", 'a later transformers'],
    ["cannot import name 'AutoModelForVision2Seq' from 'transformers'", 'transformers<5'],
    ["cannot import name 'a' from 'outlines.fsm' (/x/fsm.py)", 'the release of outlines that has a'],
    [
      "partially initialized module 'torch' has no attribute 'b' (circular import)",
      'torch.py, or a checkout',
    ],
    ["module 'flashinfer.norm' has no attribute 'rms'", 'the release of flashinfer-python that has rms'],
    ['this model requires transformers >= 4.56.0.', 'pip install "transformers>=4.56.0"'],
    ['a requires grpcio<1.68, >=1.60', 'pip install "grpcio<1.68,>=1.60"'],
  ])('are repaired by the one that the sentence names: %s', (sentence, cure) => {
    expect(repairPackages(sentence)?.says).toContain(cure);
  });

  it.each([
    'it requires tile_k >= 128',
    'requires page_size == 1',
    'requires data_parallel_size > 1.',
    'requires CUDA >= 12.0',
    'requires python >= 3.10',
    'libunheard.so.1: cannot open shared object file',
    "F.f() got an unexpected keyword argument 'a'",
  ])('have no repair of their own in a sentence that names none: %s', (sentence) => {
    expect(repairPackages(sentence)).toBeUndefined();
  });
});
