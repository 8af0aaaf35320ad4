import type { KnownFault } from '../known-fault.js';

const SLURM = 'env | grep -E "^(SLURM|PMI|PMIX|OMPI)" | cut -d= -f1    # what the shell has of a job';

/**
 * How TensorRT-LLM starts its ranks, by MPI, and what its executor says of a GPU that does not fit or of a step that stands
 * still: `tensorrt_llm/llmapi/mpi_session.py`, `_torch/pyexecutor`, `_torch/auto_deploy`; Open MPI's help texts.
 */
export const TRTLLM_STARTS: readonly KnownFault[] = [
  {
    id: 'trtllm_mpi_slots',
    cause: 'program_ended',
    needles: ['There are not enough slots available in the system to satisfy the '],
    pattern: /to satisfy the (\d{1,4})\b/,
    says: 'Open MPI does not start $1 ranks: it counts fewer processor cores (slots) than that',
    why: 'Without a host file Open MPI takes one slot for each core of the host, or of the job. TensorRT-LLM starts a rank for each GPU; a container with few cores, or a small allocation of Slurm, has less.',
    cure: 'Set OMPI_MCA_rmaps_base_oversubscribe=1 in the env of the server (mpirun --oversubscribe; with Open MPI 5 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe), or give it as many cores as it has ranks ($1)',
  },
  {
    id: 'trtllm_mpi_spawn',
    cause: 'program_ended',
    needles: [
      'MPI_ERR_SPAWN: could not spawn',
      'All nodes which are allocated for this job are already filled',
    ],
    says: 'TensorRT-LLM cannot start the processes of its ranks: MPI may not spawn any here',
    why: 'The server starts its ranks itself (MpiPoolSession). In a shell or container of a Slurm job Open MPI takes them for further tasks of that job, whose places are taken.',
    cure: 'Start it as mpirun -n 1 --oversubscribe --allow-run-as-root trtllm-serve … (without --allow-run-as-root for other users), or unset the job before it: unset SLURM_JOBID SLURM_JOB_ID SLURM_NODELIST; over several nodes start all ranks with srun --mpi=pmix trtllm-llmapi-launch trtllm-serve …',
    commands: [SLURM],
  },
  {
    id: 'trtllm_mpi_spawn_unknown',
    cause: 'program_ended',
    needles: ['mpi4py.MPI.Exception: MPI_ERR_UNKNOWN'],
    below: ['mpi4py/futures/_lib.py', 'MpiPoolSession to spawn MPI processes'],
    says: 'TensorRT-LLM cannot start the processes of its ranks: Open MPI fails to spawn them',
    why: 'Open MPI 5 spawns by PRRTE, which does not work in each image: the release image of 1.3.0rc27 has it, that of 1.3.0rc26 has Open MPI 4.1, which does.',
    cure: 'Run an image with Open MPI 4 (nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc26, or a later one than rc27; ompi_info --version in the container shows it), or start it as mpirun -n 1 --oversubscribe --allow-run-as-root …',
    commands: ['kubectl exec POD -- ompi_info --version', SLURM],
  },
  {
    id: 'trtllm_mpi_without_pmi',
    cause: 'program_ended',
    needles: ["OMPI was not built with SLURM's PMI support", 'but Open MPI was not built with SLURM support'],
    says: 'ranks of TensorRT-LLM do not start: srun has started them without the process manager that Open MPI needs',
    why: 'Started by srun, Open MPI asks Slurm for the other ranks over PMIx, which --mpi=pmix turns on; a shell of a job that starts a server by itself has the variables of the job and no such process manager.',
    cure: 'Start it with srun --mpi=pmix (srun --mpi=list shows what there is) and trtllm-llmapi-launch before the command; for a server of one node in a shell of a job unset the job: unset SLURM_JOBID SLURM_JOB_ID SLURM_NODELIST',
    commands: ['srun --mpi=list', SLURM],
  },
  {
    id: 'trtllm_mpi_as_root',
    cause: 'program_ended',
    needles: [
      'mpirun has detected an attempt to run as root',
      'prterun has detected an attempt to run as root',
    ],
    says: 'Open MPI does not start anything as root',
    why: 'Containers run as root as a rule, and Open MPI refuses that unless it is allowed.',
    cure: 'Start it with mpirun --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the env of the container',
  },
  {
    id: 'trtllm_fp8_attention_not_on_gpu',
    cause: 'settings_refused',
    needles: ['FP8 FMHA cannot be enabled except on ', 'FP8 FMHA can only be enabled on sm_'],
    says: 'TensorRT-LLM ends: its FP8 attention does not run on this GPU',
    why: 'A KV cache of FP8 has attention in FP8, which needs Ada, Hopper or Blackwell; each release has its list of compute capabilities, and sm_120 and sm_121 (RTX Blackwell, GB10) came later.',
    cure: 'On an older GPU set dtype: auto under kv_cache_config and take weights without FP8 attention (an engine built with --use_fp8_context_fmha disable), the same on all engines that share blocks; on RTX Blackwell or GB10 run a later release of TensorRT-LLM',
    commands: ['nvidia-smi --query-gpu=name,compute_cap --format=csv'],
  },
  {
    id: 'trtllm_moe_kernel_not_on_gpu',
    cause: 'program_ended',
    needles: [
      'Failed to initialize cutlass TMA WS grouped gemm',
      'MOE GEMM1 Config is not set',
      'MOE GEMM2 Config is not set',
    ],
    pattern:
      /(?<!Autotuner\].{0,900})Assertion failed: (?:Failed to initialize cutlass TMA WS grouped gemm|MOE GEMM[12] Config is not set)/s,
    isSign: true,
    says: "TensorRT-LLM's CUTLASS kernel for mixtures of experts does not start on this GPU",
    why: 'The kernels are laid out for the shared memory of data centre GPUs; RTX Blackwell and GB10 (sm_120, sm_121) have 99 KiB, and GPUs before Hopper, Jetson Orin among them, have no kernel for some formats of weights. Kernels that do not fit are left out as it tunes itself; where none is left the server ends.',
    cure: 'Set moe_config: { backend: TRITON } in the file of --config (--extra_llm_api_options), or run TensorRT-LLM 1.3.0rc17 or later on RTX Blackwell and GB10; on GPUs before Hopper take weights in bf16, or of a model without experts',
    commands: ['nvidia-smi --query-gpu=name,compute_cap --format=csv'],
  },
  // "Hang detected after 300 seconds.", all stacks, "Hang detected on rank 0 in PyExecutor."
  {
    id: 'trtllm_step_stands_still',
    cause: 'program_ended',
    needles: ['Hang detected on rank ', 'Hang detected after '],
    pattern: /Hang detected (?:on rank \d{1,5} in PyExecutor|after (?:\d{1,6}) seconds)/,
    follows: [
      'trtllm_hangs_in_transfer',
      'trtllm_cancelled_transfer',
      'transfers_fail',
      'trtllm_blocks_did_not_come',
      'trtllm_blocks_not_fetched',
    ],
    says: 'TensorRT-LLM ends itself: a step of its executor made no progress for hang_detection_timeout (300 seconds)',
    why: 'All ranks take each step together. The one that is behind waits for a transfer of blocks, for a collective of another rank that ended or does other work, or for a kernel; the stacks that the server prints above these lines show the call. Block reuse with chunked prefill stood still in releases before 1.3.0rc13 (pull request 12976).',
    cure: 'Restart the server and look at the last call of the stacks printed above (MainThread, of each rank): in a kv_cache_transceiver set transceiver_runtime: PYTHON with backend: NIXL under cache_transceiver_config, in MPI or NCCL read the log of the rank that is missing; before 1.3.0rc13 update, or set enable_chunked_prefill: false',
    commands: ['kubectl logs POD --previous | grep -n -B200 "Hang detected on rank" | grep -E "File|Thread"'],
  },
  {
    id: 'trtllm_autodeploy_pools',
    cause: 'settings_refused',
    needles: ['KV resources are not uniform'],
    pattern: /KV resources are not uniform: (window=.{1,160}?)\. This configuration/,
    says: 'TensorRT-LLM (AutoDeploy) does not start: the layers of the model need KV caches of different kinds, and its attention takes one ($1)',
    why: 'Layers with sliding windows or other head sizes get a pool of their own. The attention backend trtllm of AutoDeploy has one pool for all layers; flashinfer and triton have several. Windows as long as max_seq_len counted as a kind of their own until June 2026 (pull request 14906 of NVIDIA/TensorRT-LLM).',
    cure: 'Set attn_backend: flashinfer (transforms: insert_cached_attention: { backend: flashinfer } in later releases) in the YAML of AutoDeploy, or serve the model with --backend pytorch',
  },
  {
    id: 'trtllm_no_free_slots',
    cause: 'program_ended',
    needles: ['ValueError: No free slots', 'Error in event loop: No free slots'],
    says: 'the executor of TensorRT-LLM ends: it has given out all slots of requests (No free slots)',
    why: 'Each request in a step has one of max_batch_size slots. With the overlap scheduler one that has ended keeps its slot for a step more, while the next already starts: attention data parallelism on servers of a pair asks for more than there are (pull requests 16279 and 17282 of NVIDIA/TensorRT-LLM, July and August 2026).',
    cure: 'Run a release of TensorRT-LLM with pull request 17282 (August 2026); until then set disable_overlap_scheduler: true in the engine file, and restart the server: after this line it answers nothing more',
  },
  {
    id: 'trtllm_step_over_tokens',
    cause: 'program_ended',
    needles: ['should be less than or equal to max_num_tokens'],
    pattern: /total_num_tokens \((\d{1,9})\) should be less than or equal to max_num_tokens \((\d{1,9})\)/,
    says: "TensorRT-LLM's scheduler put $1 tokens into a step that takes $2 (max_num_tokens): the executor stands still",
    why: 'The scheduler counts what is found in the cache as computed, and the step then has more to compute than counted: block reuse with chunked prefill, above all with a host cache, until 1.3.0rc13 (pull request 12976 and issue 13318 of NVIDIA/TensorRT-LLM). After the assertion no request is answered.',
    cure: 'Run TensorRT-LLM 1.3.0rc13 or later and restart the server; until then set enable_chunked_prefill: false with a max_num_tokens above the longest prompt, or enable_block_reuse: false under kv_cache_config, which costs all hits',
  },
  // Dynamo's own page of known issues has both lines together (issue 4327 of ai-dynamo/dynamo).
  {
    id: 'trtllm_pair_out_of_blocks',
    cause: 'cache_memory_missing',
    needles: ['InvalidStateError: invalid state'],
    below: ['may not have enough kvCache'],
    says: 'a TensorRT-LLM server of a pair has run out of KV blocks, which wait to be fetched, and does not recover (invalid state)',
    why: 'Prompts keep their blocks until the other role has fetched them. Where one is longer than the buffers of the transfer, or the other role is too slow, transfers time out under load, and the server waits for blocks that nobody fetches any more.',
    cure: 'Set max_tokens_in_buffer under cache_transceiver_config above the longest prompt (65536, a multiple of tokens_per_block) in the engine files of both roles and restart both; add generation servers or raise free_gpu_memory_fraction where prompts are shorter than that',
  },
  // The second KV cache manager (`kv_cache_manager_v2`), as it gives back or takes room for a sequence.
  {
    id: 'trtllm_history_beyond_capacity',
    cause: 'connector_crashed',
    needles: ['History length cannot exceed capacity'],
    says: "TensorRT-LLM's second KV cache manager ends its executor: a sequence has more tokens than room",
    why: 'With MTP the room of rejected draft tokens is taken back, and with block reuse off it takes more than was given: last pipeline stages, long prompts in chunks (issue 18661 and pull request 19120 of NVIDIA/TensorRT-LLM, September 2026).',
    cure: 'Set enable_block_reuse: true under kv_cache_config, or leave speculative_config out of the engine file, until a release with pull request 19120 is there; restart the server',
  },
  {
    id: 'trtllm_history_decreased',
    cause: 'connector_crashed',
    needles: ['History length cannot be decreased', 'history length cannot be decreased'],
    says: "TensorRT-LLM's second KV cache manager ends the executor of a generation server: a prompt that it has already comes again",
    why: 'A generation server that finds the beginning of a prompt in its own cache counts it wrongly as it takes the blocks of the context server in (pull request 14377 of NVIDIA/TensorRT-LLM, May 2026).',
    cure: 'Run a release of TensorRT-LLM with pull request 14377 (June 2026 and later) on generation servers; until then set enable_block_reuse: false under kv_cache_config of the generation servers alone, and restart them',
  },
  {
    id: 'trtllm_helix_out_of_blocks',
    cause: 'cache_memory_missing',
    needles: ['[V2Scheduler] KV allocation failed for '],
    says: 'the KV cache of TensorRT-LLM is full, and with Helix (context parallelism) no request can be taken out to make room: its executor ends',
    why: 'Under other parallelism a request is evicted and computed again. With Helix all that run have to fit together.',
    cure: 'Raise max_tokens under kv_cache_config (tokens of all ranks together) or max_gpu_total_bytes (of one rank), or lower max_batch_size of the generation servers',
  },
];
