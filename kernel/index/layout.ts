// Where everything lies in the one memory of an index. Addresses in bytes.
//
// The first two megabytes are fixed: counts of each holder, and the area through
// which the index is asked. Behind them lie pages of 16 KiB: segments of the
// tables, directories, holder sets.

/** Unit in which memory is taken and given back. */
export const PAGE: u32 = 16384;
export const PAGE_BITS: u32 = 14;

/** Four tiers, 16 bytes each: address of the directory, its depth in bits, entries. */
export const TIERS_AT: usize = 192;
/** Four tiers, 8 bytes each: the page that is being filled with entries, and the first with many free ones. */
export const POOLS_AT: usize = 320;
/** Holders that were taken out and still have entries. */
export const DEAD_COUNT: usize = 256;
/** One bit a holder: it was taken out. */
export const DEAD_BITS: usize = 1024;
/** Heads of the lists of free runs of pages, by their length. */
export const RUNS_AT: usize = 0x2400;
/** Heads of the lists of slab pages with room, by size class. */
export const SLABS_AT: usize = 0x2480;
/** Addresses of the pages with the heads of the chains of sets. */
export const CHAINS_AT: usize = 0x4000;
/** Blocks of each holder, four tiers of 4 bytes. */
export const COUNTS_AT: usize = 0x8000;
/** One page to copy a segment to while it is split. */
export const SCRATCH_PAGE: usize = 0x108000;
/** Members of the set that is being made. */
export const SCRATCH_SET: usize = 0x10c000;
/** The area: where hashes are put and answers are found. */
export const AREA: usize = 0x130000;

// Within the area.
/** State of a look-up that comes in several pieces. */
export const AREA_ACTIVE: usize = 0;
export const AREA_ACTIVE_COUNT: usize = 4;
export const AREA_ANSWERS: usize = 8;
export const AREA_DEPTH: usize = 12;
export const AREA_LAST: usize = 16;
export const AREA_HEADS: usize = 32;
/** A set of one, as a list. */
export const AREA_SINGLE_ACTIVE: usize = 64;
/** As many as there are tiers. */
export const AREA_SINGLES: usize = 80;
/** Written so that the compiler leaves reading ahead in. */
export const AREA_SINK: usize = 72;
/** Hashes, 8 bytes each. */
export const AREA_INPUT: usize = 128;
export const INPUT_HASHES: u32 = 4096;
/** Holders of the answer, 4 bytes each, then as many depths. */
export const AREA_HOLDERS: usize = AREA_INPUT + 4096 * 8;
export const AREA_DEPTHS: usize = AREA_HOLDERS + 65536 * 4;
/** Holders that have held everything so far, 2 bytes each. */
export const AREA_LIST: usize = AREA_DEPTHS + 65536 * 4;
/** Holders of one block in any tier. */
export const AREA_UNION: usize = AREA_LIST + 65536 * 2;
export const AREA_BYTES: usize = 51 * 16384;

/** What follows is handed out by pages. Holder sets lie above 1 MiB, so that their ids are 65,536 and more. */
export const HEAP: usize = AREA + AREA_BYTES;

/** Holders are 0 up to 65,534; a set of one is written as its holder plus one. */
export const MAX_HOLDERS: u32 = 65535;
/** Ids from here on are the address of a set, divided by 16. */
export const FIRST_SHARED_ID: u32 = 65536;
/** Said when no memory is left. */
export const NO_MEMORY: u32 = 0xffffffff;
