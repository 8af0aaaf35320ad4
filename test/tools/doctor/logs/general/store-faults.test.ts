import { describe, expect, it } from 'vitest';
import {
  isBareLineOfGlog,
  isErrorOfGlog,
  isWarningOfGlog,
} from '../../../../../src/tools/doctor/logs/general/glog.js';
import { storeFaultOf, storeWarningOf } from '../../../../../src/tools/doctor/logs/general/store-faults.js';
import { summaryOf } from '../summaries.js';

describe("an error of Mooncake's store", () => {
  it.each([
    ['invalid rpc arg', "Mooncake's client and its master are of other versions"],
    ['Version mismatch: server=0.3.8 client=0.3.5', "Mooncake's client and its master are of other versions"],
    [
      'OffloadObjectHeartbeat failed, error code is SEGMENT_NOT_FOUND',
      "Mooncake's master does not know the disk of this client",
    ],
    [
      'Local disk segment not found with client id = 1-2',
      "Mooncake's master does not know the disk of this client",
    ],
    [
      'MountLocalDiskSegment failed, error code is UNABLE_OFFLOAD',
      "Mooncake's master does not offload to disks",
    ],
    ['BatchQuerySlices failed with error: INVALID_KEY', 'Mooncake writes nothing to its SSD'],
    ['file_storage.cpp:481] Key not found: 5f_0_k', 'Mooncake writes nothing to its SSD'],
    ['storage_backend.cpp:481] Key not found: 5f_0_k', 'Mooncake gives less than it lists'],
    ['Failed to store objects with error: KEYS_ULTRA_LIMIT', 'Mooncake has no room on its disk'],
    ['Still insufficient disk space after evicting files.', 'Mooncake has no room on its disk'],
    ['write failed: No space left on device', 'Mooncake has no room on its disk'],
    ['FileStorageConfig: no write permission on directory: /data', 'Mooncake cannot use its folder on disk'],
    [
      'Root directory does not exist: /data. Please create it first or fix the configured storage root directory.',
      'Mooncake cannot use its folder on disk',
    ],
    ['Write failed for: 5f, error: FILE_WRITE_FAIL', 'Mooncake cannot use its folder on disk'],
    ['Failed to start put operation for key=5f: NO_AVAILABLE_HANDLE', 'Mooncake has no room'],
    [
      'Failed to allocate buffer for get_buffer, key: 5f',
      "Mooncake's client has no room in its local buffer",
    ],
    ['RPC call failed: Connection timed out', 'Mooncake answers too late'],
    ['RPC call failed: Connection refused', 'Mooncake is not reached'],
    ['Failed to mount segment: RPC_FAIL', 'Mooncake is not reached'],
    ['Failed to mount segment due to rpc error', 'Mooncake is not reached'],
    ['Failed to mount segment: UNKNOWN_ERROR', 'Mooncake is not reached'],
    ['Failed to mount segment: INVALID_PARAMS', 'Mooncake takes no memory of this client'],
    ['Failed to mount segment: SEGMENT_ALREADY_EXISTS', "Mooncake's master has another client of this name"],
    [
      'client has been closed, please re-connect',
      'Mooncake is not reached (its client has closed the connection)',
    ],
    ['No master is available in HA backend', 'Mooncake has no leading master'],
    ['Put operation failed with error: TRANSFER_FAIL', "Mooncake's clients do not move blocks to each other"],
    ['No complete memory replica for key: 5f', 'Mooncake gives less than it lists'],
    [
      'object_checksum_mismatch key=5f expected=1 actual=2',
      'Mooncake gives blocks that are not those that were stored',
    ],
    ['something that no version has said yet', 'Mooncake does not move its blocks'],
  ])('of %j is %s', (sentence, fault) => {
    expect(storeFaultOf(sentence)).toBe(fault);
  });

  it.each([
    "BatchGetReplicaList failed for key[3] '5f': OBJECT_NOT_FOUND",
    'key=5f, error=object_not_found',
    'Failed to start put operation for key=5f: OBJECT_ALREADY_EXISTS',
    'BatchQuerySlices failed with error: INVALID_REPLICA',
    'Get failed for key: 5f with error: REPLICA_IS_NOT_READY',
  ])('is none where %j', (sentence) => {
    expect(storeFaultOf(sentence)).toBeUndefined();
  });

  it('is one among warnings where a disk is too slow, and none where a client registers again', () => {
    expect(storeWarningOf('Offloading task expired for key: 5f')).toContain('more slowly');
    expect(
      storeWarningOf('OffloadObjectHeartbeat returned SEGMENT_NOT_FOUND, attempting to re-register'),
    ).toBeUndefined();
  });
});

describe("an error of Mooncake's store that is usual", () => {
  it('is not quoted as one that no rule knows', async () => {
    const { unexplainedErrors } = await summaryOf(
      'E20260519 15:19:43.527545 23438 file_storage.cpp:384] BatchQuerySlices failed with error: INVALID_REPLICA\n',
    );
    expect(unexplainedErrors).toBeUndefined();
  });
});

describe('the level of a line of glog', () => {
  it('is not in a line without its letter', () => {
    expect(isBareLineOfGlog('worker_pool.cpp:294] x')).toBe(true);
    expect(isBareLineOfGlog('I0506 10:00:00.279313  3922 worker_pool.cpp:294] x')).toBe(false);
    expect(isBareLineOfGlog('see worker_pool.cpp:294] x')).toBe(false);
  });

  it.each([
    'E0506 10:00:00.279313  3922 file_storage.cpp:481] x',
    'E20260506 10:00:00.279313  3922 file_storage.cpp:481] x',
    'E0506 master_service.cpp:2134] x',
    'E0506 3922 master_service.cpp:2134] x',
    'E ucx_utils.cpp:585] x',
  ])('is an error in %j', (line) => {
    expect(isErrorOfGlog(line)).toBe(true);
    expect(isWarningOfGlog(line)).toBe(false);
  });

  it.each(['W0506 10:00:00.279313  3922 a.cpp:481] x', 'W0506 a.cpp:481] x'])(
    'is a warning in %j',
    (line) => {
      expect(isWarningOfGlog(line)).toBe(true);
      expect(isErrorOfGlog(line)).toBe(false);
    },
  );

  it.each(['I0506 a.cpp:481] x', 'in E0506 of b', 'GATE0506 a.cpp:1] x'])('is neither in %j', (line) => {
    expect(isErrorOfGlog(line) || isWarningOfGlog(line)).toBe(false);
  });
});
