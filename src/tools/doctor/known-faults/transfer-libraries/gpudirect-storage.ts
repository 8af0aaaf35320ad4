import type { KnownFault } from '../known-fault.js';

/** Lines of `cufile.log`, which NVIDIA's GPUDirect Storage writes into the working directory of the engine: LMCache's gds_path, NIXL's GDS, KVBM. CUDA 11.4 to 13. */
export const GPUDIRECT_STORAGE: readonly KnownFault[] = [
  {
    id: 'cufile_no_device_of_file',
    cause: 'offload_failed',
    needles: ['unable to get volume attributes for fd'],
    says: 'GPUDirect Storage does not find the disk below a file of the cache, and refuses the file',
    why: 'It asks udev for the block device of the file. A file on the overlay of the container, on tmpfs or on a network file system has none, and in a container without /run/udev no device is known.',
    cure: 'Put the folder of the cache (gds_path of LMCache) on a mounted volume of ext4 or XFS on a local NVMe disk, with /run/udev of the host mounted read-only; else leave GPUDirect Storage out (use_gds: false in LMCache, the backend POSIX in NIXL)',
    commands: [
      'kubectl exec POD -- sh -c "df -T CACHE_FOLDER; ls /run/udev/data | head -n 3"    # ext4 or xfs, and entries',
    ],
  },
  {
    id: 'cufile_file_not_supported',
    cause: 'offload_failed',
    needles: ['cuFileHandleRegister error: GPUDirect Storage not supported on current file'],
    says: 'GPUDirect Storage is not supported on the file system of the cache, and its files are refused',
    why: 'The NVMe driver of the node is not the one that nvidia-fs knows ("NVMe Driver not registered with nvidia-fs"), or the file system is none of its list; copies through the host are switched off in cufile.json.',
    cure: 'Set "allow_compat_mode": true in cufile.json (CUFILE_ENV_PATH_JSON names the file) for copies through the host; for the direct way put the cache on a file system that gdscheck -p lists as Supported, with the NVMe driver of MLNX_OFED or DOCA (--with-nvmf --enable-gds)',
    commands: [
      '/usr/local/cuda/gds/tools/gdscheck -p    # on the node: what is Supported',
      'lsmod | grep -E "nvidia_fs|nvme"    # on the node',
    ],
  },
  {
    id: 'cufile_driver_missing',
    cause: 'offload_failed',
    needles: ['nvidia-fs.ko driver not loaded'],
    says: 'GPUDirect Storage does not start: its driver nvidia-fs is not loaded on the node',
    why: 'Files go straight from disk to GPU by that kernel module. Without it cuFile works only where copies through the host are allowed.',
    cure: 'Load nvidia_fs on the node (modprobe nvidia_fs; GPU Operator: gds.enabled=true), or set "allow_compat_mode": true in cufile.json (CUFILE_ENV_PATH_JSON), which copies through the host',
    commands: ['lsmod | grep nvidia_fs; /usr/local/cuda/gds/tools/gdscheck -p    # on the node'],
  },
  {
    id: 'cufile_memory_not_mapped',
    cause: 'offload_failed',
    needles: ['cuFileBufRegister error, object allocation failed', 'nvidia-fs MAP ioctl failed'],
    says: 'GPUDirect Storage cannot map the memory of this GPU',
    why: 'nvidia-fs maps GPU memory for the disk. Consumer GPUs (GeForce) do not allow it, and a GPU with a small BAR1 has no room for large buffers.',
    cure: 'Leave GPUDirect Storage out on this GPU (use_gds: false in LMCache, the backend POSIX in NIXL); on a data centre GPU make the buffer smaller than BAR1 (gds_buffer_size of LMCache)',
    commands: ['nvidia-smi -q -d MEMORY | grep -A3 BAR1    # on the node: Total and Free'],
  },
  {
    id: 'cufile_bar_used_up',
    cause: 'offload_failed',
    needles: ['Inc-bar-usage failed: size '],
    pattern: /Inc-bar-usage failed: size (\d{1,15}) remaining bytes (\d{1,15})/,
    says: "GPUDirect Storage asks for $1 bytes of the GPU's BAR1 window, and $2 are left",
    why: 'Buffers that the disk writes to are mapped there. Many buffers, or large ones, use it up; consumer GPUs have 256 MB.',
    cure: 'Make buffers smaller or fewer (gds_buffer_size of LMCache in MiB, below what is left; fewer threads), or let Resizable BAR be switched on in the firmware of the host',
    commands: ['nvidia-smi -q -d MEMORY | grep -A3 BAR1    # on the node: Total and Free'],
  },
  {
    id: 'nixl_gds_file_refused',
    cause: 'transfer_path_broken',
    needles: ['file register error:'],
    pattern: /gds_utils\.cpp:\d{1,5}\] file register error/,
    says: 'GPUDirect Storage does not take the file that NIXL is to read and write',
    why: 'cuFile wants a file system that it knows (xfs or ext4 on NVMe, Lustre, WekaFS, 3FS …), the module nvidia-fs or a kernel with P2PDMA, and /run/udev in the container. An overlay, a tmpfs and most network mounts are refused.',
    cure: 'Put the files on a volume that gdscheck -p lists as supported, mount /run/udev of the host into the container, and load nvidia-fs on the node; or use the backend POSIX of NIXL in place of GDS (SGLang: SGLANG_HICACHE_NIXL_BACKEND_PLUGIN=POSIX; LMCache: "nixl_backend": "POSIX" in extra_config)',
    commands: [
      'kubectl exec POD -- /usr/local/cuda/gds/tools/gdscheck -p    # what is supported, and whether nvidia-fs is loaded',
    ],
  },
];
