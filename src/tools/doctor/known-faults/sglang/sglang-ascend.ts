import type { KnownFault } from '../known-fault.js';

const VERSIONS =
  'python3 -c "import importlib.metadata as m; print(m.version(\'memfabric_hybrid\'))"; npu-smi info -t board -i 0    # MemFabric, and the driver of the host';

/** Transfers between NPUs: `srt/disaggregation/ascend` of SGLang 0.4.9 to 0.5.23, and MemFabric Hybrid below it, 0.1 to 1.1. */
export const SGLANG_ASCEND: readonly KnownFault[] = [
  {
    id: 'memfabric_no_memory',
    cause: 'transfer_path_broken',
    needles: ['Alloc gva local mem error', 'HalGvaAlloc hybm meta memory failed', 'svm advise failed:'],
    says: 'the driver of the NPU does not give MemFabric the memory that it shares with other NPUs',
    why: "MemFabric maps memory of all NPUs into one range of addresses by calls of the driver that older drivers lack, and that a container needs rights for. SGLang's transfer engine does not start without it.",
    cure: 'Install the driver (HDK 25.5.2 and later) on the host and the CANN (8.5 or 9.0) and memfabric-hybrid in the image that the installation page of SGLang names together, and run both roles in privileged containers with the devices and /usr/local/Ascend/driver of the host',
    commands: [`kubectl exec POD -- sh -c '${VERSIONS.replaceAll("'", '"')}'`],
  },
  {
    id: 'memfabric_library',
    cause: 'library_missing',
    needles: ['undefined symbol: ra_', 'Failed to open library [lib'],
    pattern:
      /(?:lib(?:ra|tsdclient|runtime|ascendcl|ascend_hal|hccp)\w{0,30}\.so.{0,200}undefined symbol: (\w{2,60}))|(?:Failed to open library \[lib(?:ra|tsdclient|ascendcl|ascend_hal|runtime)\.so)/,
    says: 'CANN of the image and the driver of the host do not belong together',
    why: 'MemFabric opens libra.so, libtsdclient.so and libascend_hal.so, of which one part comes with CANN and one with the driver. Where one is older, symbols are missing; where set_env.sh was not sourced, the files are.',
    cure: 'Update the driver of the host (HDK 25.5.2 and later) to the one that the CANN of the image asks for, or take an image with an older CANN; source /usr/local/Ascend/ascend-toolkit/set_env.sh and mount /usr/local/Ascend/driver of the host into the container',
    commands: [
      'kubectl exec POD -- sh -c "cat /usr/local/Ascend/driver/version.info; cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg"',
    ],
  },
  {
    id: 'memfabric_no_store_url',
    cause: 'settings_refused',
    needles: ['input store URL is null', 'input store URL is empty'],
    says: 'ASCEND_MF_STORE_URL is not set on an engine with the transfer backend ascend',
    why: 'MemFabric keeps the addresses of all engines in a store that one prefill engine opens there. Without its address no engine starts.',
    cure: 'Set ASCEND_MF_STORE_URL=tcp://PREFILL_IP:PORT to the same address on all engines of both roles',
  },
  {
    id: 'memfabric_device_taken',
    cause: 'transfer_path_broken',
    needles: ['PrepareOpenDevice failed'],
    says: 'MemFabric cannot open the network device of its NPU',
    why: 'Known where another process holds that NPU: each has one user of its device for RDMA.',
    cure: 'Give the engine an NPU of its own (npu-smi info shows processes), end what is left of an earlier engine, and start it again',
    commands: ['npu-smi info    # on the host: processes of each NPU'],
  },
  {
    id: 'memfabric_not_started',
    cause: 'transfer_path_broken',
    needles: ['Ascend Transfer Engine initialization failed', 'Failed to init smem_trans, ret='],
    says: "the transfer engine of SGLang's backend ascend does not start",
    why: 'Each engine gives the store of MemFabric at ASCEND_MF_STORE_URL its address, and maps memory of its NPU for the others. One prefill engine opens that store; where it is not reached, or the driver refuses, no role starts.',
    cure: 'Set ASCEND_MF_STORE_URL=tcp://PREFILL_IP:PORT to the same address on all engines of both roles, start the prefill engine of that address first and open the port; then read the first line with "[BM", "[SMEM" or "[ADAPTER" above',
    commands: [
      'kubectl logs POD | grep -m5 -E "\\[(BM|SMEM|HYBM|ADAPTER) "    # the first one has the reason',
    ],
  },
];
