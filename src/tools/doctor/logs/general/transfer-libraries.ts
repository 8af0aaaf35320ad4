/** What moves KV blocks below an engine, as far as settings and commands are its own. */
export type TransferLibrary =
  | 'Ascend'
  | 'MoRI'
  | 'Mooncake over RDMA'
  | 'Mooncake over TCP'
  | 'Mooncake'
  | 'libfabric'
  | 'NVLink'
  | 'UCX'
  | 'NIXL';

/** By names of files, functions and sentences that only its lines have. The first that fits counts: NIXL is above UCX and libfabric. */
const SIGNS: readonly (readonly [TransferLibrary, RegExp])[] = [
  [
    'Ascend',
    /ascend_|adxl|hixl|\bHccl|\bHCCL|aclrt|E[1Z]9999|\[GE\]|transfer_executor|slice_dispatcher|local_copy_engine|status: [15]039\d\d/i,
  ],
  ['MoRI', /\bmori\b|MORI_|RegisterRdmaMemoryRegion|ProcessOneCqe|MoRIIO|\bSQ full\b/i],
  [
    'libfabric',
    /libfabric|\bfi_\w+|\bEFA\b|(?:efa|cxi)_\w+\.cpp|(?:Efa|Cxi)Transport|rail endpoints|_ep_\d+\b/i,
  ],
  ['NVLink', /nvlink|mnnvl|fabric handle|FABRIC mode|\bIMEX\b/i],
  ['UCX', /\bUCX\b|\bucx_|\buc[pst]_|ucp_ep|srd_iface|\b[a-z_]+\.c:\d+ +UCX/],
  [
    'Mooncake over RDMA',
    /(?:^|[^n])\brdma_(?:context|endpoint|transport)\.cpp|worker_pool\.cpp|local_nic:|RdmaTransport|MC_GID_INDEX|\[RDMA\]/,
  ],
  ['Mooncake over TCP', /tcp_transport(?:\.cpp|_\w{4,7}_impl\.h)|TcpTransport/],
  [
    'Mooncake',
    /mooncake|transfer_(?:engine|metadata)\w*\.cpp|multi_transport\.cpp|SocketHandShakePlugin|topology\.cpp|segment desc/i,
  ],
  ['NIXL', /nixl/i],
];

const NAMES = SIGNS.map(([name]) => name);

/** The library that wrote a line or that an error in it is of; undefined where it could be any. */
export function libraryOf(text: string): TransferLibrary | undefined {
  return SIGNS.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The library at the end of a value: "… is not reached (UCX)". */
export function libraryAtEnd(value: string): TransferLibrary | undefined {
  return NAMES.find((name) => value.endsWith(` (${name})`));
}
